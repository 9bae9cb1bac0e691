"""Numbers as people read them: one way for all messages."""

import math


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
