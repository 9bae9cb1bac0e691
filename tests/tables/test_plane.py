"""The plane: risk and utility of methods, their order, their score, and the page."""

import re
import stat
from pathlib import Path

import pytest
from tests.tables.people import PERSON, QI, town

from veil import quipu, tables
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.measures.plane import NOTHING, curves
from veil.tables.mechanisms import mechanism

SPECS = ["mondrian(k=3)", "mondrian(k=20)"]


def test_rows_have_risk_and_utility_with_intervals() -> None:
    t = town(120)
    points = tables.plane(t, SPECS, rng=1)
    assert [row.spec for row in points] == SPECS
    assert len(points) == 2
    weak, strong = points[0], points[1]
    assert weak.risk > strong.risk
    assert weak.utility > strong.utility
    for row in points:
        assert 0 <= row.risk.low <= row.risk <= row.risk.high <= 1
        assert row.utility.low <= row.utility <= row.utility.high
        assert row.risk <= row.worst <= 1
        assert row.utility == tables.utility(t, tables.protect(t, row.spec))
        assert row.risk == tables.attack(t, tables.protect(t, row.spec), "linkage").risk
    assert strong.guarantee.startswith("k-anonymity: k = 20")
    assert (points.plain.spec, float(points.plain.utility)) == (NOTHING, 1)
    assert points.plain.risk > weak.risk


def test_the_score_follows_risk_whatever_the_order_of_the_specs() -> None:
    t = town(120)
    points, turned = tables.plane(t, SPECS), tables.plane(t, SPECS[::-1])
    risks, utilities = (
        [float(getattr(point, name)) for point in points] for name in ("risk", "utility")
    )
    assert points.quipu == turned.quipu == quipu(risks[::-1], utilities[::-1])
    assert points.scores == {"mondrian(k)": points.quipu}
    assert points.quipu != quipu(risks, utilities)  # the other way round it has the other sign


def test_several_curves_and_single_points() -> None:
    methods = [
        mechanism(item) for item in ("pram(p=0.9)", "mdav(k=3)", "pram(p=0.5)", "mdav(k=9)")
    ]
    assert curves(methods) == {"pram(p)": [2, 0], "mdav(k)": [3, 1]}  # most private first
    mechanisms = [mechanism(item) for item in ("pram(p=0.9)", "pram(p=0.5, invariant=true)")]
    assert [len(item) for item in curves(mechanisms).values()] == [1, 1]
    points = tables.plane(town(), ["mondrian(k=5)", "pram(p=0.7)"], rng=1)
    assert set(points.scores.values()) == {0.0}
    assert points.quipu != 0


def test_several_draws_give_an_interval_of_their_mean() -> None:
    points = tables.plane(town(), ["pram(p=0.7)", "mondrian(k=5)"], rng=4, times=5)
    assert points[0].utility.low < points[0].utility < points[0].utility.high
    assert (points[0].utility.n, points[0].risk.n) == (5, 60)  # draws, and records
    assert points[0].risk.low < points[0].risk < points[0].risk.high
    assert points[1].utility.low == points[1].utility.high  # nothing is drawn
    again = tables.plane(town(), ["pram(p=0.7)", "mondrian(k=5)"], rng=4, times=5)
    assert again[0] == points[0]


def test_other_attackers_and_utilities() -> None:
    t = town()
    points = tables.plane(t, ["mondrian(k=5)"], attacker="prosecutor", utility="cells")
    release = tables.protect(t, "mondrian(k=5)")
    assert float(points[0].risk) == tables.attack(t, release, "prosecutor").risk
    assert float(points[0].utility) == tables.utility(t, release, "cells")
    assert (points.attacker, points.measure) == ("prosecutor", "cells")
    assert points.utility == "cells"  # its former name


def test_bad_input_is_refused() -> None:
    t = town()
    for specs in (list[str](), "mdav(k=3)"):
        with pytest.raises(ParameterError, match="list of mechanisms"):
            tables.plane(t, specs)
    with pytest.raises(ParameterError, match="times"):
        tables.plane(t, SPECS, times=0)
    with pytest.raises(UnknownNameError, match="linkag"):
        tables.plane(t, SPECS, attacker="linkag")
    with pytest.raises(UnknownNameError, match="measure of utility"):
        tables.plane(t, SPECS, utility="worth")
    with pytest.raises(InputError, match="quasi-identifier"):
        tables.plane(tables.load({"a": [1, 1]}), ["mdav(k=2)"])


def test_the_page_shows_every_method_and_no_value(tmp_path: Path) -> None:
    points = tables.plane(town(), [*SPECS, "pram(p=0.7)"], rng=1)
    page = tmp_path / "plane.html"
    points.to_html(page)
    text = page.read_text(encoding="utf-8")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert text.count('class="point"') == 4
    for spec in (*SPECS, "pram(p=0.7)", NOTHING):
        assert spec in text
    assert "QuIPU" in text
    assert PERSON not in text
    assert not re.search(r"\b(flu|gout|measles|N1|S2)\b", text)
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", text.split("<body>")[1])
    with pytest.raises(InputError, match=r"\.html"):
        points.to_html(tmp_path / "plane.svg")


def test_a_table_is_printed_without_its_values() -> None:
    t = town()
    assert repr(t) == f"Table(60 rows: name, {', '.join(QI)}, illness, wage)"
    assert PERSON not in repr(tables.protect(t, "mondrian(k=5)"))
    assert repr(t.column("age")) == "Column(60 numbers)"
