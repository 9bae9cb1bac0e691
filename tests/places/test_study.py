"""Places as an experiment: the contract of domains, figures, gaps, pictures, and its commands."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.random import Generator

from veil.cli import veil
from veil.core.errors import InputError
from veil.places import links
from veil.places.links import distinct, folder, link_points, match_rows
from veil.places.plane import plane
from veil.places.points import Points
from veil.places.study import STRUCTURE, Places, PlacesStudy
from veil.studies.domains import make_study
from veil.studies.sweep import sweep
from veil.testing import check_domain

DONUT = {"spec": "donut(low=5)", "parameter": "high", "values": [20.0, 400.0]}
LAPLACE = {"spec": "laplace", "parameter": "epsilon", "values": [0.005, 0.1]}
TURN = {"spec": "rotate(degrees=30)", "attackers": ["bayes", "align"]}


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEIL_DATA", str(tmp_path / "data"))


@pytest.fixture
def town(tmp_path: Path, rng: Generator) -> Path:
    """Write forty households, one of them twice, with people and a time."""
    xy = np.column_stack([rng.normal(500, 300, 40), rng.normal(900, 200, 40)])
    xy[-1] = xy[0]
    lines = [f"{x!r},{y!r},{i % 4},{i * 60}" for i, (x, y) in enumerate(xy.tolist())]
    path = tmp_path / "town.csv"
    path.write_text("x,y,people,time\n" + "\n".join(lines) + "\n")
    return path


def opened(given: Mapping[str, Any], tmp_path: Path) -> Places:
    """Open a study."""
    study = make_study({"name": "t", "domain": "places", **given}, "the test", tmp_path)
    assert isinstance(study, PlacesStudy)
    return Places(study)


def run(*arguments: object) -> str:
    """Run a command, and return all that it prints."""
    result = CliRunner().invoke(veil, ["places", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_places_is_a_domain(town: Path) -> None:
    check_domain("places", {"points": str(town), "mechanism": [DONUT, LAPLACE]})


def test_a_study_says_risk_utility_and_what_is_missing(town: Path, tmp_path: Path) -> None:
    given = {"points": str(town), "mechanism": [DONUT, TURN], "sizes": [3], "seed": 4}
    study = make_study({"name": "t", "domain": "places", **given}, "the test", tmp_path)
    result = sweep(study, tmp_path / "out", workers=0)
    rows = {(row.spec, row.kind, row.measure, row.attacker): row for row in result.rows}
    near, far = "donut(low=5.0, high=20.0, by='area')", "donut(low=5.0, high=400.0, by='area')"
    assert rows[near, "utility", STRUCTURE, ""].score > rows[far, "utility", STRUCTURE, ""].score
    strong, weak = (rows[spec, "risk", "lazy", "bayes"] for spec in (near, far))
    assert strong.score > weak.score
    turned = "rotate(degrees=30.0, about='centroid')"
    assert rows[turned, "risk", "lazy", "align"].score == 1
    assert (turned, "risk", "lazy", "bayes") not in rows
    assert any("no closed-form density" in note for note in result.notes)
    part = rows[near, "similarity", "density", ""]
    assert part.n == 3  # over releases
    assert all(row.p_value is None for row in result.rows)  # one map is no sample of households


def test_the_report_draws_releases_that_the_figures_are_of(town: Path, tmp_path: Path) -> None:
    given = {"points": str(town), "mechanism": [DONUT]}
    experiment = opened(given, tmp_path)
    cell = experiment.cells()[0]
    draws = experiment.compute(cell.release, None).arrays["places"]
    again = experiment.release(str(cell.mechanism), 1, cell.release.key)
    assert np.array_equal(draws, again.xy)
    assert again.seeded
    result = sweep(experiment.study, tmp_path / "out", workers=0)
    maps = next(one for one in result.sections if one.identity == "maps")
    assert "".join(maps.content).count("<svg") == 2 * 3


def test_another_file_is_another_key(town: Path, tmp_path: Path) -> None:
    given = {"points": str(town), "mechanism": [DONUT]}
    keys = [step.key for step in opened(given, tmp_path).plain()]
    town.write_text(town.read_text().replace("\n", "\n1,2,3,4\n", 1))
    assert keys != [step.key for step in opened(given, tmp_path).plain()]


def test_the_plane_of_python(rng: Generator) -> None:
    people = Points(rng.normal(size=(60, 2)) * 400)
    specs = ["donut(low=100, high=900)", "donut(low=1, high=5)", "donut(low=10, high=200)"]
    result = plane(people, specs, people, "bayes", rng=3)
    assert [row.spec.partition(", by")[0] + ")" for row in result] == [
        "donut(low=100.0, high=900.0)", "donut(low=1.0, high=5.0)", "donut(low=10.0, high=200.0)",
    ]  # fmt: skip
    risks = [float(row.risk) for row in result.rows]
    assert risks[0] < risks[2] < risks[1]
    assert result.quipu > 0
    turned = plane(people, specs[::-1], people, "bayes", rng=3)
    assert turned.quipu > 0  # the order in which they are named does not turn the sign
    assert len(result) == 3
    assert result[1].utility > 0.95


def test_commands_lead_from_a_file_to_its_figures(town: Path, tmp_path: Path) -> None:
    out, spec = tmp_path / "masked.geojson", "donut(low=1, high=4)"
    told = run("protect", town, "-m", spec, "-o", out)
    assert "no formal guarantee" in told
    assert "time" not in out.read_text()
    result = run("attack", out, "--of", town, "--register", town, "-m", spec)
    assert "40 points, 40 addresses.\nidentified" in result
    share = float(result.split("within   1 guesses: ")[1].split()[0])
    assert share > 0.6
    assert "m from the truth" in result
    measured = run("measure", out, "--of", town, "--weights", "people", "--facilities", town)
    assert float(measured.split()[1]) > 0.9
    assert "95 % displacement" in measured
    assert "Knox pairs" in measured
    run("plot", out, "-o", tmp_path / "map.svg")
    assert "not for release" not in (tmp_path / "map.svg").read_text()
    run("plot", out, "-o", tmp_path / "both.svg", "--of", town)
    assert "not for release" in (tmp_path / "both.svg").read_text()
    assert (tmp_path / "both.svg").stat().st_mode & 0o077 == 0


def test_steps_of_a_trace_are_told(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace.csv", tmp_path / "masked.csv"
    rows = "".join(f"0,0,u{i % 2},{i}\n" for i in range(20))
    trace.write_text("x,y,user,time\n" + rows)
    told = run("protect", trace, "-m", "predictive(epsilon=1, threshold=900)", "-o", out)
    said = " ".join(told.split())
    assert (
        "Of 20 fixes, 2 were hard steps, which cost at most epsilon each, and 18 easy steps"
        in said
    )
    assert "hard steps" not in run("protect", trace, "-m", "laplace(epsilon=1)", "-o", out)


def test_whose_order_is_not_known_is_not_attacked(
    town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "masked.csv"
    run("protect", town, "-m", "donut(low=1, high=4)", "-o", out)
    monkeypatch.setenv("VEIL_DATA", str(tmp_path / "elsewhere"))
    result = CliRunner().invoke(
        veil, ["places", "attack", str(out), "--of", str(town), "-a", "nearest"]
    )
    assert isinstance(result.exception, InputError)
    assert "random order" in str(result.exception)
    measured = run("measure", town, out, "--facilities", town)
    assert "displacements are left out" in measured
    assert "mean displacement" not in measured
    assert "same facility" not in measured
    told = run("attack", out, "--of", town, "--register", town, "-a", "nearest",
               "--same-order")  # fmt: skip
    assert "identified" in told


def test_ids_that_are_kept_put_rows_together(tmp_path: Path, rng: Generator) -> None:
    xy = rng.normal(size=(20, 2)) * 1_000
    names = [f"h{i}" for i in range(20)]
    original = Points(xy, ids=np.array(names))
    order = rng.permutation(20)
    lines = [f"{xy[i, 0]:.17g},{xy[i, 1]:.17g},{names[i]}" for i in order.tolist()]
    path = tmp_path / "released.csv"
    path.write_text("x,y,id\n" + "\n".join(lines) + "\n")
    result = link_points(path, original, None)
    assert result is not None
    assert np.array_equal(result.xy, xy)


def test_links_are_row_numbers_for_their_owner(town: Path, tmp_path: Path) -> None:
    out = tmp_path / "masked.csv"
    run("protect", town, "-m", "donut(low=1, high=4)", "-o", out)
    kept = list(folder().iterdir())
    assert len(kept) == 1
    assert kept[0].stat().st_mode & 0o077 == 0
    assert sorted(np.load(kept[0]).tolist()) == list(range(40))
    kept[0].write_bytes(b"damaged")
    seen = CliRunner().invoke(veil, ["places", "attack", str(out), "--of", str(town)])
    assert isinstance(seen.exception, InputError)
    assert match_rows(np.zeros((2, 2)), np.ones((2, 2))) is None


def test_no_more_links_are_kept_than_needed(
    town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "FILES", 2)
    for number in range(3):
        run("protect", town, "-m", "disk(radius=4)", "-o", tmp_path / f"{number}.csv")
    assert len(list(folder().iterdir())) == 2
    monkeypatch.setattr(links, "MOST", 39)
    run("protect", town, "-m", "disk(radius=4)", "-o", tmp_path / "large.csv")
    assert len(list(folder().iterdir())) == 2


def test_other_coordinates_come_back_to_those_of_the_original(
    tmp_path: Path, rng: Generator
) -> None:
    town = tmp_path / "grid.csv"
    xy = rng.uniform(0, 900, (30, 2)) + np.array([530_000, 180_000])
    town.write_text("x,y\n" + "".join(f"{x:.3f},{y:.3f}\n" for x, y in xy.tolist()))
    out, grid = tmp_path / "masked.geojson", ("--crs", "EPSG:27700")
    run("protect", town, "-m", "disk(radius=3)", "-o", out, *grid)
    told = run("attack", out, "--of", town, "--register", town, "-a", "nearest", *grid)
    assert float(told.split("within   1 guesses: ")[1].split()[0]) > 0.8
    assert "mean displacement" in run("measure", town, out, *grid)
    result = CliRunner().invoke(veil, ["places", "attack", str(out), "--of", str(town)])
    assert "names no system" in str(result.exception)
    town.write_text("x,y\n1,2\n")
    result = CliRunner().invoke(veil, ["places", "attack", str(out), "--of", str(town)])
    assert "a plane in metres" in str(result.exception)


def test_protect_does_not_write_over_what_it_reads(town: Path) -> None:
    before = town.read_bytes()
    result = CliRunner().invoke(
        veil, ["places", "protect", str(town), "-m", "disk(radius=9)", "-o", str(town)]
    )
    assert isinstance(result.exception, InputError)
    assert town.read_bytes() == before


def test_a_register_lists_each_place_once(rng: Generator) -> None:
    result = distinct(Points(np.array([[1.0, 1.0], [0.0, 2.0], [1.0, 1.0]])))
    assert result.xy.tolist() == [[0.0, 2.0], [1.0, 1.0]]
    assert result.weights is not None
    assert result.weights.tolist() == [1, 2]
