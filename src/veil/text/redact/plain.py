"""A text as recognisers read it: what looks like a space, a hyphen or a digit is one.

Documents and web pages write the same number with spaces that do not break, hyphens of print,
digits of full width, and characters that nobody sees between them.
"""

import unicodedata
from functools import cache

from veil.text.redact.span import Place

_HYPHENS = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")


class Plain:
    """A text in plain characters, and where each of them stands in the original.

    >>> plain = Plain("+39\u00a0049 827\u20111234")
    >>> plain.text, plain.place((0, 15))
    ('+39 049 827-1234', (0, 15))
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: list[int] | None = None
        if not text.isascii():
            spelt = [(_plain(character), at) for at, character in enumerate(text)]
            self.text = "".join(character for character, _ in spelt)
            self._places = [at for character, at in spelt if character]

    def place(self, found: Place) -> Place:
        """Return where in the original a place of the plain text is."""
        if self._places is None:
            return found
        return self._places[found[0]], self._places[found[1] - 1] + 1


@cache
def _plain(character: str) -> str:
    """Return one character that stands for another, or none for one that is not seen."""
    kind = unicodedata.category(character)
    if kind == "Cf":
        return ""
    if kind == "Zs":
        return " "
    if character in _HYPHENS:
        return "-"
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    folded = unicodedata.normalize("NFKC", character) if "\uff00" < character < "\uff5f" else ""
    return folded if len(folded) == 1 else character
