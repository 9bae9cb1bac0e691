"""The slider with cover in front."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from tests.web.conftest import make_plane
from tests.web.test_cover_page import GROUPS, K, N, make_table

from veil.proxy import slider
from veil.proxy.slider import stops_of, with_cover
from veil.search.locality import Locality
from veil.text.mechanisms.catalogue import mechanism


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    make_table().save(tmp_path / "table")
    plane = f"cover(table='{tmp_path / 'table'}')"
    monkeypatch.setattr(slider, "usual_mechanism", lambda _: plane)
    return str(mechanism(plane))


@pytest.mark.parametrize("standing", ["own", "stand-in", "elsewhere"])
def test_it_is_first_and_exact(spec: str, standing: Locality) -> None:
    before = make_plane()
    plane = with_cover(before, standing)
    first = plane.stops[0]
    assert (plane.default, plane.stops[1:], plane.note) == (0, before.stops, "")
    assert (first.setting.mechanism, first.setting.size) == (spec, K)
    assert first.risk.score == first.upper == 10 * GROUPS / N
    assert math.isnan(first.utility.score)
    assert [stop.measured for stop in plane.stops] == [False, True, True, True]
    assert first.log_size == N


def test_one_that_the_audit_measured_stays_where_it_is(spec: str) -> None:
    before = make_plane()
    measured_stop = replace(
        before.stops[2], setting=replace(before.stops[2].setting, mechanism=spec)
    )
    measured_stop = replace(measured_stop, setting=replace(measured_stop.setting, size=K))
    before = replace(before, stops=(*before.stops[:2], measured_stop))
    assert with_cover(before, "elsewhere") == replace(before, default=2)


def test_a_table_that_is_not_there_is_told_of_and_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path))
    before = make_plane()
    plane = with_cover(before, "elsewhere")
    assert plane.stops is before.stops
    assert "veil cover build wordnet" in plane.note
    first = plane.stops[plane.default]
    assert plane.uncovered.startswith(plane.note)
    spec, worth = mechanism(first.setting.mechanism).brief, f"{first.utility.score:.2f}"
    assert f"default is {spec}, with a utility of {worth}" in plane.uncovered
    assert with_cover(before, "own") == before
    assert list(tmp_path.iterdir()) == []


def test_rows_of_cover_in_an_audit_make_a_stop(spec: str, tmp_path: Path) -> None:
    rows = [
        replace(row, spec=item, mechanism="cover")
        for item in (spec, f"cover(table='{tmp_path / 'gone'}')")
        for row in make_plane().rows[:2]
    ]
    assert [stop.setting.mechanism for stop in stops_of(rows, "small", "bm25")] == [spec]
