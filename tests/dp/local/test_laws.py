"""Every bit has its exact law: from a generator, and from a key."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from veil.core.types import Ids
from veil.dp.exact.coins import Digits, exp_minus, flip, rational
from veil.dp.local.hashing import positions, text_hashes
from veil.dp.local.memoise import Fresh, subsets
from veil.dp.local.oracles import ORACLES, oracle
from veil.dp.local.oracles.olh import OLH
from veil.dp.local.oracles.rappor import RAPPOR
from veil.dp.local.packed import bits_at
from veil.dp.local.reports import report

N = 60_000


def fair(seen: NDArray[Any], law: list[float]) -> bool:
    """Tell whether counts are those of a law; a value that cannot be must not be."""
    expected = np.array(law) * seen.sum()
    there = expected > 0
    if seen[~there].any():
        return False
    return bool(stats.chisquare(seen[there], expected[there]).pvalue > 1e-4)


def counted(codes: NDArray[Any], size: int) -> Ids:
    return np.bincount(codes, minlength=size)


def test_grr() -> None:
    chosen = oracle("grr(epsilon=1, size=5)")
    p, q = chosen.probabilities
    for value in (0, 3):
        law = [p if code == value else q for code in range(5)]
        assert fair(counted(report([value] * N, chosen, rng=1).data, 5), law)


def test_oue() -> None:
    chosen = oracle("oue(epsilon=1, size=11)")
    q = chosen.probabilities[1]
    reports = report([1] * N, chosen, rng=2)
    law = [(1 - q) / 2, (1 - q) / 2, q / 2, q / 2]  # of the bits of 0 and of 1
    assert fair(counted(chosen.codes(reports), 4), law)
    bits = np.unpackbits(reports.data, axis=1, count=11)
    ones = bits.sum(axis=0)[2:]
    assert (np.abs(ones - N * q) < 4.5 * np.sqrt(N * q * (1 - q))).all()
    assert not np.unpackbits(reports.data, axis=1)[:, 11:].any()


def test_olh() -> None:
    chosen = OLH(epsilon=1)
    p, g = chosen.probabilities[0], chosen.buckets
    other = (1 - p) / (g - 1)
    apart = 1 - 1 / g
    law = [apart * (1 - p - other) + (1 - p) / g, apart * other, apart * p, p / g]
    reports = report(["yes"] * N, chosen, rng=3)
    assert fair(counted(chosen.codes(reports), 4), law)
    assert len(np.unique(np.asarray(reports.index))) > 0.99 * N


@pytest.mark.parametrize("text", ["yes", "no"])
def test_rappor_keeps_and_clears_bits(text: str) -> None:
    """A set bit must be 0 sometimes, and a bit that is not set 1 sometimes: both are checked."""
    chosen = RAPPOR(f=0.5, p=0.5, q=0.75, bits=20, hashes=2, cohorts=1)
    q, p = chosen.probabilities
    reports = report([text] * N, chosen, rng=4)
    bits = np.unpackbits(reports.data, axis=1, count=20)
    held = positions(text_hashes([text]), np.arange(2), 20)
    for bit in range(20):
        wanted = q if bit in held else p
        error = np.sqrt(wanted * (1 - wanted) / N)
        assert abs(bits[:, bit].mean() - wanted) < 4.5 * error
    pair = 2 * bits[:, held[0]] + bits[:, held[1]]
    assert fair(counted(pair, 4), [(1 - q) ** 2, q * (1 - q), q * (1 - q), q * q])


def test_rappor_with_memoised_bits_has_the_same_law() -> None:
    chosen = RAPPOR(f=0.5, p=0.5, q=0.75, bits=20, hashes=2, cohorts=1)
    n = 4_000
    reports = report(["yes"] * n, chosen, users=range(n), key=bytes(32), rng=5)
    bits = np.unpackbits(reports.data, axis=1, count=20)
    held = positions(text_hashes(["yes"]), np.arange(2), 20)
    law = np.full(20, chosen.probabilities[1])
    law[held] = chosen.probabilities[0]
    assert (np.abs(bits.mean(axis=0) - law) < 4.5 * np.sqrt(law * (1 - law) / n)).all()


@pytest.mark.parametrize("spec", ["cms(epsilon=2, hashes=3, width=13)", "cms(epsilon=2)"])
def test_cms(spec: str) -> None:
    chosen = oracle(spec)
    hit, miss = chosen.probabilities
    n = 10_000
    reports = report(["yes"] * n, chosen, rng=6)
    width = chosen.width  # type: ignore[attr-defined]
    at = positions(text_hashes(["yes"]), np.asarray(reports.index), width)
    own = bits_at(reports.data, at)
    assert fair(counted(own.astype(np.int64), 2), [1 - hit, hit])
    ones = np.unpackbits(reports.data, axis=1, count=width).sum() - own.sum()
    trials = n * (width - 1)
    assert abs(ones - trials * miss) < 4.5 * np.sqrt(trials * miss * (1 - miss))


def test_hcms() -> None:
    chosen = oracle("hcms(epsilon=1, hashes=2, width=4)")
    reports = report(["yes"] * N, chosen, rng=7)
    index = np.asarray(reports.index)
    agree = chosen.codes(reports, ("yes", "yes")) == 3
    assert fair(counted(agree.astype(np.int64), 2), list(chosen.probabilities[::-1]))
    assert fair(counted(index[:, 0] * 4 + index[:, 1], 8), [1 / 8] * 8)


def test_one_bit() -> None:
    chosen = oracle("one_bit(epsilon=1, high=100)")
    high, low = chosen.probabilities
    for x, wanted in ((0.0, low), (20.0, low + (high - low) / 5), (100.0, high)):
        bits = report([x] * N, chosen, rng=8).data
        assert fair(counted(bits, 2), [1 - wanted, wanted])


@pytest.mark.parametrize("key", [None, bytes(range(32))])
def test_dbitflip(key: bytes | None) -> None:
    chosen = oracle("dbitflip(epsilon=1, size=5, d=2)")
    n = N if key is None else 8_000
    users = None if key is None else np.arange(n)
    reports = report([3] * n, chosen, users=users, key=key, rng=9)
    index = np.asarray(reports.index)
    pairs = {(a, b): 5 * a + b for a in range(5) for b in range(a + 1, 5)}
    seen = counted(index[:, 0] * 5 + index[:, 1], 25)
    assert fair(seen[list(pairs.values())], [0.1] * 10)
    hit, miss = chosen.probabilities
    own = reports.data[index == 3]
    assert fair(counted(own, 2), [1 - hit, hit])
    assert fair(counted(reports.data[index != 3], 2), [1 - miss, miss])


def test_sfp() -> None:
    chosen = oracle("sfp(epsilon=2, length=4)")
    reports = report(["yes"] * N, chosen, rng=10)
    codes = chosen.codes(reports, ("yes", "yes"))
    p = chosen.guarantee.epsilon / 2
    hit = 1 / (1 + np.exp(-p))
    law = [0.0] * 16  # each of the two bits agrees with both texts, which are the same, or not
    law[0], law[3], law[12], law[15] = (
        (1 - hit) ** 2, (1 - hit) * hit, (1 - hit) * hit, hit**2,
    )  # fmt: skip
    assert fair(counted(codes, 16), law)
    assert fair(counted(np.asarray(reports.index)[:, 0] // 2, 2), [0.5, 0.5])


def test_subsets_of_any_size_are_uniform(rng: np.random.Generator) -> None:
    whole = subsets(Fresh(10, rng), 6, 6)
    assert (whole == np.arange(6)).all()
    three = subsets(Fresh(N, rng), 5, 3)
    codes = (1 << three).sum(axis=1)
    assert fair(counted(codes, 32)[np.bitwise_count(np.arange(32)) == 3], [0.1] * 10)


@pytest.mark.parametrize("x", [Fraction(1), Fraction(1, 1000), Fraction(50)])
def test_digits_are_those_of_the_probability(x: Fraction) -> None:
    """The sum of 40 digits is 1/(1 + e^x), to 320 bits."""
    found = flip(x)
    total = sum(found.digit(level) << (8 * (39 - level)) for level in range(40))
    lo, hi = exp_minus(x, 400)
    low, high = Fraction(lo, 2**400 + lo), Fraction(hi, 2**400 + hi)
    assert low - Fraction(1, 2**320) < Fraction(total, 2**320) <= high


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(1)])
def test_two_bytes_decide_all_but_one_case(p: Fraction) -> None:
    found = rational(p)
    first = np.repeat(np.arange(256), 256).astype(np.uint8)
    second = np.tile(np.arange(256), 256).astype(np.uint8)

    def further(at: Ids, level: int) -> NDArray[np.uint8]:
        return second[at] if level == 1 else np.full(len(at), 255, dtype=np.uint8)

    heads = int(found.heads(first, further).sum())
    assert heads == p * 65536 // 1


def test_a_byte_that_is_the_digit_leaves_it_to_the_next() -> None:
    third = rational(Fraction(1, 3))  # all digits are 85

    def further(value: int) -> Callable[[Ids, int], NDArray[np.uint8]]:
        return lambda at, level: np.full(len(at), 85 if level < 30 else value, dtype=np.uint8)

    first = np.full((2, 3), 85, dtype=np.uint8)
    assert third.heads(first, further(84)).all()
    assert not third.heads(first, further(86)).any()


def test_bounds_that_are_wide_are_made_tight() -> None:
    widths: list[int] = []

    def bounds(bits: int) -> tuple[int, int]:
        widths.append(bits)
        one = (1 << bits) // 2
        slack = 1 << (bits - 4) if bits < 200 else 0
        return one - slack, one + slack

    assert Digits(bounds).digit(0) == 128
    assert max(widths) >= 200


@pytest.mark.parametrize("name", ORACLES.names())
def test_codes_tell_values_apart_and_no_more_than_claimed(name: str) -> None:
    """The log-ratio of each code that is seen often stays below the claim, and shows something."""
    spec = {
        "grr": "grr(epsilon=1.5, size=3)", "oue": "oue(epsilon=1.5, size=10)",
        "olh": "olh(epsilon=1.5)", "rappor": "rappor(f=0.5, p=0.2, q=0.8, hashes=1)",
        "cms": "cms(epsilon=1.5, width=64)", "hcms": "hcms(epsilon=1.5)",
        "one_bit": "one_bit(epsilon=1.5, high=2)", "sfp": "sfp(epsilon=1.5, length=2)",
        "dbitflip": "dbitflip(epsilon=1.5, size=4, d=4)",
    }[name]  # fmt: skip
    chosen = oracle(spec)
    one, other = (
        counted(chosen.codes(report([value] * N, chosen, rng=11)), 64)
        for value in chosen.pairs()[0]
    )
    often = np.minimum(one, other) > 1_000
    ratio = np.abs(np.log(one[often] / other[often])).max()
    assert ratio <= chosen.guarantee.epsilon + 0.15
    assert ratio > (0.8 if name != "rappor" else 0.3) * chosen.guarantee.epsilon
