"""Words of a text that must not occur in a query, in any form."""

import re
from collections.abc import Iterable

from veil.corpus.tokens import bare_parts, unaccented
from veil.corpus.wordnet import Thesaurus

BREAK = re.compile(r"[\W_]+")  # between the words of a compound
_MIN_INFIX = 4  # letters a word must have to be searched for inside longer words
_MIN_PIECE = 5  # letters a candidate must have to count as a piece of a longer word


class Secret:
    """Words that no query may contain: unchanged, by stem, by base form, in a compound, in part.

    Accents make no difference.
    """

    def __init__(self, thesaurus: Thesaurus, words: Iterable[str]) -> None:
        self._thesaurus = thesaurus
        parts: set[str] = set()
        for spelling in words:
            for word in (spelling, unaccented(spelling)):
                parts |= {*bare_parts(word), *BREAK.split(word.casefold())}
                parts |= {"".join(bare_parts(word))}
        parts.discard("")
        self._forms = {form for part in parts for form in thesaurus.forms(part)}
        self._long = {part for part in parts if len(part) >= _MIN_INFIX}

    def reveals(self, phrase: str) -> bool:
        """Return whether a phrase contains a secret word, a part of one, or a form of one."""
        return any(self._contains(spelling) for spelling in {phrase, unaccented(phrase)})

    def _contains(self, phrase: str) -> bool:
        words = BREAK.split(phrase)
        if any(self._thesaurus.forms(word) & self._forms for word in words):
            return True
        joined = BREAK.sub("", phrase)
        if any(part in joined for part in self._long):
            return True
        pieces = [word.casefold() for word in words if len(word) >= _MIN_PIECE]
        return any(piece in part for piece in pieces for part in self._long)
