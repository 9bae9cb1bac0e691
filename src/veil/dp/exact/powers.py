r"""Bounds of :math:`e^{-x}` for a rational x, by integers alone."""

from fractions import Fraction

Bounds = tuple[int, int]  # lo <= 2^bits value <= hi

_GUARD = 32  # bits beyond those that are asked for


def exp_minus(x: Fraction, bits: int) -> Bounds:
    r"""Return whole numbers with lo <= 2^bits e^-x <= hi, a few units apart.

    x is halved until it is at most 1/16; there the alternating series is added up with floored
    terms, each of which is less than 2 too small; then it is squared back, rounded outwards.

    >>> lo, hi = exp_minus(Fraction(1), 64)
    >>> hi - lo <= 1, abs(lo / 2**64 - 0.36787944117144233) < 1e-15
    (True, True)
    """
    if x < 0:
        raise ValueError("The exponent must be at least 0.")
    if x == 0:
        return 1 << bits, 1 << bits
    if x > bits:  # e^-x < 2^-x
        return 0, 1
    halvings = max(0, (16 * x.numerator // x.denominator).bit_length())
    work = bits + _GUARD + 2 * halvings
    scaled = x.numerator << work
    below = scaled // (x.denominator << halvings)
    lo, hi = _series(below + 1, work)[0], _series(below, work)[1]
    for _ in range(halvings):
        lo, hi = (lo * lo) >> work, -((-hi * hi) >> work)
    shift = work - bits
    return lo >> shift, -(-hi >> shift)


def _series(y: int, work: int) -> Bounds:
    """Bound 2^work e^-(y / 2^work) for a y of at most 2^work / 16."""
    term = total = 1 << work
    k, sign = 0, 1
    while term:
        k, sign = k + 1, -sign
        term = (term * y >> work) // k
        total += sign * term
    return max(0, total - 2 * k - 2), total + 2 * k + 2


def times(one: Bounds, other: Bounds, bits: int) -> Bounds:
    """Multiply two values of at least 0, rounded outwards."""
    return one[0] * other[0] >> bits, -(-one[1] * other[1] >> bits)


def over(one: Bounds, other: Bounds, bits: int) -> Bounds:
    """Divide two values of at least 0, rounded outwards."""
    return (one[0] << bits) // other[1], -(-(one[1] << bits) // other[0])
