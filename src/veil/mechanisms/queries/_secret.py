"""Words that must not be told, in any form."""

import re
from collections.abc import Iterable

from veil.data.text import bare_parts
from veil.data.wordnet import Thesaurus

BREAK = re.compile(r"[\W_]+")  # between the words of a compound
_TELLING = 4  # letters from which a word is looked for inside longer ones


class Secret:
    """Words that no query may hold: neither as they are nor by stem, base form or compound."""

    def __init__(self, thesaurus: Thesaurus, words: Iterable[str]) -> None:
        self._thesaurus = thesaurus
        parts: set[str] = set()
        for word in words:
            parts |= {*bare_parts(word), *BREAK.split(word.casefold())}
            parts |= {"".join(bare_parts(word))}
        parts.discard("")
        self._forms = {form for part in parts for form in thesaurus.forms(part)}
        self._long = {part for part in parts if len(part) >= _TELLING}

    def tells(self, phrase: str) -> bool:
        """Tell whether a phrase holds one of the words, or a word akin to one."""
        if any(self._thesaurus.forms(word) & self._forms for word in BREAK.split(phrase)):
            return True
        joined = BREAK.sub("", phrase)
        return any(part in joined for part in self._long)
