"""Format numbers and untrusted text for messages and screens."""

import math
import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def brief(*names: str) -> Callable[[type[T]], type[T]]:
    """Give a class a `repr` of a few attributes, for objects that hold much or what is private.

    A `repr` ends up in logs and notebooks: it must be short, and quote no data. An attribute whose
    value is a collection is shown by its size.

    >>> @brief("name", "words")
    ... class Space:
    ...     name, words = "tiny", ("cat", "dog")
    >>> Space()
    Space(name='tiny', words: 2)
    """

    def shown(name: str, value: object) -> str:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple):
            return f"{name}: {' x '.join(f'{size:,}' for size in shape)}"
        if isinstance(value, str) or not hasattr(value, "__len__"):
            return f"{name}={value!r}"
        return f"{name}: {len(value):,}"

    def decorate(cls: type[T]) -> type[T]:
        def show(self: object) -> str:
            parts = [shown(name, getattr(self, name)) for name in names]
            return f"{type(self).__name__}({', '.join(parts)})"

        cls.__repr__ = show  # type: ignore[method-assign]
        return cls

    return decorate


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "word"), count_of(4500, "word")
    ('1 word', '4,500 words')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def bits_of(value: float) -> str:
    """Return an amount of leakage, rounded to 0.01 bits.

    >>> bits_of(1.0), bits_of(6.4919), bits_of(0.0)
    ('1 bit', '6.49 bits', '0 bits')
    """
    text = number_of(round(value, 2))
    return f"{text} bit{'' if text == '1' else 's'}"


def number_of(value: float) -> str:
    """Return a number with six significant digits, or all digits of a large whole part.

    >>> number_of(10500.0), number_of(2e6), number_of(0.25), number_of(1e-6)
    ('10,500', '2,000,000', '0.25', '1e-06')
    """
    whole = math.isfinite(value) and 1e5 <= abs(value) < 1e15
    return f"{value:,.0f}" if whole else f"{value:,g}"


# Control characters (C0, DEL, C1), line and paragraph separators, surrogates.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# Characters that change the writing direction or are invisible. The joiners that Persian, Indic
# scripts and emoji need (U+200C, U+200D) stay.
_HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_UNPRINTABLE = re.compile(f"{_CONTROL.pattern}|{_HIDDEN.pattern}")
_NOT_ASCII = re.compile("[^\x00-\x7f]")


def printable(text: str) -> str:
    r"""Replace each control character by a space, and drop invisible and direction characters.

    >>> printable("a\x1b[31mb\u202ec\nd")
    'a [31mbc d'
    """
    return _HIDDEN.sub("", _CONTROL.sub(" ", text))


def is_printable(text: str) -> bool:
    """Return whether `printable` would leave a text unchanged."""
    return _UNPRINTABLE.search(text) is None


def mark_unprintable(text: str) -> str:
    """Replace each character that `printable` changes by U+FFFD, so that it is visible."""
    return _UNPRINTABLE.sub("\ufffd", text)


def escaped_json(document: str, encoding: str = "utf-8") -> str:
    r"""Write characters that `printable` changes as ``\uXXXX``: the same JSON, line ends stay.

    If the encoding lacks a character of the document, all non-ASCII characters are escaped.

    >>> escaped_json('["\x9b\u202e"]')
    '["\\u009b\\u202e"]'
    >>> escaped_json('["\xe9"]', "ascii")
    '["\\u00e9"]'
    """
    escaped = _UNPRINTABLE.sub(_escape, document)
    try:
        escaped.encode(encoding)
    except (UnicodeError, LookupError):
        return _NOT_ASCII.sub(_escape, escaped)
    return escaped


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\n":  # between values; inside a JSON string it is already escaped
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
