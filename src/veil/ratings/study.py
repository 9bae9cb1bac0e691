"""Ratings as an experiment: protected, attacked and evaluated."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError, LawError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import stream
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.data.files import digest as file_digest
from veil.measures.bounds import excess_bound
from veil.measures.estimate import Estimate, above_chance, stand_in
from veil.ratings.attack import attack, unprotected_release
from veil.ratings.attacker import Outcome
from veil.ratings.attacks import ATTACKS
from veil.ratings.evaluate import check_utility, fit_release, utility
from veil.ratings.mechanism import Mechanism
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.pictures import KNOWN, Shown, example_users, favourites, picture_sections
from veil.ratings.protect import protect
from veil.ratings.ratings import Ratings
from veil.ratings.reader import load, titles_of
from veil.ratings.recommender import NOTHING, Recommender, positive_of
from veil.ratings.recommenders import recommender
from veil.ratings.release import Release
from veil.ratings.split import align, split
from veil.studies.experiment import Axis, Cell, Experiment, Figure, Step, Vocabulary, step_key
from veil.studies.results import PLAIN, Results, Section
from veil.studies.store import Result
from veil.studies.study import Grid, Specs, Study

PATHS = ("train", "test", "items", "people")


class RatingsStudy(Study):
    """The keys of a study of ratings."""

    train: Annotated[str, Field(description="file of the ratings to protect")]
    test: Annotated[str, Field(description="file of held-out ratings; else a fifth of train")] = ""
    scale: Annotated[
        tuple[float, ...], Field(strict=False, description="lowest and highest rating")
    ] = ()
    columns: Annotated[
        Specs, Field(strict=False, description="columns: user, item, rating and perhaps time")
    ] = ()
    positive: Annotated[
        float | None, Field(description="from which rating on an item is liked; else 3/4 up")
    ] = None
    recommender: Annotated[str, Field(description="what is learnt of a release")] = "itemknn(k=20)"
    utility: Annotated[str, Field(description="rmse, or a measure of lists from 0 to 1")] = "ndcg"
    depth: Annotated[int, Field(ge=1, le=1000, description="length of a list")] = 10
    items: Annotated[str, Field(description="table of items, with titles for the report")] = ""
    title: Annotated[str, Field(description="its column of titles")] = "title"
    people: Annotated[str, Field(description="table of users, for attackers of attributes")] = ""


def parts_of(study: RatingsStudy) -> tuple[Ratings, Ratings]:
    """Read train and test, on the same users and items."""
    if len(study.scale) not in (0, 2):
        raise InputError("The 'scale' of a study has a lowest and a highest rating.")
    scale = (study.scale[0], study.scale[1]) if study.scale else None
    columns = study.columns or None
    whole = load(study.train, scale, columns)
    if not study.test:
        return split(whole)
    return align(whole, load(study.test, whole.scale if scale is None else scale, columns))


def made_from(study: RatingsStudy) -> dict[str, object]:
    """Return all of a study that changes results: the contents of files, and not their names."""
    own = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in study
        if key not in Study.model_fields and key not in (*PATHS, "title")
    }
    files = {}
    for key in ("train", "test", "people"):
        if given := getattr(study, key):
            if not Path(given).is_file():
                raise InputError(f"There is no file {given}.")
            files[key] = file_digest(Path(given), "sha256")
    return {**own, **files, "seed": str(study.seed)}


WORTH, ABOVE = "recommendation", "success"
_VERSION = 3  # of what the steps compute
_PROFILES, _MODELS = ("scoreboard(known=8)",), ("membership",)  # who attacks unless told
_SAME = ("identify", "attack")  # whose targets are the same at every point
_REMEMBERED = 2  # releases that a process keeps: several steps work on each
_COMMANDS = "describe split fit recommend evaluate protect attack plane serve join"


class RatingsExperiment(Experiment):
    """Ratings of items by users: protected, attacked by who knows a few, and recommended from.

    Each release is attacked by itself: who publishes several of the same users gives away more.
    """

    words: ClassVar[Vocabulary] = Vocabulary(
        title="ratings and recommendations",
        subject="user",
        subjects="users",
        size="releases",
        plain="the ratings themselves",
        utility=Axis(WORTH, "how good lists, or predictions, are that are learnt of a release"),
        risks=(Axis(ABOVE, "how often the attacker is right, above who sees nothing"),),
        better="recommendations are better",
    )
    keys = RatingsStudy
    mechanisms = MECHANISMS
    attackers = ATTACKS
    verbs: ClassVar[dict[str, str]] = {
        verb: f"veil.cli.ratings.{verb}:{verb}" for verb in _COMMANDS.split()
    }
    source = "train"

    def __init__(self, study: RatingsStudy, report: Report = no_progress) -> None:
        del report  # nothing takes long here
        self.study: RatingsStudy = study
        if study.sizes != (1,):
            raise ParameterError(
                "The 'sizes' of a study of ratings must be [1]: each release is attacked by"
                " itself."
            )
        self.recommender = recommender(study.recommender)
        check_utility(study.utility)
        self.train, self.test = parts_of(study)
        self.positive = positive_of(self.train, study.positive)
        self.data, self.n = Path(study.train).name.partition(".")[0], self.train.n
        self._of = made_from(study)
        self._released: dict[str, Release] = {}
        self._shown: dict[str, Shown] = {}

    @classmethod
    def settle(cls, study: RatingsStudy, name: str, folder: Path) -> RatingsStudy:
        """Make the paths absolute: workers may run elsewhere."""
        del name
        recommender(study.recommender)
        given = {key: getattr(study, key) for key in PATHS}
        found = {key: str((folder / path).resolve()) for key, path in given.items() if path}
        return study.model_copy(update=found)

    @cached_property
    def _order(self) -> Ids:
        """A place for each user that only who has the ratings can undo, for what is kept."""
        return stream(int(str(self._of["train"])[:15], 16), 0).permutation(self.n)

    def _step(self, kind: str, spec: str = "", of: str = "", by: str = "") -> Step:
        """Name a step by all that changes its result."""
        made = {**self._of, "spec": spec, "of": of, "by": by}
        size = 1 if spec else 0
        return Step(kind, step_key(kind, _VERSION, made), spec, size, of, by, size)

    def plain(self) -> list[Step]:
        """Recommend from the ratings themselves, and attack them as they are."""
        attackers = self.study.all_attackers or _PROFILES
        steps = [self._step("measure"), self._step("identify")]
        return steps + [self._step("attack", by=by) for by in attackers]

    def cells(self) -> list[Cell]:
        """Return a release for each configuration, measured and attacked."""
        return [
            self._cell(grid, made, value)
            for grid in self.study.mechanism
            for made, value in grid.mechanisms(MECHANISMS)
        ]

    def _cell(self, grid: Grid, made: Mechanism | Recommender, value: float) -> Cell:
        spec, profiles = str(made), isinstance(made, Mechanism)
        attackers = self.study.against(grid) or (_PROFILES if profiles else _MODELS)
        release = self._step("protect", spec)
        steps = [self._step("measure", spec, release.key)]
        steps += [self._step("identify", spec, release.key)] if profiles else []
        steps += [self._step("attack", spec, release.key, by) for by in attackers]
        return Cell(made, grid.parameter, value, 1, release, tuple(steps))

    def release(self, spec: str) -> Release:
        """Return the release of a spec: the same whoever makes it, and when."""
        if not spec:
            return unprotected_release(self.train)
        key = self._step("protect", spec).key
        if key not in self._released:
            made = protect(self.train, spec, rng=stream(self.study.seed, int(key[:15], 16)))
            for old in list(self._released)[: 1 - _REMEMBERED]:
                del self._released[old]
            self._released[key] = made
        return self._released[key]

    def compute(self, step: Step, of: Result | None) -> Result:
        """Protect, measure or attack; which profile is whose is never kept."""
        if of is not None and "refused" in of.data:
            return Result(data={"gap": of.data["refused"]})
        rng = self._draws(step)
        if step.kind == "protect":
            return self._protected(step.spec)
        if step.kind == "measure":
            try:
                return self._measured(step.spec, rng)
            except InputError as error:  # nothing can be learnt of that release
                return Result(data={"gap": str(error)})
        if step.kind == "identify":
            return self._identified(step.spec, rng)
        try:
            return self._attacked(step, rng)
        except (InputError, LawError) as error:  # it cannot be used against that release
            return Result(data={"gap": str(error)})

    def _draws(self, step: Step) -> np.random.Generator:
        """Return what a step draws from: an attacker looks for the same users in all releases.

        Scores of curves are made of users who are known at every point.
        """
        drawn = self._step(step.kind, by=step.by) if step.kind in _SAME else step
        return stream(self.study.seed, int(drawn.key[:15], 16))

    def _protected(self, spec: str) -> Result:
        try:
            return Result(data={"claim": asdict(self.release(spec).cost)})
        except InputError as error:  # it cannot be done with these ratings; others can
            return Result(data={"refused": str(error)})

    def _measured(self, spec: str, rng: np.random.Generator) -> Result:
        model = fit_release(self.release(spec), self.train, self.recommender, self.positive, rng)
        depth = min(self.study.depth, self.train.m)
        worth = utility(model, self.test, self.study.utility, depth)
        values = np.full(self.n, float(worth.score))
        if worth.values is not None:
            values[:] = np.nan
            values[self._order[worth.users]] = worth.values
        lists = model.lists(self.examples_of, depth).index
        return Result({"values": values, "lists": lists})

    @cached_property
    def examples_of(self) -> Ids:
        """Users whose lists are shown, by position."""
        return example_users(self.train, self.test, self.positive)

    def _identified(self, spec: str, rng: np.random.Generator) -> Result:
        """Look for users of whom 1, 2, 4 and 8 items are known."""
        shares = []
        for known in KNOWN:
            able = bool((self.train.per_user >= known).any())
            by = f"scoreboard(known={known})"
            found = attack(self.release(spec), self.train, by, rng) if able else None
            shares.append(np.nan if found is None else float(found.success))
        return Result({"shares": np.array(shares)})

    def _attacked(self, step: Step, rng: np.random.Generator) -> Result:
        by = ATTACKS.parse(step.by)
        target: Release | str = self.release(step.spec)
        if by.fits:
            target = step.spec or self.study.recommender
        people = self.study.people or None
        found = attack(target, self.train, by, rng, positive=self.positive, people=people)
        values, users = by_user(found, self.n, rng)
        risk = found.risk
        details: dict[str, Any] = {"base": found.baseline, "upper": most(found)}
        if found.subjects is None:
            details |= {"mean": [float(risk), risk.low, risk.high], "cases": risk.n}
        return Result({"risks": values, "users": self._order[users]}, details)

    def figures(self, cell: Cell | None, step: Step, found: Result) -> Iterator[Figure]:
        """Yield what recommendations are worth, and how far an attacker is above chance."""
        if "gap" in found.data or step.kind == "protect":
            return
        shown = self._shown.setdefault(PLAIN if cell is None else step.spec, Shown())
        task = "" if cell is None else self.recommender.name
        if step.kind == "measure":
            shown.lists = found.arrays["lists"]
            yield Figure("utility", WORTH, found.arrays["values"], task=task)
        elif step.kind == "identify":
            shown.shares = found.arrays["shares"]
        elif step.kind == "attack":
            risks = found.arrays["risks"]
            task = self.recommender.name if cell is None else ""
            mean = None
            if "mean" in found.data:
                value, low, high = found.data["mean"]
                mean = Estimate(value, low, high, int(found.data["cases"]))
            yield Figure(
                "risk", ABOVE, risks, found.arrays["users"], step.by, task, chance=0.0, mean=mean,
                upper=found.data["upper"],
            )  # fmt: skip

    def claim(self, cell: Cell, made: Result) -> Guarantee:
        """Return what is proved of the release that was made."""
        del cell
        return Guarantee(**made.data["claim"]) if "claim" in made.data else NOTHING

    def facts(self) -> Sequence[tuple[str, str]]:
        """Say how much there is, and what is learnt."""
        low, high = self.train.scale
        return [
            ("users", f"{self.n:,}"),
            ("items", f"{self.train.m:,}"),
            ("ratings to protect", f"{len(self.train):,}"),
            ("held-out ratings", f"{len(self.test):,}"),
            ("scale", f"{low:g} to {high:g}{'' if self.train.declared else ', as observed'}"),
            ("liked from", f"{self.positive:g}"),
            ("learnt of a release", self.recommender.brief),
            ("utility", "1 - RMSE / RMSE of the mean" if self.study.utility == "rmse"
             else f"{self.study.utility.replace('ndcg', 'nDCG')}@{self.study.depth}"),
        ]  # fmt: skip

    def notes(self) -> Sequence[str]:
        """Say what the figures are not."""
        return [
            "Risk is success above that of who sees nothing: (success - baseline)/(1 - baseline).",
            "Attackers of membership, of lists and of updates make the release themselves, of a"
            " part of the users: their risk is one figure, and its interval in the planes is no"
            " interval over users.",
            "Each release is attacked by itself. Who publishes several of the same users gives"
            " away more.",
        ]

    def sections(self, results: Results) -> Sequence[Section]:
        """Show lists before and after, and how many users could be found."""
        titles = titles_of(self.study.items, self.study.title, self.train)
        people = [favourites(self.train, user, self.positive) for user in self.examples_of]
        rows = [self.test.rows(int(user)) for user in self.examples_of]
        wanted = [
            frozenset(self.test.item[one][self.test.value[one] >= self.positive].tolist())
            for one in rows
        ]
        return picture_sections(self._shown, results, titles, people, wanted)


def by_user(found: Outcome, n: int, rng: np.random.Generator) -> tuple[Floats, Ids]:
    """Return values (t,) whose mean, cut at 0, is the risk of an attack, and of whom they are.

    A user who is guessed less often than blindly has a negative value. Where success is not of
    single users, the values stand in for users who are not known: see `stand_in`.
    """
    if found.subjects is None:
        return stand_in(found.risk, n, rng), np.arange(n)
    return above_chance(found.hits, found.baseline), found.subjects


def most(found: Outcome) -> float:
    """Return what the risk is at most, with 97.5 % confidence."""
    if found.upper is not None:
        return found.upper
    hits = found.hits
    if found.subjects is not None:  # what is guessed of one user is not independent
        _, owner = np.unique(found.subjects, return_inverse=True)
        hits = np.bincount(owner, hits) / np.bincount(owner)
    return excess_bound(hits, found.baseline)
