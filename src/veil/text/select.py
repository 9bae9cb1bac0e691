"""Which words of a text are protected: a choice that goes with any mechanism.

====================  =====================================================================
``"all"``             every word
``"content"``         every word but the function words of `veil.corpus.tokens`
``"pos:NN NNS JJ"``   words with these Penn Treebank tags (``nltk:`` or ``spacy:`` instead of
                      ``pos:`` choose another tagger)
a list of terms       these words, and these phrases
a function            words of one text -> one truth value each, for example a detector of
                      personal data
====================  =====================================================================

The choice is among ordinary known words. Numbers, addresses and words that the vectors do not
know are never let through by it: they follow a policy of their own (see `protect`).

A bound holds between words that are both selected. Where selection depends on more than the word
(tags, phrases, a function), another word in a protected one's place may not be, and pass as it is:
a list of single words, or ``content``, is the choice that can be reasoned about.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

from veil.core.errors import ParameterError, VeilError
from veil.core.registry import did_you_mean
from veil.corpus.tokens import STOP_WORDS, TAGS, bare_parts, tagger, tokens

Reach = Literal["all", "words", "context"]
Selector = Callable[[Sequence[str]], Sequence[bool]]
Select = str | Collection[str] | Selector
_NAMES = ("all", "content", "pos", "nltk", "spacy")
_WANTED = (
    "The 'select' argument must be 'all', 'content', 'pos:' with tags (as 'pos:NN JJ'), a list of"
    " terms, or a function of a list of words."
)


def selector(select: Select) -> Selector:
    """Turn a choice into a function of the words of one text."""
    if callable(select):
        return _checked(select)
    if not isinstance(select, str):
        return _by_terms(select)
    if select == "all":
        return lambda words: [True] * len(words)
    if select == "content":
        return lambda words: [word.lower() not in STOP_WORDS for word in words]
    kind, colon, tags = select.partition(":")
    if colon and tags.split() and kind in ("pos", "nltk", "spacy"):
        return _by_tags("pattern" if kind == "pos" else kind, frozenset(tags.split()))
    raise ParameterError(_WANTED + did_you_mean(select.partition(":")[0], _NAMES))


def reach(select: Select) -> Reach:
    """Say what decides whether a word is selected: nothing, the word alone, or its context too.

    A list of single words is of the second kind, one with phrases of the third, as is a tagger,
    or a function, of which nothing is known.

    >>> reach("all"), reach(["cancer", "hiv"]), reach(["skin cancer"]), reach("pos:NN")
    ('all', 'words', 'context', 'context')
    """
    if callable(select):
        return "context"
    if isinstance(select, str):
        return "all" if select == "all" else "words" if select == "content" else "context"
    return "context" if any(len(_bare(term)[0]) > 1 for term in select) else "words"


def _checked(function: Selector) -> Selector:
    def choose(words: Sequence[str]) -> Sequence[bool]:
        chosen = [bool(answer) for answer in function(words)]
        if len(chosen) != len(words):
            raise ParameterError(
                f"The 'select' function must give one answer per word: {len(words)} words,"
                f" {len(chosen)} answers."
            )
        return chosen

    return choose


def _by_tags(name: str, wanted: frozenset[str]) -> Selector:
    if strange := sorted(wanted - TAGS):  # a misspelt tag would let every word through
        raise ParameterError(
            f"The 'select' argument names the tag '{strange[0][:40]}', which no tagger gives;"
            f" the tags are: {' '.join(sorted(TAGS))}."
        )
    tag = tagger(name)

    def choose(words: Sequence[str]) -> Sequence[bool]:
        if not words:
            return []
        # A tagger may not understand every spelling; give it plain words only.
        plain = [word if word.replace("-", "").isalpha() else "thing" for word in words]
        marks = tag(plain)
        if len(marks) != len(words):  # the tagger cut the text otherwise: protect everything
            return [True] * len(words)
        # The pattern tagger marks some words with several tags, as in NN|VBG.
        return [not wanted.isdisjoint(mark.split("|")) for mark in marks]

    return choose


def _by_terms(terms: Collection[str]) -> Selector:
    if not isinstance(terms, Iterable):
        raise ParameterError(_WANTED)
    phrases = {_bare(term)[0] for term in terms} - {()}
    if not phrases:
        raise VeilError("The 'select' list holds no term, so that nothing would be protected.")
    lengths = sorted({len(phrase) for phrase in phrases})

    def choose(words: Sequence[str]) -> Sequence[bool]:
        parts, owner = _flatten(words)
        chosen = [False] * len(words)
        for i in range(len(parts)):
            for length in lengths:
                if parts[i : i + length] in phrases:
                    for word in owner[i : i + length]:
                        chosen[word] = True
        return chosen

    return choose


def _bare(term: object) -> tuple[tuple[str, ...], list[int]]:
    if not isinstance(term, str):
        raise ParameterError("The 'select' list must hold terms, which are strings.")
    return _flatten([term[t.start : t.end] for t in tokens(term)])


def _flatten(words: Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """Cut words into bare parts, so that 'HIV' is found in "HIV-positive" and "HIV's".

    Returns the parts of all words, and for each part the word it is of.
    """
    parts: list[str] = []
    owner: list[int] = []
    for number, word in enumerate(words):
        for part in bare_parts(word):
            parts.append(part)
            owner.append(number)
    return tuple(parts), owner
