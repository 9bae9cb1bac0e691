"""What files make of places: their order, their digits, and who is not listed in them."""

import re
from pathlib import Path

import numpy as np
import pytest

from veil.core.component import example
from veil.core.errors import InputError
from veil.places import Points, attack, load, plot, protect, risk, save
from veil.places.links import rounding
from veil.places.mechanisms import MECHANISMS
from veil.places.projection import surface
from veil.places.study import Places
from veil.studies.report.report import write_report
from veil.studies.results import Results, Section


def town(rng: np.random.Generator, n: int = 60) -> Points:
    """Addresses within a kilometre of one another, in degrees."""
    return Points(rng.uniform([-0.14, 51.51], [-0.13, 51.52], (n, 2)), "EPSG:4326")


def test_the_map_is_drawn_in_no_order_of_the_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    release = protect(Points(rng.uniform(0, 1000, (200, 2))), "donut(low=5, high=6)", rng=1)
    draws = plot(release, tmp_path / "map.svg").read_text()
    path = re.search(r'd="((?:M[-\d.]+ [-\d.]+h0)+)"', draws)
    assert path is not None
    dots = np.array(
        [[float(v) for v in one.split()] for one in re.findall(r"M([^h]+)h0", path[1])]
    )
    assert len(dots) == 200
    assert (np.diff(dots[:, 0]) >= 0).all()
    other = Points(release.xy[0][::-1])
    assert plot(other, tmp_path / "other.svg").read_text().count(path[1]) == 1


@pytest.mark.parametrize("spec", ["fixed(radius=100)", "donut(low=99.99, high=100)"])
def test_a_release_that_was_written_down_is_found_as_well(tmp_path: Path, spec: str) -> None:
    homes = town(np.random.default_rng(2))
    release = protect(homes, spec, rng=3)
    save(release, tmp_path / "masked.geojson", rng=4)
    written = load(tmp_path / "masked.geojson")
    order = [int(np.abs(written.xy - xy).sum(axis=1).argmin()) for xy in release.xy[0]]
    seen = Points(written.xy[order], written.crs)
    there = risk(attack(release, homes, homes, "bayes"))
    digits = rounding(homes)
    again = risk(attack(seen, homes, homes, "bayes", spec, rounding=digits))
    assert float(there) > 0.8
    assert float(again) == pytest.approx(float(there), abs=0.05)
    assert float(risk(attack(seen, homes, homes, "bayes", spec))) < 0.9 * float(there)


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_rounding_rules_no_place_out(name: str) -> None:
    """A blurred law allows all that the law itself does, and a little more."""
    method = example(MECHANISMS.get(name))
    wide = method.blurred(0.5)
    assert wide.name == name
    if "radius" in type(method).model_fields or "high" in type(method).model_fields:
        assert wide != method
    if not method.lawful or "population" in method.needs:
        return
    on, true = surface(None), np.zeros((1, 2))
    places = np.column_stack([np.linspace(0.0, 600, 2001), np.zeros(2001)])
    narrow = method.log_density(places, true, on)[:, 0]
    broad = wide.log_density(places, true, on)[:, 0]
    assert (np.isfinite(broad) | ~np.isfinite(narrow)).all()


def test_a_register_that_lists_nobody_is_refused() -> None:
    homes = town(np.random.default_rng(2))
    elsewhere = Points(homes.xy + 0.01, homes.crs)
    release = protect(homes, "disk(radius=1)", rng=1)
    with pytest.raises(InputError, match="None of the original points is in the register"):
        attack(release, homes, elsewhere, "nearest")
    some = attack(release, homes, Points(homes.xy[:20], homes.crs), "nearest")
    assert some.details["absent"] == 40
    assert some.details["listed"] == pytest.approx(1 / 3)
    rounded = Points(np.round(homes.xy, 7), homes.crs)
    digits = rounding(homes)
    result = attack(release, homes, rounded, "nearest", same=digits)
    assert result.details["absent"] == 0
    assert float(risk(result)) > 0.9


def test_each_method_faces_who_can_undo_it() -> None:
    for spec, usual in {
        "rotate(degrees=30)": ("align", "nearest"),
        "voronoi": ("align", "nearest"),
        "donut(low=1, high=9)": ("bayes", "nearest"),
        "predictive(epsilon=0.1, threshold=9)": ("nearest",),
    }.items():
        assert Places.usual_attackers(MECHANISMS.parse(spec)) == usual


def test_a_report_with_originals_is_for_its_owner_alone(tmp_path: Path) -> None:
    for private, mode in ((True, 0o600), (False, 0o644)):
        section = Section("maps", "Maps", ("x",), private=private)
        results = Results("made", (), sections=(section,))
        path = write_report(results, tmp_path / str(private))
        assert path.stat().st_mode & 0o777 & ~mode == 0
        assert bool(path.stat().st_mode & 0o044) == (not private)


@pytest.mark.parametrize("by", ["area", "radius"])
def test_a_ring_rules_its_own_centre_out(by: str) -> None:
    law = MECHANISMS.parse(f"donut(low=5, high=9, by={by})")
    here = np.zeros((1, 2))
    assert law.log_density(here, here, surface(None))[0, 0] == -np.inf
