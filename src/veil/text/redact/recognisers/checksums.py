"""Check digits: they tell a number that means something from one that only looks like it."""

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def digits_of(text: str) -> list[int]:
    """Return the digits of a text, of any script."""
    return [int(character) for character in text if character.isdecimal()]


def luhn(digits: list[int]) -> bool:
    """Tell whether the last digit is right by Luhn: every second one from the end doubled.

    >>> luhn(digits_of("4111 1111 1111 1111")), luhn(digits_of("4111 1111 1111 1112"))
    (True, False)
    """
    backwards = digits[::-1]
    return (sum(backwards[::2]) + sum(_DOUBLED[digit] for digit in backwards[1::2])) % 10 == 0


def mod97(text: str) -> int:
    """Return the remainder of a text by 97, letters counted from 10 (ISO 7064).

    >>> mod97("3214282912345698765432161182")
    1
    """
    return int("".join(str(int(character, 36)) for character in text)) % 97


def mod11_10(digits: list[int]) -> bool:
    """Tell whether the last digit is right by ISO 7064, mod 11,10.

    >>> mod11_10(digits_of("86095742719")), mod11_10(digits_of("86095742718"))
    (True, False)
    """
    product = 10
    for digit in digits[:-1]:
        total = (digit + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == digits[-1]


def weighted(digits: list[int], weights: tuple[int, ...]) -> int:
    """Return the sum of digits times weights."""
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))
