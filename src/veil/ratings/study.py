"""Experiments on ratings: mechanisms, attacks and recommenders."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

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
    test: Annotated[
        str, Field(description="file of held-out ratings; by default a fifth of train")
    ] = ""
    scale: Annotated[
        tuple[float, ...],
        Field(strict=False, max_length=2, description="lowest and highest rating"),
    ] = ()
    columns: Annotated[
        Specs, Field(strict=False, description="columns: user, item, rating and perhaps time")
    ] = ()
    positive: Annotated[
        float | None,
        Field(description="lowest rating that counts as a like; by default 3/4 up the scale"),
    ] = None
    recommender: Annotated[str, Field(description="recommender trained on a release")] = (
        "itemknn(k=20)"
    )
    utility: Annotated[
        str, Field(description="rmse, or a measure of recommendation lists from 0 to 1")
    ] = "ndcg"
    depth: Annotated[int, Field(ge=1, le=1000, description="length of a list")] = 10
    items: Annotated[str, Field(description="table of items, with titles for the report")] = ""
    title: Annotated[str, Field(description="column of titles in that table")] = "title"
    people: Annotated[str, Field(description="table of users, for attacks on attributes")] = ""


def parts_of(study: RatingsStudy) -> tuple[Ratings, Ratings]:
    """Return train and test parts with the same users and items."""
    if len(study.scale) not in (0, 2):
        raise InputError("The 'scale' of a study must be a lowest and a highest rating.")
    scale = (study.scale[0], study.scale[1]) if study.scale else None
    columns = study.columns or None
    whole = load(study.train, scale, columns)
    if not study.test:
        return split(whole)
    return align(whole, load(study.test, whole.scale if scale is None else scale, columns))


@dataclass(frozen=True, eq=False)
class RatingsMaterial:
    """Ratings to protect, held-out ratings of the same users, and the recommender to evaluate."""

    name: str
    train: Ratings
    test: Ratings
    recommender: Recommender


WORTH, ABOVE = "recommendation", "success"
_PROFILES, _MODELS = ("scoreboard(known=8)",), ("membership",)  # default attacks
_SAME = ("identify", "attack")  # steps with the same targets at every point
_VERBS = "describe split fit recommend evaluate protect attack"
_PROGRAMS = "serve join"


class RatingsExperiment(Experiment):
    """Ratings of items by users: protect them, attack them, and recommend from them.

    Each release is attacked separately: several releases of the same users reveal more.
    """

    words: ClassVar[Vocabulary] = Vocabulary(
        title="ratings and recommendations",
        subject="user",
        subjects="users",
        size="releases",
        plain="the ratings themselves",
        utility=Axis(WORTH, "quality of lists or predictions from a release"),
        risks=(Axis(ABOVE, "success of the attacker above the baseline"),),
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
    single = "each release is attacked separately"
    attacks_plain = True
    report_only = ("identify",)

    @classmethod
    @override
    def read(cls, study: RatingsStudy, report: Report) -> RatingsMaterial:
        del report  # everything is fast here
        check_utility(study.utility)
        learner = recommender(study.recommender)
        name = Path(study.train).name.partition(".")[0]
        return RatingsMaterial(name, *parts_of(study), learner)

    @override
    def use(self, material: RatingsMaterial) -> None:
        self.train, self.test = material.train, material.test
        self.recommender = material.recommender
        self.positive = positive_of(self.train, self.study.positive)
        self.data, self.n = material.name, self.train.n
        self._shown: dict[str, Shown] = {}

    @classmethod
    @override
    def settle(cls, study: RatingsStudy, name: str, folder: Path) -> RatingsStudy:
        recommender(study.recommender)
        settled: RatingsStudy = super().settle(study, name, folder)
        return settled

    @cached_property
    def _order(self) -> Ids:
        """A secret permutation of the users, which hides them in stored results."""
        key = str(self.inputs.get("train") or self.inputs["material"])
        return stream(int(key[:15], 16), 0).permutation(self.n)

    @override
    def comparisons(self, mechanism: Mechanism | Recommender | None) -> list[tuple[str, str]]:
        steps = [("measure", "")]
        return steps if isinstance(mechanism, Recommender) else [*steps, ("identify", "")]

    @classmethod
    @override
    def usual_attackers(cls, mechanism: Mechanism | Recommender | None) -> tuple[str, ...]:
        return _MODELS if isinstance(mechanism, Recommender) else _PROFILES

    def release(self, spec: str) -> Release:
        """Return the release of a spec, which is deterministic."""
        if not spec:
            return unprotected_release(self.train)
        step, mechanism = self.step(self.release_kind, spec, 1), self.mechanisms.parse(spec)
        return self.remembered(
            step.key, lambda: protect(self.train, mechanism, rng=self.draws(step))
        )

    def compute(self, step: Step, of: Result | None) -> Result:
        """Return the result of a step; links between profiles and users are never stored."""
        if of is not None and "refused" in of.data:
            return Result(data={"gap": of.data["refused"]})
        rng = self.draws(step)
        if step.kind == "protect":
            return self._protected(step.spec)
        if step.kind == "measure":
            try:
                return self._measured(step.spec, rng)
            except InputError as error:  # no model can be trained on that release
                return Result(data={"gap": str(error)})
        if step.kind == "identify":
            return self._identified(step.spec, rng)
        try:
            return self._attacked(step, rng)
        except (InputError, LawError) as error:  # the attack does not apply to that release
            return Result(data={"gap": str(error)})

    def draws(self, step: Step) -> np.random.Generator:
        """Return the generator of a step: an attack has the same targets in all releases.

        Scores of curves are means over the users measured at every point.
        """
        return super().draws(self.step(step.kind, by=step.by) if step.kind in _SAME else step)

    def _protected(self, spec: str) -> Result:
        try:
            return Result(data={"claim": asdict(self.release(spec).cost)})
        except InputError as error:  # the mechanism does not apply to these ratings
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
        """Return the shares of users found with 1, 2, 4 and 8 known items."""
        shares = []
        for count in KNOWN:
            able = bool((self.train.per_user >= count).any())
            by = f"scoreboard(known={count})"
            outcome = attack(self.release(spec), self.train, by, rng) if able else None
            shares.append(np.nan if outcome is None else float(outcome.success))
        return Result({"shares": np.array(shares)})

    def _attacked(self, step: Step, rng: np.random.Generator) -> Result:
        assert self.attackers is not None  # noqa: S101 - ratings have attacks
        by = self.attackers.parse(step.by)
        target: Release | Mechanism | Recommender = self.release(step.spec)
        if by.fits:
            target = self.mechanisms.parse(step.spec) if step.spec else self.recommender
        people = self.study.people or None
        outcome = attack(target, self.train, by, rng, positive=self.positive, people=people)
        values, users = by_user(outcome, self.n, rng)
        risk = outcome.risk
        details: dict[str, Any] = {"base": outcome.baseline, "upper": most(outcome)}
        if outcome.gains is None:
            details |= {"mean": [float(risk), risk.low, risk.high], "cases": risk.n}
        return Result({"risks": values, "users": self._order[users]}, details)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the utility of recommendations, and the risk above chance."""
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

    @override
    def claim(self, cell: Cell, release: Result) -> Guarantee:
        del cell
        return Guarantee(**release.data["claim"]) if "claim" in release.data else NOTHING

    @override
    def facts(self) -> Sequence[tuple[str, str]]:
        low, high = self.train.scale
        return [
            ("users", f"{self.n:,}"),
            ("items", f"{self.train.m:,}"),
            ("ratings to protect", f"{len(self.train):,}"),
            ("held-out ratings", f"{len(self.test):,}"),
            ("scale", f"{low:g} to {high:g}{'' if self.train.declared else ', as observed'}"),
            ("lowest like", f"{self.positive:g}"),
            ("recommender", self.recommender.brief),
            ("utility", "1 - RMSE / RMSE of the mean" if self.study.utility == "rmse"
             else f"{self.study.utility.replace('ndcg', 'nDCG')}@{self.study.depth}"),
        ]  # fmt: skip

    @override
    def notes(self) -> Sequence[str]:
        return [
            "Risk is success above the baseline: (success - baseline)/(1 - baseline).",
            "Attacks on membership, lists and updates protect or train on a part of the users"
            " themselves: their risk is a single figure, and its interval in the planes is not an"
            " interval over users.",
            "Each release is attacked separately. Several releases of the same users reveal more.",
        ]

    @override
    def sections(self, results: Results) -> Sequence[Section]:
        titles = titles_of(self.study.items, self.study.title, self.train)
        people = [favourites(self.train, user, self.positive) for user in self.examples_of]
        rows = [self.test.rows(int(user)) for user in self.examples_of]
        held_out = [
            frozenset(self.test.item[part][self.test.value[part] >= self.positive].tolist())
            for part in rows
        ]
        return picture_sections(self._shown, results, titles, people, held_out)


def by_user(outcome: Outcome, n: int, rng: np.random.Generator) -> tuple[Floats, Ids]:
    """Return values (t,) whose mean, cut at 0, is the risk of an attack, and their users.

    A user who is guessed less often than by the baseline has a negative value. If success is not
    per user, the values represent unknown users: see `stand_in`.
    """
    if outcome.gains is None:
        return stand_in(outcome.risk, n, rng), np.arange(n)
    return outcome.gains, outcome.subjects


def most(outcome: Outcome) -> float:
    """Return an upper bound of the risk, with 97.5 % confidence."""
    if outcome.upper is not None:
        return outcome.upper
    hits = outcome.per_record
    if len(outcome.subjects):  # guesses about one user are not independent
        _, owner = np.unique(outcome.subjects, return_inverse=True)
        hits = np.bincount(owner, hits) / np.bincount(owner)
    return excess_bound(hits, outcome.baseline or 0.0)
