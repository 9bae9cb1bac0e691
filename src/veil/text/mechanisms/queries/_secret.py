"""Words that must not be told, in any form."""

import re
from collections.abc import Iterable

from veil.corpus.tokens import bare_parts, unaccented
from veil.corpus.wordnet import Thesaurus

BREAK = re.compile(r"[\W_]+")  # between the words of a compound
_TELLING = 4  # letters from which a word is looked for inside longer ones
_PIECE = 5  # letters from which a candidate counts as a piece of a longer word


class Secret:
    """Words that no query may hold: as they are, by stem, base form or compound, or in part.

    Accents make no difference.
    """

    def __init__(self, thesaurus: Thesaurus, words: Iterable[str]) -> None:
        self._thesaurus = thesaurus
        parts: set[str] = set()
        for spelt in words:
            for word in (spelt, unaccented(spelt)):
                parts |= {*bare_parts(word), *BREAK.split(word.casefold())}
                parts |= {"".join(bare_parts(word))}
        parts.discard("")
        self._forms = {form for part in parts for form in thesaurus.forms(part)}
        self._long = {part for part in parts if len(part) >= _TELLING}

    def tells(self, phrase: str) -> bool:
        """Tell whether a phrase holds one of the words, a part of one, or a word akin to one."""
        return any(self._plainly(spelt) for spelt in {phrase, unaccented(phrase)})

    def _plainly(self, phrase: str) -> bool:
        words = BREAK.split(phrase)
        if any(self._thesaurus.forms(word) & self._forms for word in words):
            return True
        joined = BREAK.sub("", phrase)
        if any(part in joined for part in self._long):
            return True
        pieces = [word.casefold() for word in words if len(word) >= _PIECE]
        return any(piece in part for piece in pieces for part in self._long)
