"""Experiments with places: mask points, attack with a register, and compare the maps."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, cast

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.errors import LawError
from veil.core.estimate import bootstrap, exactly
from veil.core.guarantee import Guarantee
from veil.core.rng import stream
from veil.core.types import Floats
from veil.data.fetch import Report
from veil.places.attack import HOUSEHOLD, attack, true_entries
from veil.places.attacks import ATTACKS
from veil.places.formats.files import load
from veil.places.links import ASSUMED, assumes_metres, distinct, open_like, rounding
from veil.places.measures import PARTS, parts_of
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import MECHANISMS
from veil.places.pictures import picture_sections
from veil.places.points import Points
from veil.places.projection import Flat, surface
from veil.places.protect import protect
from veil.places.release import Release
from veil.studies.experiment import Axis, Cell, Experiment, Figure, Step, Vocabulary
from veil.studies.figures import ranked
from veil.studies.results import Results, Section
from veil.studies.store import Result
from veil.studies.study import Study

STRUCTURE = "structure kept"


with warnings.catch_warnings():  # the field 'register' shadows a method that is not needed here
    warnings.simplefilter("ignore", UserWarning)

    class PlacesStudy(Study):
        """The keys of a study of places."""

        points: Annotated[str, Field(description="file of the points")]
        register: Annotated[
            str, Field(description="file of addresses that attackers guess from")
        ] = ""
        population: Annotated[
            str, Field(description="file of people, for methods that need it")
        ] = ""
        within: Annotated[str, Field(description="GeoJSON of the region to stay in")] = ""
        crs: Annotated[str, Field(description="coordinates of all files; none is a plane")] = ""
        weights: Annotated[str, Field(description="column of the register: people")] = ""


@dataclass(frozen=True, eq=False)
class PlacesMaterial:
    """Points, the attackers' register, and the population of mechanisms.

    `guesses` is the attackers' number of guesses if it is neither 1 nor 10.
    """

    name: str
    points: Points
    register: Points
    population: Points
    guesses: int | None = None


class Places(Experiment):
    """Points on a map: mask them, attack with a register, and compare with the true map."""

    words: ClassVar[Vocabulary] = Vocabulary(
        title="points on a map",
        subject=HOUSEHOLD,
        subjects="households",
        size="releases",
        plain="true places",
        utility=Axis(STRUCTURE, "mean of six comparisons of the released map with the true one"),
        better="the map stays closer to the true one",
    )
    keys = PlacesStudy
    mechanisms = MECHANISMS
    attackers = ATTACKS
    verbs: ClassVar[dict[str, str]] = {
        verb: f"veil.places.api:{verb}" for verb in ("protect", "attack", "measure", "plot")
    }
    source = "points"

    domain = "places"
    paths = ("points", "register", "population", "within")
    release_kind = "mask"

    @classmethod
    @override
    def read(cls, study: PlacesStudy, report: Report) -> PlacesMaterial:
        del report  # reading is fast
        crs = study.crs or None
        points = load(study.points, crs=crs)
        register = distinct(points)
        if study.register:
            register = open_like(Path(study.register), points, crs, study.weights or None)
        population = register
        if study.population:
            population = open_like(Path(study.population), points, crs)
        return PlacesMaterial(Path(study.points).stem, points, register, population)

    @override
    def use(self, material: PlacesMaterial) -> None:
        self.points, self.register = material.points, material.register
        self.population, self.guesses = material.population, material.guesses
        self.data, self.n = material.name, len(self.points)

    @classmethod
    @override
    def usual_attackers(cls, mechanism: Mechanism) -> tuple[str, ...]:
        if mechanism.lawful:
            return ("bayes", "nearest")
        return ("nearest",) if mechanism.random else ("align", "nearest")

    def release(self, spec: str, size: int, key: str) -> Release:
        """Return the releases of a step, which depend only on the seed and the key."""
        return protect(
            self.points,
            self.mechanisms.parse(spec),
            size=size,
            within=self.study.within or None,
            population=self.population,
            rng=stream(self.study.seed, int(key[:16], 16)),
        )

    def compute(self, step: Step, of: Result | None) -> Result:
        """Return the result of a step: the releases, their measures, or an attack."""
        if step.kind == "mask":
            return Result({"places": self.release(step.spec, step.size, step.key).xy})
        places = self.points.xy[None] if of is None else of.arrays["places"]
        if step.kind == "measure":
            flat = Flat.around(self.points.xy, self.points.crs)
            true = flat.metres(self.points.xy)
            rows = [parts_of(true, flat.metres(release)) for release in places]
            return Result({part: np.array([row[part] for row in rows]) for part in PARTS})
        return self._attacked(step, places)

    def _attacked(self, step: Step, places: Floats) -> Result:
        """Attack with knowledge of the mechanism, if it has a density."""
        assert self.attackers is not None  # noqa: S101 - places have attackers
        method, by = self.mechanisms.parse(step.spec), self.attackers.parse(step.by)
        law = method if method.lawful or by.name == "bayes" else None
        try:
            outcome = attack(
                places, self.points, self.register, by, law, population=self.population,
                same=rounding(self.points),
            )  # fmt: skip
        except LawError as error:
            return Result(data={"gap": str(error)})
        return Result.of(outcome)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the utility and its parts, and the risks that follow from ranks."""
        if "gap" in result.data:
            return
        if step.kind == "attack":
            outcome = result.outcome()
            yield from ranked(outcome, step.by, self.words)
            if self.guesses is not None:
                guesses = np.minimum(self.guesses, outcome.candidates)
                ties = 1 if outcome.ties is None else outcome.ties
                hits = np.clip((guesses - outcome.ranks + 1) / ties, 0.0, 1.0)
                yield Figure("risk", within(self.guesses), hits, by=step.by)
        elif step.kind == "measure":
            releases = np.mean([result.arrays[part] for part in PARTS], axis=0)
            score = float(np.mean([result.arrays[part].mean() for part in PARTS]))
            # The whole map has one figure, the same for every household, with an interval over
            # releases. A separate task prevents paired comparisons by household.
            task = "" if cell is None else "map"
            mean = bootstrap(releases) if len(releases) > 1 else exactly(score, self.n)
            yield Figure("utility", STRUCTURE, np.full(self.n, score), task=task, mean=mean)
            for part in PARTS:
                yield Figure("similarity", part, result.arrays[part])

    def cost(self, cell: Cell, release: Result) -> Guarantee:
        """Return the cost of all releases of a household, for traces of the longest one."""
        del release
        users = self.points.users
        fixes = 1 if users is None else int(np.unique(users, return_counts=True)[1].max())
        promise = cast(Mechanism, cell.mechanism).promise(surface(self.points.crs))
        return promise.compose(cell.size * fixes, self.words.subject)

    @override
    def facts(self) -> Sequence[tuple[str, str]]:
        return [
            ("points", f"{self.n:,}"),
            ("addresses of the register", f"{len(self.register):,}"),
            ("points that it does not list, counted as not found", self._absent()),
            ("coordinates", self.points.crs or "a plane in metres"),
        ]

    def _absent(self) -> str:
        """Return the number of points that are not in the register."""
        on = surface(self.points.crs)
        entries = true_entries(self.points, self.register, on, rounding(self.points))
        return f"{int((entries[:, 0] < 0).sum()):,}"

    @override
    def notes(self) -> Sequence[str]:
        assumed = assumes_metres(self.study.points, self.points, self.study.crs or None)
        return [
            *([f"{ASSUMED} (crs)."] if assumed else []),
            "Utility is one figure for a whole map. Its interval, and those of its parts, are over"
            " releases, not over households; a single release has no interval.",
            "Attackers know the mechanism and its parameters, if it has a closed-form density.",
        ]

    def sections(self, results: Results) -> Sequence[Section]:
        """Return pictures of releases: map, density before and after, and displacements."""
        del results
        return picture_sections(self.points, self.cells(), self.release)


def within(guesses: int) -> str:
    """Return the name of the measure for a number of guesses."""
    return {1: "lazy", 10: "active"}.get(guesses, f"found within {guesses} guesses")
