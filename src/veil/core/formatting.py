"""Numbers and other people's words, formatted for messages and screens."""

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
    """Return an amount of leakage, to the hundredth of a bit.

    >>> bits_of(1.0), bits_of(6.4919), bits_of(0.0)
    ('1 bit', '6.49 bits', '0 bits')
    """
    text = number_of(round(value, 2))
    return f"{text} bit{'' if text == '1' else 's'}"


def number_of(value: float) -> str:
    """Return six digits of a number, or more before the point, in groups of three.

    >>> number_of(10500.0), number_of(2e6), number_of(0.25), number_of(1e-6)
    ('10,500', '2,000,000', '0.25', '1e-06')
    """
    whole = math.isfinite(value) and 1e5 <= abs(value) < 1e15
    return f"{value:,.0f}" if whole else f"{value:,g}"


# Control characters (C0, DEL, C1), separators of lines and paragraphs, halves of characters.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# What changes the direction of writing, or is not seen at all; the joiners of Persian, of Indic
# scripts and of emoji (U+200C, U+200D) stay.
_HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_TELLING = re.compile(f"{_CONTROL.pattern}|{_HIDDEN.pattern}")
_NOT_ASCII = re.compile("[^\x00-\x7f]")


def printable(text: str) -> str:
    r"""Put a space in place of each control character, and drop what hides or turns.

    >>> printable("a\x1b[31mb\u202ec\nd")
    'a [31mbc d'
    """
    return _HIDDEN.sub("", _CONTROL.sub(" ", text))


def is_printable(text: str) -> bool:
    """Tell whether a text holds nothing that `printable` changes."""
    return _TELLING.search(text) is None


def mark_unprintable(text: str) -> str:
    """Put U+FFFD in place of what `printable` changes, so that it is seen that it was there."""
    return _TELLING.sub("\ufffd", text)


def escaped_json(document: str, encoding: str = "utf-8") -> str:
    r"""Write what `printable` changes as ``\uXXXX``, which is the same JSON; line ends stay.

    So is written what is not ASCII where the encoding does not have all of it.

    >>> escaped_json('["\x9b\u202e"]')
    '["\\u009b\\u202e"]'
    >>> escaped_json('["\xe9"]', "ascii")
    '["\\u00e9"]'
    """
    escaped = _TELLING.sub(_escape, document)
    try:
        escaped.encode(encoding)
    except (UnicodeError, LookupError):
        return _NOT_ASCII.sub(_escape, escaped)
    return escaped


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\n":  # between the values: inside a string it is written as \n already
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
