"""The exponential of float64 arrays in SIMD registers, with numba.

exp(x) = 2^n exp(r), where n is the integer nearest to x/ln 2 and |r| <= ln(2)/2. exp(r) is its
series up to r^13, which is exact to float64 in that range. n is read from the low bits of
x/ln 2 + 1.5 * 2^52, because AVX2 cannot convert float64 to integers.
"""

import numpy as np

from veil.core.types import Floats
from veil.data.compiled import compiled

MAGIC = 1.5 * 2.0**52
LOG2E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts, the first with trailing zeros
LN2_LOW = 1.90821492927058770002e-10
C2, C3, C4, C5, C6, C7 = (1 / n for n in (2, 6, 24, 120, 720, 5040))
C8, C9, C10, C11, C12, C13 = (
    1 / n for n in (40320, 362880, 3628800, 39916800, 479001600, 6227020800)
)


@compiled(fastmath={"contract"})
def _series(x, power):
    """Replace x by exp(r), and write n to the low bits of `power`."""
    for i in range(x.shape[0]):
        v = x[i]
        t = v * LOG2E + MAGIC
        power[i] = t
        n = t - MAGIC
        r = (v - n * LN2_HIGH) - n * LN2_LOW
        p = C12 + r * C13
        p = C11 + r * p
        p = C10 + r * p
        p = C9 + r * p
        p = C8 + r * p
        p = C7 + r * p
        p = C6 + r * p
        p = C5 + r * p
        p = C4 + r * p
        p = C3 + r * p
        p = C2 + r * p
        p = 1.0 + r * p
        x[i] = 1.0 + r * p


@compiled()
def _to_powers(bits):
    """Turn n in the low bits into the float64 2^n."""
    for i in range(bits.shape[0]):
        bits[i] = (bits[i] + np.int64(1023)) << np.int64(52)


@compiled()
def _multiply(x, power):
    for i in range(x.shape[0]):
        x[i] *= power[i]


def fused_exp(x: Floats, power: Floats) -> None:
    """Replace x (1-D, -700 <= x <= 0) by its exponential; `power` is a buffer of its size."""
    _series(x, power)
    _to_powers(power.view(np.int64))
    _multiply(x, power)
