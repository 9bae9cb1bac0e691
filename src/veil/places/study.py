"""Places as an experiment: releases of points, attacked by who has a register, and compared."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, cast

import numpy as np
from pydantic import Field

from veil.core.errors import LawError
from veil.core.guarantee import Guarantee
from veil.core.rng import stream
from veil.core.types import Floats
from veil.data.fetch import Report, no_progress
from veil.data.files import digest as file_digest
from veil.places.attack import HOUSEHOLD, attack, true_entries
from veil.places.attacks import ATTACKS
from veil.places.formats.files import load
from veil.places.links import ASSUMED, assumes_metres, distinct, open_like, rounding
from veil.places.measures import PARTS, parts_of
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import MECHANISMS
from veil.places.pictures import picture_sections
from veil.places.projection import Flat, surface
from veil.places.protect import protect
from veil.places.release import Release
from veil.studies.experiment import Axis, Cell, Experiment, Figure, Step, Vocabulary, step_key
from veil.studies.figures import ranked
from veil.studies.results import Results, Section
from veil.studies.store import Result
from veil.studies.study import Study

STRUCTURE = "structure kept"
_VERSION = 1  # of what the steps compute
_LAWFUL, _TURNED, _OTHER = ("bayes", "nearest"), ("align", "nearest"), ("nearest",)
_PATHS = ("points", "register", "population", "within")


with warnings.catch_warnings():  # every class has a 'register'; that of classes is not needed here
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


class Places(Experiment):
    """Points on a map: masked, attacked by who has a register, and compared with the true map."""

    words: ClassVar[Vocabulary] = Vocabulary(
        title="points on a map",
        subject=HOUSEHOLD,
        subjects="households",
        size="releases",
        plain="true places",
        utility=Axis(STRUCTURE, "mean of six comparisons of the released map with the true one"),
        better="the map shows more of what it showed",
    )
    keys = PlacesStudy
    mechanisms = MECHANISMS
    attackers = ATTACKS
    verbs: ClassVar[dict[str, str]] = {
        verb: f"veil.places.api:{verb}" for verb in ("protect", "attack", "measure", "plot")
    }
    source = "points"

    def __init__(self, study: PlacesStudy, report: Report = no_progress) -> None:
        del report  # nothing takes long here
        self.study = study
        crs = study.crs or None
        self.points = load(study.points, crs=crs)
        self.register = distinct(self.points)
        if study.register:
            self.register = open_like(
                Path(study.register), self.points, crs, study.weights or None
            )
        self.population = self.register
        if study.population:
            self.population = open_like(Path(study.population), self.points, crs)
        self.data, self.n = Path(study.points).stem, len(self.points)
        self._of = {
            key: file_digest(Path(getattr(study, key)), "sha256")
            for key in _PATHS
            if getattr(study, key)
        } | {"crs": study.crs, "weights": study.weights, "seed": str(study.seed)}

    @classmethod
    def settle(cls, study: PlacesStudy, name: str, folder: Path) -> PlacesStudy:
        """Make the paths absolute: workers may run elsewhere."""
        del name
        given = {key: getattr(study, key) for key in _PATHS}
        found = {key: str((folder / path).resolve()) for key, path in given.items() if path}
        return study.model_copy(update=found)

    def _step(self, kind: str, spec: str = "", size: int = 0, of: str = "", by: str = "") -> Step:
        """Name a step by all that changes its result."""
        made = {**self._of, "spec": spec, "size": size, "of": of, "by": by}
        return Step(kind, step_key(kind, _VERSION, made), spec, size, of, by, size)

    def plain(self) -> list[Step]:
        """Compare the true map with itself."""
        return [self._step("measure")]

    def cells(self) -> list[Cell]:
        """Return a release for each method and number of releases, compared and attacked."""
        found = []
        for size in self.study.sizes:
            for grid in self.study.mechanism:
                for method, value in grid.mechanisms(MECHANISMS):
                    spec, attackers = str(method), self.study.against(grid) or _usual(method)
                    release = self._step("mask", spec, size)
                    steps = [self._step("measure", spec, size, release.key)]
                    steps += [
                        self._step("attack", spec, size, release.key, by) for by in attackers
                    ]
                    found.append(Cell(method, grid.parameter, value, size, release, tuple(steps)))
        return found

    def release(self, spec: str, size: int, key: str) -> Release:
        """Return the releases of a step: the same whoever computes it, and when."""
        return protect(
            self.points,
            spec,
            size=size,
            within=self.study.within or None,
            population=self.population,
            rng=stream(self.study.seed, int(key[:16], 16)),
        )

    def compute(self, step: Step, of: Result | None) -> Result:
        """Draw from a stream of the step's own; compare and attack what was drawn."""
        if step.kind == "mask":
            return Result({"places": self.release(step.spec, step.size, step.key).xy})
        places = self.points.xy[None] if of is None else of.arrays["places"]
        if step.kind == "measure":
            flat = Flat.around(self.points.xy, self.points.crs)
            true = flat.metres(self.points.xy)
            found = [parts_of(true, flat.metres(one)) for one in places]
            return Result({part: np.array([one[part] for one in found]) for part in PARTS})
        return self._attacked(step, places)

    def _attacked(self, step: Step, places: Floats) -> Result:
        """Attack with knowledge of the method, where it has a law."""
        method = MECHANISMS.parse(step.spec)
        law = method if method.lawful or step.by.startswith("bayes") else None
        try:
            found = attack(
                places, self.points, self.register, step.by, law, population=self.population,
                same=rounding(self.points),
            )  # fmt: skip
        except LawError as error:
            return Result(data={"gap": str(error)})
        return Result.of(found)

    def figures(self, cell: Cell | None, step: Step, found: Result) -> Iterator[Figure]:
        """Yield the utility and its parts, and the risks that follow from ranks."""
        if "gap" in found.data:
            return
        if step.kind == "attack":
            yield from ranked(found.outcome(), step.by, self.words)
        elif step.kind == "measure":
            score = float(np.mean([found.arrays[part].mean() for part in PARTS]))
            # One figure of the whole map: the same for every household. A task of its own keeps
            # the true map from being compared with it household by household.
            task = "" if cell is None else "map"
            yield Figure("utility", STRUCTURE, np.full(self.n, score), task=task)
            for part in PARTS:
                yield Figure("similarity", part, found.arrays[part])

    def cost(self, cell: Cell, made: Result) -> Guarantee:
        """Return what all releases of one household cost; of a trace, of the longest."""
        del made
        users = self.points.users
        fixes = 1 if users is None else int(np.unique(users, return_counts=True)[1].max())
        promise = cast(Mechanism, cell.mechanism).promise(surface(self.points.crs))
        return promise.compose(cell.size * fixes, self.words.subject)

    def facts(self) -> Sequence[tuple[str, str]]:
        """Say how much there is."""
        return [
            ("points", f"{self.n:,}"),
            ("addresses of the register", f"{len(self.register):,}"),
            ("points that it does not list, counted as not found", self._absent()),
            ("coordinates", self.points.crs or "a plane in metres"),
        ]

    def _absent(self) -> str:
        """Count the points that nobody can find in the register."""
        on = surface(self.points.crs)
        entries = true_entries(self.points, self.register, on, rounding(self.points))
        return f"{int((entries[:, 0] < 0).sum()):,}"

    def notes(self) -> Sequence[str]:
        """Say what the figures are not."""
        assumed = assumes_metres(self.study.points, self.points, self.study.crs or None)
        return [
            *([f"{ASSUMED} (crs)."] if assumed else []),
            "Utility is one figure of a whole map: its interval in the planes is no interval over"
            " households. Those of its parts are over releases, and say nothing of one release.",
            "Attackers know the method and its parameters, where it has a law in closed form.",
        ]

    def sections(self, results: Results) -> Sequence[Section]:
        """Draw releases: the map, the density before and after, and where points went."""
        del results
        return picture_sections(self.points, self.cells(), self.release)


def _usual(method: Mechanism) -> tuple[str, ...]:
    """Return who attacks unless the study says so: whoever knows most of how it works."""
    if method.lawful:
        return _LAWFUL
    return _OTHER if method.random else _TURNED
