"""Ratings as an experiment: protected, attacked and evaluated."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError, LawError
from veil.core.estimate import Estimate, stand_in
from veil.core.guarantee import Guarantee
from veil.core.outcome import Outcome
from veil.core.rng import stream
from veil.core.types import Floats, Ids
from veil.data.fetch import Report
from veil.measures.bounds import excess_bound
from veil.ratings.attack import attack, unprotected_release
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
from veil.studies.experiment import Axis, Cell, Experiment, Figure, Step, Vocabulary
from veil.studies.results import PLAIN, Results, Section
from veil.studies.store import Result
from veil.studies.study import Specs, Study


class RatingsStudy(Study):
    """The keys of a study of ratings."""

    train: Annotated[str, Field(description="file of the ratings to protect")]
    test: Annotated[str, Field(description="file of held-out ratings; else a fifth of train")] = ""
    scale: Annotated[
        tuple[float, ...],
        Field(strict=False, max_length=2, description="lowest and highest rating"),
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


@dataclass(frozen=True, eq=False)
class RatingsMaterial:
    """Ratings to protect, held-out ones of the same users, and what is learnt of a release."""

    name: str
    train: Ratings
    test: Ratings
    recommender: Recommender


WORTH, ABOVE = "recommendation", "success"
_PROFILES, _MODELS = ("scoreboard(known=8)",), ("membership",)  # who attacks unless told
_SAME = ("identify", "attack")  # whose targets are the same at every point
_VERBS = "describe split fit recommend evaluate protect attack"
_PROGRAMS = "serve join"


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
        **{verb: f"veil.ratings.api:{verb}" for verb in _VERBS.split()},
        **{verb: f"veil.cli.federated:{verb}" for verb in _PROGRAMS.split()},
    }
    source = ("train", "test")

    domain = "ratings"
    version = 3
    paths = ("train", "test", "items", "people")
    digested = ("train", "test", "people")
    unkeyed = ("title",)
    single = "each release is attacked by itself"
    attacks_plain = True
    report_only = ("identify",)

    @classmethod
    def read(cls, study: RatingsStudy, report: Report) -> RatingsMaterial:
        """Read both parts of the ratings."""
        del report  # nothing takes long here
        check_utility(study.utility)
        learner = recommender(study.recommender)
        name = Path(study.train).name.partition(".")[0]
        return RatingsMaterial(name, *parts_of(study), learner)

    def use(self, material: RatingsMaterial) -> None:
        """Keep the ratings."""
        self.train, self.test = material.train, material.test
        self.recommender = material.recommender
        self.positive = positive_of(self.train, self.study.positive)
        self.data, self.n = material.name, self.train.n
        self._shown: dict[str, Shown] = {}

    @classmethod
    def settle(cls, study: RatingsStudy, name: str, folder: Path) -> RatingsStudy:
        """Make the paths absolute, and check the recommender."""
        recommender(study.recommender)
        settled: RatingsStudy = super().settle(study, name, folder)
        return settled

    @cached_property
    def _order(self) -> Ids:
        """A place for each user that only who has the ratings can undo, for what is kept."""
        key = str(self.inputs.get("train") or self.inputs["material"])
        return stream(int(key[:15], 16), 0).permutation(self.n)

    def comparisons(self, mechanism: Mechanism | Recommender | None) -> list[tuple[str, str]]:
        """Measure a release, and look for users in those that have profiles."""
        steps = [("measure", "")]
        return steps if isinstance(mechanism, Recommender) else [*steps, ("identify", "")]

    @classmethod
    def usual_attackers(cls, mechanism: Mechanism | Recommender | None) -> tuple[str, ...]:
        """Return who attacks profiles, or models."""
        return _MODELS if isinstance(mechanism, Recommender) else _PROFILES

    def release(self, spec: str) -> Release:
        """Return the release of a spec: the same whoever makes it, and when."""
        if not spec:
            return unprotected_release(self.train)
        step, mechanism = self.step(self.release_kind, spec, 1), self.mechanisms.parse(spec)
        return self.remembered(
            step.key, lambda: protect(self.train, mechanism, rng=self.draws(step))
        )

    def compute(self, step: Step, of: Result | None) -> Result:
        """Protect, measure or attack; which profile is whose is never kept."""
        if of is not None and "refused" in of.data:
            return Result(data={"gap": of.data["refused"]})
        rng = self.draws(step)
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

    def draws(self, step: Step) -> np.random.Generator:
        """Return the generator of a step: an attacker looks for the same users in all releases.

        Scores of curves are means over users who are known at every point.
        """
        return super().draws(self.step(step.kind, by=step.by) if step.kind in _SAME else step)

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
        assert self.attackers is not None  # noqa: S101 - ratings have attackers
        by = self.attackers.parse(step.by)
        target: Release | Mechanism | Recommender = self.release(step.spec)
        if by.fits:
            target = self.mechanisms.parse(step.spec) if step.spec else self.recommender
        people = self.study.people or None
        found = attack(target, self.train, by, rng, positive=self.positive, people=people)
        values, users = by_user(found, self.n, rng)
        risk = found.risk
        details: dict[str, Any] = {"base": found.baseline, "upper": most(found)}
        if found.gains is None:
            details |= {"mean": [float(risk), risk.low, risk.high], "cases": risk.n}
        return Result({"risks": values, "users": self._order[users]}, details)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield what recommendations are worth, and how far an attacker is above chance."""
        if "gap" in result.data or step.kind == "protect":
            return
        shown = self._shown.setdefault(PLAIN if cell is None else step.spec, Shown())
        task = "" if cell is None else self.recommender.name
        if step.kind == "measure":
            shown.lists = result.arrays["lists"]
            yield Figure("utility", WORTH, result.arrays["values"], task=task)
        elif step.kind == "identify":
            shown.shares = result.arrays["shares"]
        elif step.kind == "attack":
            risks = result.arrays["risks"]
            task = self.recommender.name if cell is None else ""
            mean = None
            if "mean" in result.data:
                value, low, high = result.data["mean"]
                mean = Estimate(value, low, high, int(result.data["cases"]))
            yield Figure(
                "risk", ABOVE, risks, result.arrays["users"], step.by, task, chance=0.0, mean=mean,
                upper=result.data["upper"],
            )  # fmt: skip

    def claim(self, cell: Cell, release: Result) -> Guarantee:
        """Return what is proved of the release that was made."""
        del cell
        return Guarantee(**release.data["claim"]) if "claim" in release.data else NOTHING

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
    if found.gains is None:
        return stand_in(found.risk, n, rng), np.arange(n)
    return found.gains, found.subjects


def most(found: Outcome) -> float:
    """Return what the risk is at most, with 97.5 % confidence."""
    if found.upper is not None:
        return found.upper
    hits = found.per_record
    if len(found.subjects):  # what is guessed of one user is not independent
        _, owner = np.unique(found.subjects, return_inverse=True)
        hits = np.bincount(owner, hits) / np.bincount(owner)
    return excess_bound(hits, found.baseline or 0.0)
