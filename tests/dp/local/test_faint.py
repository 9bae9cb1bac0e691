"""Reports that tell next to nothing are refused in one sentence, and not divided by nothing."""

import pytest

from veil import dp
from veil.core.errors import InputError

FAINT = [
    "grr(epsilon={0}, size=9)",
    "oue(epsilon={0}, size=9)",
    "olh(epsilon={0})",
    "dbitflip(epsilon={0}, size=9, d=2)",
    "cms(epsilon={0})",
    "hcms(epsilon={0})",
    "sfp(epsilon={0})",
]


@pytest.mark.parametrize("spec", FAINT)
@pytest.mark.parametrize("epsilon", [5e-324, 1e-300])
def test_counts(spec: str, epsilon: float) -> None:
    oracle = dp.oracle(spec.format(epsilon))
    value: str | int = 1 if oracle.takes == "codes" else "a"
    reports = dp.report([value] * 20, oracle)
    with pytest.raises(InputError, match="larger epsilon"):
        dp.estimate(reports, [value])


def test_a_mean() -> None:
    with pytest.raises(InputError, match="larger epsilon"):
        dp.estimate_mean(dp.report([1.0] * 20, "one_bit(epsilon=1e-300, high=1)"))


def test_strings_that_nobody_listed() -> None:
    with pytest.raises(InputError, match="larger epsilon"):
        dp.discover(dp.report(["ab"] * 20, "sfp(epsilon=1e-300, length=2)"))


@pytest.mark.parametrize("spec", FAINT)
def test_little_is_not_nothing(spec: str) -> None:
    oracle = dp.oracle(spec.format(1e-6))
    value: str | int = 1 if oracle.takes == "codes" else "a"
    found = dp.estimate(dp.report([value] * 20, oracle), [value])
    assert float(found.stderr[0]) > 1e5
