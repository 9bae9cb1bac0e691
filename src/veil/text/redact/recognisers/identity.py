"""National identity numbers, each with its country's check.

United States (SSN, by its ranges), United Kingdom (NINO, by its letters; NHS number), Italy
(codice fiscale), Spain (DNI, NIE), France (NIR), Germany (tax number), Poland (PESEL),
Brazil (CPF).
"""

import re
from collections.abc import Callable, Iterator

from veil.text.redact.recognisers.digits import digits_of, mod11_10, weighted
from veil.text.redact.span import Place

_TENS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_REST = (2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (*_TENS, *_TENS, *_REST), strict=True))
_SPANISH, _FOREIGN = "TRWAGMYFPDXBNJZSQVHLCKE", str.maketrans("XYZ", "012")


def find(text: str) -> Iterator[Place]:
    """Yield identity numbers that pass their check.

    >>> list(find("SSN 078-05-1120, DNI 12345678Z, but not 12345678A"))
    [(4, 15), (21, 30)]
    """
    for shape, right in _KINDS:
        for match in shape.finditer(text):
            if right(_SEPARATORS.sub("", match[0].upper())):
                yield match.span()


def _fiscal(code: str) -> bool:
    """Check the last letter of an Italian code; odd positions count by a table."""
    even = sum(int(sign, 36) - (10 if sign.isalpha() else 0) for sign in code[1:15:2])
    odd = sum(_ODD[sign] for sign in code[0:15:2])
    return chr(ord("A") + (even + odd) % 26) == code[15]


def _spanish(code: str) -> bool:
    number = code[:-1].translate(_FOREIGN)
    return _SPANISH[int(number) % 23] == code[-1]


def _french(code: str) -> bool:
    """Check a French number: 97 minus the remainder of the first 13 digits (Corsica: letters)."""
    bare = code.replace("2A", "19").replace("2B", "18")
    return bare.isdecimal() and 97 - int(bare[:13]) % 97 == int(bare[13:])


def _german(code: str) -> bool:
    digits = digits_of(code)
    return digits[0] != 0 and len(set(digits[:10])) in (8, 9) and mod11_10(digits)


def _polish(code: str) -> bool:
    digits = digits_of(code)
    month, day = digits[2] * 10 + digits[3], digits[4] * 10 + digits[5]
    total = weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1))
    return 1 <= month % 20 <= 12 and 1 <= day <= 31 and total % 10 == 0


def _brazilian(code: str) -> bool:
    digits = digits_of(code)
    first = weighted(digits[:9], tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = weighted(digits[:10], tuple(range(11, 1, -1))) * 10 % 11 % 10
    return len(set(digits)) > 1 and [first, second] == digits[9:]


def _british(code: str) -> bool:
    """Check an NHS number: 11 minus the remainder, with weights from 10 down to 2."""
    digits = digits_of(code)
    return (11 - weighted(digits[:9], tuple(range(10, 1, -1))) % 11) % 11 == digits[9]


def _always(code: str) -> bool:
    del code
    return True


_NAME = "|".join(rf"(?<=\b{name})" for name in ("SSN", "NHS", "NINO", "CF", "DNI", "NIE", "CPF"))


def _shape(pattern: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?<![^\W_])(?<!\d[-.,])|{_NAME})(?:{pattern})(?![^\W_]|[-.,]\d)",
        re.IGNORECASE | re.ASCII,
    )


_SEPARATORS = re.compile(r"[ ./-]")
_S = r"[ ./-]?"
_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = (
    (_shape(r"(?!000|666|9\d\d)\d{3}([-./ ])(?!00)\d\d\1(?!0000)\d{4}"), _always),
    (
        _shape(r"(?:(?<=SSN)|(?!0))(?!000|666|9\d\d)\d{3}(?!00)\d\d(?!0000)\d{4}"),
        _always,
    ),  # a leading 0 is a telephone number
    (
        _shape(
            r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
            rf"{_S}\d\d{_S}\d\d{_S}\d\d{_S}[A-D]"
        ),
        _always,
    ),
    (_shape(r"[4679]\d\d([- ]?)\d{3}\1\d{4}"), _british),
    (
        _shape(
            rf"[A-Z]{{3}}{_S}[A-Z]{{3}}{_S}[\dLMNP-V]{{2}}{_S}[A-EHLMPR-T]{_S}[\dLMNP-V]{{2}}{_S}"
            rf"[A-Z]{_S}[\dLMNP-V]{{3}}{_S}[A-Z]"
        ),
        _fiscal,
    ),
    (
        _shape(r"(?:\d{8}|\d{1,2}([. ])\d{3}\1\d{3}|[XYZ][-/ ]?\d{7})[-/ ]?[A-Z]"),
        _spanish,
    ),
    (
        _shape(
            rf"[1278]{_S}\d\d{_S}(?:0[1-9]|1[0-2]|[2-9]\d){_S}(?:\d\d|2[AB]){_S}\d{{3}}{_S}\d{{3}}"
            rf"{_S}\d\d"
        ),
        _french,
    ),
    (_shape(r"\d{2}([ ./-]?)\d{3}\1\d{3}\1\d{3}"), _german),
    (_shape(r"\d{6}[ -]?\d{5}"), _polish),
    (_shape(r"\d{3}[. -]?\d{3}[. -]?\d{3}[./ -]?\d{2}"), _brazilian),
)
