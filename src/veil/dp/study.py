"""The dp experiment: noisy counts, attacks on them, and the report."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from pydantic import BeforeValidator, Field

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.rng import stream
from veil.core.types import Floats, Ids
from veil.data.fetch import Report
from veil.dp.attack import (
    RATE,
    Attack,
    Mask,
    NoisyCounts,
    Questions,
    count_questions,
    gains,
    mean_advantage,
    usefulness,
    workload,
)
from veil.dp.attacks import ATTACKS
from veil.dp.inputs import read_bits
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import COUNTING
from veil.dp.release import FAMILIES
from veil.drawing.markup import Markup, number, tag
from veil.drawing.page import head, row, table
from veil.drawing.svg import at, paint, picture
from veil.studies.experiment import Axis, Cell, Experiment, Figure, Step, Vocabulary
from veil.studies.results import Results, Section
from veil.studies.store import Result
from veil.studies.study import Study

SHOWN = 200  # records of a group to draw
_COLUMNS, _SIDE, _GAP, _EDGE = 10, 20.0, 3.0, 4.0

_HINT = (
    "Each square is a record of the first group, in file order: dark if the secret is true, light"
    " if not. The first picture is the truth. The others show what the attack {by} guessed from"
    " noisy counts only; a crossed square is a wrong guess. The pictures contain the true secrets:"
    " keep this report to yourself."
)
_WHY = (
    "The guarantee of one answer is not the guarantee of all: budgets of all questions are summed"
    " (basic composition; 'veil dp compose' has tighter bounds). Many accurate answers about one"
    " small group cannot be private, whatever noise each of them has. The total shows why."
)


@dataclass(frozen=True, eq=False)
class Guessed:
    """The guesses `values` (n,) of an attack on one group, released by the mechanism `spec`."""

    spec: str
    by: str
    values: Floats


@dataclass(frozen=True)
class CostRow:
    """The cost of one answer and of all questions of an attack, and the advantage they gave.

    `size` is the number of answers per question.
    """

    spec: str
    by: str
    questions: int
    size: int
    per_answer: Guarantee
    total: Guarantee
    advantage: float


def secrets_drawn(secret: Ids, guessed: Sequence[Guessed]) -> Section:
    """Return a section with pictures of one group and of the guesses about it."""
    blind = int(max(secret.sum(), (1 - secret).sum()))
    truth = _figure(secret, None, "The truth", f"a blind guess gets {blind:,} of {len(secret):,}")
    figures = [
        _figure(secret, guess.values, guess.spec, _right(secret, guess.values))
        for guess in guessed
    ]
    by = guessed[0].by
    parts = (
        tag("p", _HINT.format(by=by), class_="hint"),
        tag("div", truth, *figures, class_="panels"),
    )
    return Section("secrets", "Secrets and guesses", parts, private=True)


def costs(bills: Sequence[CostRow]) -> Section:
    """Return a table of the cost of all questions and the advantage they gave."""
    body = [
        row(
            bill.spec,
            bill.by,
            f"{bill.questions:,}" + (f" × {bill.size:,}" if bill.size > 1 else ""),
            short(bill.per_answer),
            short(bill.total),
            number(bill.advantage, 2),
        )
        for bill in bills
    ]
    heads = [head("configuration", "attacker", "questions", "per answer", "total", "advantage")]
    shown = table("Cost of all questions of an attacker, per record", heads, body)
    return Section(
        "costs", "Why: the total cost of the answers", (tag("p", _WHY, class_="hint"), shown)
    )


def short(claim: Guarantee) -> str:
    """Format only the numbers of a guarantee.

    >>> short(Guarantee("dp", 0.5, unit="record")), short(Guarantee("none", unit="record"))
    ('epsilon 0.5', 'no formal guarantee')
    """
    return str(claim).removesuffix(f", per {claim.unit}").removeprefix(f"{claim.kind}: ")


def _right(secret: Ids, guesses: Floats) -> str:
    return f"{int((bits_of(guesses) == secret).sum()):,} of {len(secret):,} right"


def bits_of(guesses: Floats) -> Ids:
    """Return guesses as bits, rounded at 1/2; -1 for no guess."""
    return np.where(np.isfinite(guesses), (np.nan_to_num(guesses) >= 0.5).astype(np.int64), -1)


def _figure(secret: Ids, guesses: Floats | None, title: str, summary: str) -> Markup:
    """Draw a group as squares, and cross out wrong guesses."""
    shown = secret[:SHOWN] if guesses is None else bits_of(guesses)[:SHOWN]
    step = _SIDE + _GAP
    width = 2 * _EDGE + _COLUMNS * step - _GAP
    height = 2 * _EDGE + -(-len(shown) // _COLUMNS) * step - _GAP
    parts = []
    for place, bit in enumerate(shown.tolist()):
        x, y = _EDGE + place % _COLUMNS * step, _EDGE + place // _COLUMNS * step
        coloured = {1: paint("after", "after"), 0: paint("rule", "rule")}
        parts.append(
            tag("rect", x=at(x), y=at(y), width=at(_SIDE), height=at(_SIDE), rx="3",
                **coloured.get(bit, paint("ground", "rule")))
        )  # fmt: skip
        if bit != secret[place]:
            cross = f"M{at(x + 4)} {at(y + 4)}l12 12M{at(x + 16)} {at(y + 4)}l-12 12"
            halo, wrong = paint(stroke="ground"), paint(stroke="alert", class_="wrong")
            parts.append(tag("path", d=cross, stroke_width="6", **halo))
            parts.append(tag("path", d=cross, stroke_width="3.5", **wrong))
    more = "" if len(secret) <= SHOWN else f"; the first {SHOWN} are shown"
    svg = picture(width, height, title, f"{title}: {summary}.", *parts)
    caption = tag("figcaption", tag("strong", title), tag("br"), f"{summary}{more}")
    return tag("figure", caption, svg, class_="secret")


ADVANTAGE, WORTH = "advantage", "useful counts"
MOST = 5  # configurations whose guesses are shown


def _text(value: object) -> object:
    """Return a number, as a flag may be parsed, as the text in the file."""
    return str(value) if isinstance(value, int | float) else value


class Trial(NamedTuple):
    """The guesses or scores of an attack (n,), its number of questions, and the gains (n,).

    `guesses` is True if `values` are guesses, False if they are scores.
    """

    values: Floats
    questions: int
    gains: Floats
    guesses: bool = True


def trial(by: Attack, bit: Ids, mechanism: Mechanism, rng: Generator, size: int = 1) -> Trial:
    """Run an attack on noisy counts of `bit`, and score its guesses."""
    ask = Questions(NoisyCounts(bit, mechanism, rng, size))
    guesses = by.run(ask, len(bit), rng)
    scores = by.gives == "scores"
    few = min(int(bit.sum()), int((1 - bit).sum())) < 2  # too few to choose a threshold
    added = np.zeros(len(bit)) if scores and few else gains(guesses, bit, scores=scores)
    return Trial(guesses, ask.asked, added, not scores)


@dataclass(frozen=True, eq=False)
class Secrets:
    """Secret bits of distinct groups of records (groups, records)."""

    name: str
    bits: Ids


class CountsStudy(Study):
    """The keys of a study of counts."""

    secret: Annotated[str, Field(description="file of the records")]
    column: Annotated[str, Field(min_length=1, description="column of the secret")]
    equals: Annotated[
        str, BeforeValidator(_text), Field(description="value that counts as the secret; none: 1")
    ] = ""
    rows: Annotated[int, Field(ge=2, le=5_000, description="records of a group")] = 100
    groups: Annotated[
        int, Field(ge=2, le=1_000, description="groups, each attacked separately")
    ] = 10
    queries: Annotated[int, Field(ge=1, le=10**5, description="counts asked per group")] = 400
    rate: Annotated[float, Field(ge=0, le=1, description="publicly known share of the secret")] = (
        RATE
    )


class Counts(Experiment):
    """Differential privacy: exact noise, its total cost, and attacks on releases.

    The experiment releases noisy counts of a secret bit of records in small groups. An attacker
    may ask any question; utility is measured on counts of random sets.
    """

    words: ClassVar[Vocabulary] = Vocabulary(
        title="counts of a secret",
        subject="group",
        subjects="groups",
        size="answers",
        plain="exact answers",
        utility=Axis(WORTH, "1 − error of a count / error of a blind answer"),
        risks=(
            Axis(ADVANTAGE, "secrets guessed beyond a blind guess, as a share of those it misses"),
        ),
        better="counts are closer to the truth",
    )
    keys = CountsStudy
    mechanisms = COUNTING
    attackers = ATTACKS
    listed = FAMILIES
    advice = "Releases of the same data add up: see 'veil dp compose'."
    verbs: ClassVar[dict[str, str]] = {
        "release": "veil.dp.api:release",
        "law": "veil.dp.api:law",
        "histogram": "veil.dp.api:histogram",
        "compose": "veil.dp.api_audit:compose",
        "budget": "veil.dp.api_audit:budget",
        "report": "veil.dp.api:report",
        "estimate": "veil.dp.api:estimate",
        "sql": "veil.dp.api:sql",
        "mine": "veil.dp.api:mine",
        "audit": "veil.dp.api_audit:audit",
        "attack": "veil.dp.api_audit:attack",
    }
    source = "secret"

    domain = "dp"
    paths = ("secret",)
    release_kind = "answer"
    usual = ("reconstruction",)

    @classmethod
    def read(cls, study: CountsStudy, report: Report) -> Secrets:
        """Read the secret bits, and split them into groups."""
        del report  # nothing takes long here
        path = Path(study.secret)
        bits = read_bits(path, study.column, study.equals or None)
        if len(bits) < 2:
            raise InputError(f"{path.name} needs at least two records.")
        size = min(study.rows, len(bits))
        return Secrets(path.stem, bits[: len(bits) // size * size].reshape(-1, size))

    def use(self, material: Secrets) -> None:
        """Keep the bits."""
        self.bits, self.data, self.n = material.bits, material.name, self.study.groups

    def group(self, number: int) -> Ids:
        """Return the secrets of a group; groups repeat if the file has too few records."""
        return np.asarray(self.bits[number % len(self.bits)])

    def compute(self, step: Step, of: Result | None) -> Result:
        """Answer, measure or attack every group, with separate draws for each."""
        if step.kind == "answer":
            answers = [self._answers(step, number) for number in range(self.n)]
            return Result({"answers": np.stack(answers)})
        if step.kind == "measure":
            return self._measured(None if of is None else of.arrays["answers"])
        trials = [self.attacked(step, number) for number in range(self.n)]
        arrays = {
            "advantage": np.array([max(0.0, float(attempt.gains.mean())) for attempt in trials]),
            "right": np.stack([self._right(attempt, at) for at, attempt in enumerate(trials)]),
            "asked": np.array([attempt.questions for attempt in trials]),
        }
        if self.in_memory:  # repeated attacks on one group
            arrays["gains"] = np.stack([attempt.gains for attempt in trials])
        return Result(arrays)

    def _questions(self, number: int) -> Mask:
        """Return the sets to ask about: the same for every mechanism."""
        rng = stream(self.study.seed, number)
        return workload(self.bits.shape[1], rng, self.study.queries)

    def _group_draws(self, step: Step, number: int) -> Generator:
        return stream(self.study.seed, int(step.key[:12], 16) << 16 | number)

    def _answers(self, step: Step, number: int) -> Floats:
        mechanism = self.mechanisms.parse(step.spec)
        ask = NoisyCounts(
            self.group(number), mechanism, self._group_draws(step, number), step.size
        )
        return np.array([ask(mask) for mask in self._questions(number)])

    def _measured(self, answers: Floats | None) -> Result:
        """Compare answers (groups, queries) with the truth and with blind answers."""
        worth, exact = np.zeros(self.n), np.zeros(self.n)
        for group in range(self.n):
            sets = self._questions(group)
            truth = (sets @ self.group(group)).astype(np.int64)
            released = truth.astype(np.float64) if answers is None else answers[group]
            worth[group] = usefulness(truth, released, self.study.rate * sets.sum(axis=1))
            exact[group] = float((np.floor(released + 0.5) == truth).mean())
        return Result({"worth": worth, "exact": exact})

    def attacked(self, step: Step, number: int) -> Trial:
        """Attack one group; the result does not depend on the worker or the order."""
        assert self.attackers is not None  # noqa: S101 - counts have attackers
        by, mechanism = self.attackers.parse(step.by), self.mechanisms.parse(step.spec)
        return trial(by, self.group(number), mechanism, self._group_draws(step, number), step.size)

    def _right(self, tried: Trial, number: int) -> Floats:
        """Return whether each secret was guessed (size,); nan for scores."""
        if not tried.guesses:
            return np.full(len(tried.values), np.nan)
        return np.asarray(bits_of(tried.values) == self.group(number), dtype=np.float64)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the utility, the advantage and the share of secrets guessed."""
        if step.kind == "measure":
            yield Figure("utility", WORTH, result.arrays["worth"])
            if cell is not None:
                yield Figure("similarity", "counts that are exact", result.arrays["exact"])
        elif step.kind == "attack":
            gained, added = result.arrays["advantage"], result.arrays.get("gains")
            mean = (
                None if added is None else mean_advantage(added)
            )  # interval over records, not groups
            yield Figure("risk", ADVANTAGE, gained, by=step.by, chance=0.0, mean=mean)
            shares = [self.group(number).mean() for number in range(self.n)]
            blind = float(np.mean([max(share, 1 - share) for share in shares]))
            right = result.arrays["right"].mean(axis=1)
            yield Figure("recovery", "secrets", right, by=step.by, chance=blind, plane=False)

    def cost(self, cell: Cell, release: Result) -> Guarantee:
        """Return the cost of all counts of a group for one record, by basic composition."""
        del release
        claim = cell.mechanism.guarantee
        return claim.compose(cell.size * self.study.queries, "record")

    def details(self, cell: Cell, release: Result, attacked: Result) -> dict[str, Any]:
        """Return the number of questions about one group, and their cost."""
        del release
        claim, questions = cell.mechanism.guarantee, int(attacked.arrays["asked"][0])
        return {"asked": questions, "cost": claim.compose(questions * cell.size, claim.unit)}

    def facts(self) -> Sequence[tuple[str, str]]:
        """Describe the data."""
        distinct, size = self.bits.shape
        return [
            (
                "secret",
                self.study.column + (f" = {self.study.equals}" if self.study.equals else ""),
            ),
            ("groups", f"{self.n:,} of {size:,} records, {min(distinct, self.n):,} distinct"),
            ("counts asked per group", f"{self.study.queries:,}"),
            ("publicly known share of the secret", f"{self.study.rate:g}"),
        ]

    def notes(self) -> Sequence[str]:
        """Explain the figures and their limits."""
        return [
            "Risk is the advantage over a blind guess within each group: 0 for no better than a"
            " blind guess, 1 for every secret. Intervals are over groups, each with new noise and"
            " questions.",
            f"The cost of a configuration is that of {self.study.queries:,} counts: budgets are"
            " summed (basic composition). An attacker that asks more questions costs more.",
        ]

    def remarks(self, results: Results) -> Sequence[str]:
        """State the fundamental law of information recovery, with the numbers of this study."""
        del results
        cells = self.cells()
        name = cells[0].mechanism.name
        cell = [cell for cell in cells if cell.mechanism.name == name][-1]  # the most useful one
        single, many = short(cell.mechanism.guarantee), short(self.cost(cell, Result()))
        return [
            "Overly accurate answers to too many questions reveal every secret, whatever noise a"
            " single answer has (the fundamental law of information recovery):"
            f" {self.study.queries:,} counts by {cell.mechanism} have {single} each, and {many} in"
            " total."
        ]

    def sections(self, results: Results) -> Sequence[Section]:
        """Return the pictures of guessed secrets, and the cost of all questions."""
        tried = [(cell, step) for cell in self.cells() for step in cell.steps if step.by]
        size = self.bits.shape[1]
        questions = {
            by: count_questions(by, size) for by in dict.fromkeys(step.by for _, step in tried)
        }
        parts = [costs([_bill(cell, step, questions[step.by], results) for cell, step in tried])]
        first = next((step.by for _, step in tried if _guesses(step.by)), None)
        shown = [step for _, step in tried if step.by == first and step.size == tried[0][0].size]
        if shown:
            guessed = [
                Guessed(
                    self.mechanisms.parse(step.spec).brief, step.by, self.attacked(step, 0).values
                )
                for step in spread_steps(shown)
            ]
            parts.insert(0, secrets_drawn(self.group(0), guessed))
        return parts


def _bill(cell: Cell, step: Step, questions: int, results: Results) -> CostRow:
    place = ("risk", step.spec, step.size, step.by)
    risks = (
        row.score for row in results.rows if (row.kind, row.spec, row.size, row.attacker) == place
    )
    claim = cell.mechanism.guarantee
    total = claim.compose(questions * cell.size, claim.unit)
    return CostRow(step.spec, step.by, questions, cell.size, claim, total, next(risks, math.nan))


def spread_steps(steps: Sequence[Step]) -> list[Step]:
    """Return at most `MOST` of the steps, evenly spread from the first to the last."""
    places = np.unique(np.linspace(0, len(steps) - 1, MOST).round().astype(int))
    return [steps[place] for place in places]


def _guesses(by: str) -> bool:
    return ATTACKS.parse(by).gives == "guesses"
