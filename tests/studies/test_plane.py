"""One plane for all domains: the figures of a sweep, objects, intervals, and gaps."""

import html
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.random import Generator
from tests.ratings.taste import parts
from tests.ratings.taste import written as written_ratings
from tests.sensitive.attacks.rooms import letters, told
from tests.sensitive.test_study import written as written_letters
from tests.tables.people import QI
from tests.tables.people import written as written_table

from veil import dp, places, ratings, sensitive, studies, tables
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.data.fetch import no_progress
from veil.dp.study import Counts
from veil.measures.plane import Plane, PlanePoint, curves
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import mechanism
from veil.places.points import Points
from veil.places.projection import Surface
from veil.places.study import Places
from veil.ratings.study import RatingsExperiment
from veil.sensitive.study import Sensitive
from veil.studies.domains import domain, make_study
from veil.studies.experiment import Experiment
from veil.studies.results import Row
from veil.studies.study import Study
from veil.studies.sweep import sweep
from veil.tables.study import Tables

Writer = Callable[[Path], dict[str, Any]]


def of_points(folder: Path) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    lines = [f"{x!r},{y!r}" for x, y in rng.normal(500, 300, (40, 2)).tolist()]
    (folder / "town.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    donut = {"spec": "donut(low=5)", "parameter": "high", "values": [20.0, 400.0]}
    return {"domain": "places", "points": "town.csv", "mechanism": [donut], "attackers": "bayes"}


def of_a_table(folder: Path) -> dict[str, Any]:
    pram = {"spec": "pram", "parameter": "p", "values": [0.3, 0.9]}
    roles = {"identifiers": ["name"], "qi": QI, "confidential": ["illness", "wage"]}
    file = written_table(folder).name
    return {"domain": "tables", "table": file, **roles, "draws": 2, "mechanism": [pram]}


def of_ratings(folder: Path) -> dict[str, Any]:
    train, test = parts()
    files = {
        "train": str(written_ratings(folder, train, "train.csv")),
        "test": str(written_ratings(folder, test, "test.csv")),
    }
    krr = {"spec": "krr", "parameter": "epsilon", "values": [0.5, 8.0]}
    learner = {"recommender": "itemknn(k=8)", "scale": [1, 5]}
    return {"domain": "ratings", **files, **learner, "mechanism": [krr], "attackers": "scoreboard"}


def of_letters(folder: Path) -> dict[str, Any]:
    postfilter = {"spec": "postfilter", "parameter": "threshold", "values": [0.1, 0.5]}
    keys = {"collection": str(written_letters(folder)), "folds": 3, "attackers": "known-item"}
    return {"domain": "sensitive", **keys, "mechanism": [postfilter]}


def of_counts(folder: Path) -> dict[str, Any]:
    bits = np.random.default_rng(1).integers(0, 2, 40).tolist()
    (folder / "ward.csv").write_text("ill\n" + "\n".join(map(str, bits)) + "\n")
    geometric = {"spec": "geometric", "parameter": "epsilon", "values": [0.05, 8.0]}
    size = {"rows": 12, "groups": 4, "queries": 30, "attackers": "differencing"}
    return {
        "domain": "dp",
        "secret": "ward.csv",
        "column": "ill",
        **size,
        "mechanism": [geometric],
    }


WRITERS = [of_points, of_a_table, of_ratings, of_letters, of_counts]


def rows_of(rows: tuple[Row, ...], kind: str, measure: str, spec: str) -> list[Row]:
    return [row for row in rows if (row.kind, row.measure, row.spec) == (kind, measure, spec)]


@pytest.mark.parametrize("write", WRITERS)
def test_a_plane_has_the_figures_of_a_sweep(write: Writer, tmp_path: Path) -> None:
    study = make_study({"name": "t", "seed": 5, **write(tmp_path)}, "the test", tmp_path)
    results = sweep(study, tmp_path / "out", workers=0)
    experiment: Any = domain(study.domain)(study)
    mechanisms = [cell.mechanism for cell in experiment.cells()]
    plane = studies.plane(experiment, mechanisms, study.attackers)
    measure = experiment.plane_measure or experiment.words.risks[0].name
    assert len(plane) == 2
    for point in plane:
        (risk,) = rows_of(results.rows, "risk", measure, point.spec)
        (utility,) = rows_of(results.rows, "utility", experiment.words.utility.name, point.spec)
        for value, row in ((point.risk, risk), (point.utility, utility)):
            assert (float(value), value.low, value.high, value.n) == (
                row.score, row.low, row.high, row.n
            )  # fmt: skip
            assert value.low <= value <= value.high
    score = next(score for score in results.scores if score.measure == measure)
    if study.domain != "ratings":  # there a score is over the users with both a risk and a utility
        assert plane.quipu == pytest.approx(score.score)


@pytest.mark.parametrize("write", WRITERS)
def test_material_in_memory_gives_the_figures_of_its_files(write: Writer, tmp_path: Path) -> None:
    study = make_study({"name": "t", "seed": 5, **write(tmp_path)}, "the test", tmp_path)
    kind = domain(study.domain)
    opened: Any = kind(study)
    material = kind.read(study, no_progress)
    if isinstance(opened, Sensitive):  # the classifier is a step of a study
        classified = opened.compute(opened.step("classify"), None)
        material = replace(material, p=classified.arrays["p"])
    keys = {key: value for key, value in study if key not in Study.model_fields}
    memory = kind.of(material, 5, inputs=opened.inputs, **keys)
    mechanisms = [str(cell.mechanism) for cell in opened.cells()]
    files = studies.plane(opened, mechanisms, study.attackers)
    plane = studies.plane(memory, mechanisms, study.attackers)
    assert plane.utility == files.utility
    assert plane.risk == files.risk
    assert plane.quipu == files.quipu


def test_the_planes_of_all_domains_are_one_class_with_intervals(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    points = Points(rng.normal(size=(40, 2)) * 400)
    letter = letters()
    train, test = parts()
    table = tables.load({"age": rng.integers(20, 60, 80).tolist(), "ill": rng.integers(0, 3, 80)},
                        qi=["age"], confidential=["ill"])  # fmt: skip
    secret = rng.integers(0, 2, 30)
    planes = {
        "places": places.plane(points, ["donut(low=1, high=90)"], points, rng=1),
        "tables": tables.plane(table, ["mdav(k=4)"], rng=1),
        "ratings": ratings.plane(train, test, "krr", {"epsilon": [1.0]}, rng=1),
        "sensitive": sensitive.plane(letter, ["relevance()"], told(letter)),
        "dp": dp.plane("geometric", [1.0], "differencing", secret, rng=1),
    }
    for name, plane in planes.items():
        assert type(plane) is Plane, name
        for point in plane:
            assert type(point) is PlanePoint
            for value in (point.risk, point.utility):
                assert isinstance(value, Estimate)
                assert 0 <= value.low <= value <= value.high <= 1
            assert point.risk.low < point.risk.high or float(point.risk) in (0.0, 1.0)
            assert isinstance(point.cost, Guarantee)
            assert point.guarantee
        plane.to_html(tmp_path / f"{name}.html")
        page = (tmp_path / f"{name}.html").read_text()
        assert plane[0].spec in html.unescape(page)
        assert "nan" not in page
    assert planes["dp"][0].utility.low < planes["dp"][0].utility.high
    assert planes["dp"][0].cost.epsilon == planes["dp"][0].asked == 31


class Shift(Mechanism):
    """Moves every point a little; announced nowhere."""

    name: ClassVar[str] = "shift"
    metres: float = 10.0

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit="household")

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        del on, population
        return xy + rng.uniform(0, self.metres, xy.shape)


def test_objects_need_no_registration() -> None:
    points = Points(np.random.default_rng(2).normal(size=(40, 2)) * 400)
    plane = places.plane(points, [Shift(metres=3.0)], points, "nearest", rng=1)
    assert plane[0].spec == "shift(metres=3.0)"
    assert plane[0].risk > 0.9


def test_any_number_of_guesses() -> None:
    points = Points(np.random.default_rng(2).normal(size=(40, 2)) * 400)
    risks = [
        float(
            places.plane(points, ["donut(low=50, high=400)"], points, guesses=guesses, rng=1)[
                0
            ].risk
        )
        for guesses in (1, 3, 10, 40)
    ]
    assert risks == sorted(risks)
    assert risks[0] < risks[1] < risks[2]
    assert risks[3] == 1
    with pytest.raises(ParameterError, match="guesses"):
        places.plane(points, ["donut(low=50, high=400)"], points, guesses=0)


def test_what_cannot_be_measured_is_an_error() -> None:
    points = Points(np.random.default_rng(2).normal(size=(40, 2)) * 400)
    with pytest.raises(InputError, match="no closed-form density"):
        places.plane(points, ["rotate(degrees=30)"], points, "bayes")
    with pytest.raises(ParameterError, match="list of mechanisms"):
        places.plane(points, [], points)


def test_curves_go_from_the_most_private_to_the_most_useful() -> None:
    specs = ["laplace(epsilon=1)", "disk(radius=3)", "laplace(epsilon=0.1)", "disk(radius=30)"]
    assert curves([mechanism(spec) for spec in specs]) == {
        "laplace(epsilon)": [2, 0], "disk(radius)": [3, 1],
    }  # fmt: skip


def test_five_domains_share_one_base() -> None:
    for experiment in (Counts, Places, RatingsExperiment, Sensitive, Tables):
        assert issubclass(experiment, Experiment)
        assert "__init__" not in vars(experiment)
        assert "cells" not in vars(experiment)
        assert "plain" not in vars(experiment)
