"""Many words and phrases at once, found in a query wherever they stand."""

from collections.abc import Iterator, Sequence

from veil.corpus.inflection import Akin, Forms
from veil.proxy.gate._reading import Unit

_Phrase = tuple[frozenset[str], ...]  # the forms of each of its words


class Phrases:
    """Phrases of rules, by the forms of their first word; a word is a phrase of one."""

    def __init__(self, akin: Akin) -> None:
        self._akin = akin
        self._starts: dict[str, list[tuple[_Phrase, int]]] = {}

    def add(self, words: Sequence[Unit], rule: int) -> None:
        """Add a phrase that a rule names; no words are no phrase."""
        self._add(words, rule, self._akin.forms)

    def add_base(self, words: Sequence[Unit], rule: int) -> None:
        """Add a phrase that stands in a dictionary, and is no form of anything else."""
        self._add(words, rule, self._akin.base)

    def _add(self, words: Sequence[Unit], rule: int, forms: Forms) -> None:
        phrase = tuple(forms(word.text) for word in words)
        for form in phrase[0] if phrase else ():
            self._starts.setdefault(form, []).append((phrase, rule))

    def found(self, words: Sequence[Unit]) -> Iterator[tuple[int, range]]:
        """Yield the rules whose phrases occur, and the places that they take up."""
        if not self._starts:
            return
        forms = [self._akin.forms(word.text) for word in words]
        for at, own in enumerate(forms):
            for form in own:
                for phrase, rule in self._starts.get(form, ()):
                    if _stands(phrase, forms[at : at + len(phrase)]):
                        yield rule, range(at, at + len(phrase))


def _stands(phrase: _Phrase, there: Sequence[frozenset[str]]) -> bool:
    """Tell whether each word of a phrase is akin to the word that stands there."""
    return len(phrase) == len(there) and not any(
        wanted.isdisjoint(own) for wanted, own in zip(phrase, there, strict=True)
    )
