"""Names that nobody listed are found, and nothing else."""

import numpy as np
import pytest

from veil.core.errors import InputError
from veil.dp.local.estimate import discover, estimate
from veil.dp.local.oracles.sfp import SFP, fragment, pad, piece_of
from veil.dp.local.reports import report, report_blocks

NAMES = ["mia", "noel", "selma", "manuel", "simone", "samuel", "lena", "nils", "leo", "ulla"]
SPEC = "sfp(epsilon=8, length=6, alphabet=aeilmnosu)"


def test_ten_names_are_found_in_order() -> None:
    counts = np.arange(15_000, 4_000, -1_100)
    texts = [name for name, count in zip(NAMES, counts, strict=True) for _ in range(count)]
    reports = report(texts, SPEC, rng=1)
    found = discover(reports)
    assert list(found.candidates) == NAMES
    assert (np.abs(found.counts - counts) < 4.5 * found.stderr).all()
    again = discover(report_blocks(iter(texts), SPEC, rng=1))
    np.testing.assert_array_equal(again.counts, found.counts)
    known = estimate(reports, [*NAMES, "otto"])
    np.testing.assert_array_equal(known.counts[:10], found.counts)


def test_few_clients_are_not_enough() -> None:
    assert len(discover(report(NAMES * 20, SPEC, rng=1))) == 0


@pytest.mark.parametrize("n", [1, 3, 30, 60])
def test_nothing_is_looked_for_in_very_few_reports(n: int) -> None:
    with pytest.raises(InputError, match=rf"at least 69 reports.*Got {n} instead"):
        discover(report((NAMES * 6)[:n], SPEC, rng=1))


@pytest.mark.parametrize("n", [69, 300])
def test_no_text_is_made_up_of_few_reports(n: int) -> None:
    assert set(discover(report(["selma"] * n, SPEC, rng=n)).candidates) <= {"selma"}


def test_noisier_reports_must_be_more() -> None:
    names = NAMES * 100
    assert len(discover(report(names, SPEC, rng=1))) == 0
    with pytest.raises(InputError, match="at least 1,068 reports"):
        discover(report(names, SPEC.replace("=8", "=1"), rng=1))


def test_longer_names_are_found_cut_and_other_letters_not() -> None:
    texts = ["simonelisa"] * 9_000 + ["ZZ top"] * 9_000 + ["leo"] * 9_000
    found = discover(report(texts, SPEC, rng=3))
    assert set(found.candidates) == {"simone", "leo"}


def test_a_fragment_is_as_defined() -> None:
    whole = pad("mia", 6)
    assert whole == "mia   "
    assert pad("simonelisa", 6) == "simone"
    assert 0 <= piece_of(whole) < 256
    assert fragment(2, piece_of(whole), whole[2:4]) == f"2|{piece_of(whole)}|a "
    numbers = SFP(epsilon=1, length=6).check(["mia"])
    assert numbers.shape == (1, 4)


def test_only_sfp_discovers() -> None:
    with pytest.raises(InputError, match="reports of sfp"):
        discover(report(["a"], "hcms(epsilon=1)", rng=1))
