"""The correlation of measures of risk with QuIPU, against SciPy and on curves made by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.correlation import agreement, correlations, mean_risk, once, scores, spearman
from benchmarks.tasks import gap, verdict
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.estimate import Estimate
from veil.proxy.slider import SHIPPED
from veil.studies.export import read_csv
from veil.studies.panels import panels
from veil.studies.results import Row


def rows_of(risks: dict[str, list[float]], size: int = 1) -> list[Row]:
    """Curves whose utility is 0.2 and 0.8, with these risks."""
    output = []
    for name, values in risks.items():
        for number, value in enumerate(values):
            row = Row("data", "", name, f"{name}(epsilon={number}.0)", "epsilon", float(number),
                      size, "risk", "persistent", "a", value / 5, 0, 1, 9)  # fmt: skip
            output += [
                row,
                replace(row, measure="lazy", score=value),
                replace(
                    row, kind="utility", measure="nDCG@10", attacker="", score=0.2 + number * 0.6
                ),
            ]
    return output


def test_the_correlation_is_that_of_scipy(rng: Generator) -> None:
    stats = pytest.importorskip("scipy.stats", reason="SciPy is not installed")
    for _ in range(5):
        x, y = rng.integers(6, size=(2, 9)).astype(float)
        entry, other = ({str(i): float(v) for i, v in enumerate(z)} for z in (x, y))
        actual = spearman(entry, other | {"more": 1.0})
        assert actual is not None
        assert float(actual) == pytest.approx(stats.spearmanr(x, y).statistic)
        assert -1 <= actual.low <= actual <= actual.high <= 1
        assert actual.n == 9
    assert spearman({"a": 1.0}, {"a": 1.0}) is None


def test_a_curve_with_more_risk_has_a_lower_score() -> None:
    rows = rows_of({f"m{i}": [0.0, 0.3 + i / 10] for i in range(6)})
    lines = dict(correlations(rows))
    assert lines["a, lazy"][0].startswith("-1.00 [-1.00, -1.00] (6)")
    assert lines["a, persistent"] == lines["a, lazy"]  # a fifth of it: the same order
    panel = next(entry for entry in panels(rows) if entry.measure == "persistent")
    assert mean_risk(panel)["m1"] == pytest.approx(0.04)
    assert scores(panel)["m1"] == pytest.approx(0.5 * (0.2 + 0.4) * (1.2 - 0.2))
    assert dict(agreement(rows))["lazy"][1].startswith("+1.00")
    with pytest.raises(InputError, match="no attacker b"):
        correlations(rows, "b")
    with pytest.raises(InputError, match="no curves"):
        correlations([])


def test_each_mechanism_counts_once() -> None:
    rows = [*rows_of({"m": [0.1, 0.2]}, 5), *rows_of({"m": [0.3, 0.4], "k": [0.1, 0.2]}, 20)]
    assert {row.size for row in once(rows)} == {20}
    assert len(once(rows)) == 12


def test_what_is_shipped_has_a_table() -> None:
    assert len(correlations(once(read_csv(Path(SHIPPED))))) > 4


def test_observations_are_judged_by_their_intervals() -> None:
    actual = {("a", 1.0): np.ones(40), ("b", 1.0): np.zeros(40), ("b", 9.0): np.ones(40)}
    assert verdict(gap(actual, ["a"], ["b"], np.inf)) == "+1.000 [+1.000, +1.000]  confirmed"
    assert verdict(gap(actual, ["b"], ["a"], np.inf)).endswith("refuted")
    assert gap(actual, ["b"], ["a"], 0.5) is None
    assert verdict(None) == "not measured"
    near = Estimate(0.1, -0.1, 0.3, 9)
    assert verdict(near).endswith("neither")
    assert verdict(near, alike=True).endswith("not told apart")
    assert verdict(Estimate(0.2, 0.1, 0.3, 9), alike=True).endswith("]  told apart")
