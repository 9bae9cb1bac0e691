"""Counts as an experiment: noisy answers, attacks on them, and their report."""

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

SHOWN = 200  # records of a group that are drawn
_COLUMNS, _SIDE, _GAP, _EDGE = 10, 20.0, 3.0, 4.0

_HINT = (
    "Each square is a record of the first group, in the order of the file: dark where the secret"
    " is true, light where it is not. The first picture is the truth, the others are what the"
    " attacker {by} made of noisy counts alone; a crossed square is a wrong guess. It was made"
    " with the true secrets: keep this report to yourself."
)
_WHY = (
    "A guarantee of one answer is not that of all: the budgets of all questions are summed (basic"
    " composition; 'veil dp compose' has tighter sums). Many accurate answers about one small"
    " group are lost to privacy, whatever noise each of them has; the total says why."
)


@dataclass(frozen=True, eq=False)
class Guessed:
    """What an attacker guessed of a group (n,), by the spec of the mechanism."""

    spec: str
    by: str
    found: Floats


@dataclass(frozen=True)
class CostRow:
    """What the questions of an attacker cost: each answer, and all of them; and its success.

    `size` is how many answers each question has.
    """

    spec: str
    by: str
    asked: int
    size: int
    each: Guarantee
    total: Guarantee
    advantage: float


def secrets_drawn(secret: Ids, guessed: Sequence[Guessed]) -> Section:
    """Draw a group beside what was guessed of it."""
    blind = int(max(secret.sum(), (1 - secret).sum()))
    truth = _figure(secret, None, "The truth", f"a blind guess gets {blind:,} of {len(secret):,}")
    drawn = [_figure(secret, one.found, one.spec, _right(secret, one.found)) for one in guessed]
    by = guessed[0].by
    parts = (
        tag("p", _HINT.format(by=by), class_="hint"),
        tag("div", truth, *drawn, class_="panels"),
    )
    return Section("secrets", "Secrets, and what was guessed", parts, private=True)


def costs(bills: Sequence[CostRow]) -> Section:
    """Put the costs of all questions beside what they gave away."""
    body = [
        row(
            bill.spec,
            bill.by,
            f"{bill.asked:,}" + (f" × {bill.size:,}" if bill.size > 1 else ""),
            short(bill.each),
            short(bill.total),
            number(bill.advantage, 2),
        )
        for bill in bills
    ]
    heads = [head("configuration", "attacker", "questions", "each answer", "in all", "advantage")]
    shown = table("What all questions of an attacker cost one record", heads, body)
    return Section(
        "costs", "Why: what the answers cost in all", (tag("p", _WHY, class_="hint"), shown)
    )


def short(claim: Guarantee) -> str:
    """Say a guarantee in its numbers alone.

    >>> short(Guarantee("dp", 0.5, unit="record")), short(Guarantee("none", unit="record"))
    ('epsilon 0.5', 'no formal guarantee')
    """
    return str(claim).removesuffix(f", per {claim.unit}").removeprefix(f"{claim.kind}: ")


def _right(secret: Ids, found: Floats) -> str:
    return f"{int((bits_of(found) == secret).sum()):,} of {len(secret):,} right"


def bits_of(found: Floats) -> Ids:
    """Return guesses as bits, rounded at 1/2; -1 where there is none."""
    return np.where(np.isfinite(found), (np.nan_to_num(found) >= 0.5).astype(np.int64), -1)


def _figure(secret: Ids, found: Floats | None, title: str, said: str) -> Markup:
    """Draw a group as squares; wrong guesses are crossed."""
    shown = secret[:SHOWN] if found is None else bits_of(found)[:SHOWN]
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
    more = "" if len(secret) <= SHOWN else f"; the first {SHOWN} are drawn"
    svg = picture(width, height, title, f"{title}: {said}.", *parts)
    caption = tag("figcaption", tag("strong", title), tag("br"), f"{said}{more}")
    return tag("figure", caption, svg, class_="secret")


ADVANTAGE, WORTH = "advantage", "useful counts"
MOST = 5  # configurations whose guesses are drawn


def _text(value: object) -> object:
    """Read a number, which a flag may look like, as the text that a file has."""
    return str(value) if isinstance(value, int | float) else value


class Trial(NamedTuple):
    """The guesses or scores of one attack (n,), its questions, and each record's gain (n,).

    `guesses` is whether `found` are guesses, and not scores.
    """

    found: Floats
    asked: int
    gains: Floats
    guesses: bool = True


def trial(by: Attack, bit: Ids, mechanism: Mechanism, rng: Generator, size: int = 1) -> Trial:
    """Let an attacker ask for noisy counts, and score its guesses by the truth."""
    ask = Questions(NoisyCounts(bit, mechanism, rng, size))
    guesses = by.run(ask, len(bit), rng)
    scores = by.gives == "scores"
    few = min(int(bit.sum()), int((1 - bit).sum())) < 2  # too few to choose a threshold by
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
        str, BeforeValidator(_text), Field(description="value that is the secret; none: 1")
    ] = ""
    rows: Annotated[int, Field(ge=2, le=5_000, description="records of a group")] = 100
    groups: Annotated[
        int, Field(ge=2, le=1_000, description="groups, attacked by itself each")
    ] = 10
    queries: Annotated[int, Field(ge=1, le=10**5, description="counts asked of a group")] = 400
    rate: Annotated[float, Field(ge=0, le=1, description="share of the secret that all know")] = (
        RATE
    )


class Counts(Experiment):
    """Numbers and answers with exact noise: what they cost in all, and what still leaks.

    As an experiment: counts of a secret bit of the records of small groups. An attacker asks what
    it likes, and gets noisy counts; utility is measured by counts of random sets.
    """

    words: ClassVar[Vocabulary] = Vocabulary(
        title="counts of a secret",
        subject="group",
        subjects="groups",
        size="answers",
        plain="exact answers",
        utility=Axis(WORTH, "1 − the error of a count over that of a blind answer"),
        risks=(
            Axis(ADVANTAGE, "secrets guessed beyond a blind guess, of all that it leaves open"),
        ),
        better="counts are nearer to the truth",
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
        """Read the secret bits, and cut them into groups."""
        del report  # nothing takes long here
        path = Path(study.secret)
        bits = read_bits(path, study.column, study.equals or None)
        if len(bits) < 2:
            raise InputError(f"{path.name} must have at least two records.")
        size = min(study.rows, len(bits))
        return Secrets(path.stem, bits[: len(bits) // size * size].reshape(-1, size))

    def use(self, material: Secrets) -> None:
        """Keep the bits."""
        self.bits, self.data, self.n = material.bits, material.name, self.study.groups

    def group(self, number: int) -> Ids:
        """Return the secrets of a group; they begin again where a file has too few records."""
        return np.asarray(self.bits[number % len(self.bits)])

    def compute(self, step: Step, of: Result | None) -> Result:
        """Answer, compare, or attack, each group with draws of its own."""
        if step.kind == "answer":
            answers = [self._answers(step, number) for number in range(self.n)]
            return Result({"answers": np.stack(answers)})
        if step.kind == "measure":
            return self._measured(None if of is None else of.arrays["answers"])
        trials = [self.attacked(step, number) for number in range(self.n)]
        arrays = {
            "advantage": np.array([max(0.0, float(one.gains.mean())) for one in trials]),
            "right": np.stack([self._right(one, at) for at, one in enumerate(trials)]),
            "asked": np.array([one.asked for one in trials]),
        }
        if self.in_memory:  # one group, attacked several times
            arrays["gains"] = np.stack([one.gains for one in trials])
        return Result(arrays)

    def _questions(self, number: int) -> Mask:
        """Return the sets that are asked about, the same for every mechanism."""
        rng = stream(self.study.seed, number)
        return workload(self.bits.shape[1], rng, self.study.queries)

    def _group_draws(self, step: Step, number: int) -> Generator:
        return stream(self.study.seed, int(step.key[:12], 16) << 16 | number)

    def _answers(self, step: Step, number: int) -> Floats:
        mechanism = self.mechanisms.parse(step.spec)
        ask = NoisyCounts(
            self.group(number), mechanism, self._group_draws(step, number), step.size
        )
        return np.array([ask(one) for one in self._questions(number)])

    def _measured(self, answers: Floats | None) -> Result:
        """Compare answers (groups, queries) with the truth, and with blind answers."""
        worth, exact = np.zeros(self.n), np.zeros(self.n)
        for group in range(self.n):
            sets = self._questions(group)
            truth = (sets @ self.group(group)).astype(np.int64)
            given = truth.astype(np.float64) if answers is None else answers[group]
            worth[group] = usefulness(truth, given, self.study.rate * sets.sum(axis=1))
            exact[group] = float((np.floor(given + 0.5) == truth).mean())
        return Result({"worth": worth, "exact": exact})

    def attacked(self, step: Step, number: int) -> Trial:
        """Attack one group: the same whoever computes it, and when."""
        assert self.attackers is not None  # noqa: S101 - counts have attackers
        by, mechanism = self.attackers.parse(step.by), self.mechanisms.parse(step.spec)
        return trial(by, self.group(number), mechanism, self._group_draws(step, number), step.size)

    def _right(self, tried: Trial, number: int) -> Floats:
        """Return whether each secret was guessed (size,); nan for scores, which are no guesses."""
        if not tried.guesses:
            return np.full(len(tried.found), np.nan)
        return np.asarray(bits_of(tried.found) == self.group(number), dtype=np.float64)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the utility, the advantage, and the share of secrets that were guessed."""
        if step.kind == "measure":
            yield Figure("utility", WORTH, result.arrays["worth"])
            if cell is not None:
                yield Figure("similarity", "counts that are exact", result.arrays["exact"])
        elif step.kind == "attack":
            gained, added = result.arrays["advantage"], result.arrays.get("gains")
            mean = None if added is None else mean_advantage(added)  # over records, not groups
            yield Figure("risk", ADVANTAGE, gained, by=step.by, chance=0.0, mean=mean)
            shares = [self.group(number).mean() for number in range(self.n)]
            blind = float(np.mean([max(share, 1 - share) for share in shares]))
            right = result.arrays["right"].mean(axis=1)
            yield Figure("recovery", "secrets", right, by=step.by, chance=blind, plane=False)

    def cost(self, cell: Cell, release: Result) -> Guarantee:
        """Return what all counts of a group cost one record: budgets are summed."""
        del release
        claim = cell.mechanism.guarantee
        return claim.compose(cell.size * self.study.queries, "record")

    def details(self, cell: Cell, release: Result, attacked: Result) -> dict[str, Any]:
        """Return how often the attacker asked one group, and what that costs."""
        del release
        claim, asked = cell.mechanism.guarantee, int(attacked.arrays["asked"][0])
        return {"asked": asked, "cost": claim.compose(asked * cell.size, claim.unit)}

    def facts(self) -> Sequence[tuple[str, str]]:
        """Say how much there is."""
        distinct, size = self.bits.shape
        return [
            (
                "secret",
                self.study.column + (f" = {self.study.equals}" if self.study.equals else ""),
            ),
            ("groups", f"{self.n:,} of {size:,} records, {min(distinct, self.n):,} distinct"),
            ("counts asked of each group", f"{self.study.queries:,}"),
            ("share of the secret that all know", f"{self.study.rate:g}"),
        ]

    def notes(self) -> Sequence[str]:
        """Say what the figures are, and what they are not."""
        return [
            "Risk is the advantage over a blind guess, in each group by itself: 0 for who guesses"
            " no better, 1 for who gets every secret. Intervals are over groups, whose noise and"
            " questions are drawn anew.",
            f"The cost of a configuration is that of {self.study.queries:,} counts, one after the"
            " other: budgets are summed (basic composition). An attacker that asks more often"
            " costs more.",
        ]

    def remarks(self, results: Results) -> Sequence[str]:
        """Say the fundamental law, by the example of this study."""
        del results
        cells = self.cells()
        name = cells[0].mechanism.name
        cell = [cell for cell in cells if cell.mechanism.name == name][-1]  # the most useful end
        one, many = short(cell.mechanism.guarantee), short(self.cost(cell, Result()))
        return [
            "Answers that are too accurate, to too many questions, give every secret away,"
            " whatever noise a single one has (the fundamental law of information recovery):"
            f" {self.study.queries:,} counts by {cell.mechanism} have {one} each, and {many} in"
            " all."
        ]

    def sections(self, results: Results) -> Sequence[Section]:
        """Draw the secrets of a group as they were guessed, and say what all questions cost."""
        tried = [(cell, step) for cell in self.cells() for step in cell.steps if step.by]
        size = self.bits.shape[1]
        asked = {
            by: count_questions(by, size) for by in dict.fromkeys(step.by for _, step in tried)
        }
        found = [costs([_bill(cell, step, asked[step.by], results) for cell, step in tried])]
        first = next((step.by for _, step in tried if _guesses(step.by)), None)
        shown = [step for _, step in tried if step.by == first and step.size == tried[0][0].size]
        if shown:
            guessed = [
                Guessed(
                    self.mechanisms.parse(step.spec).brief, step.by, self.attacked(step, 0).found
                )
                for step in spread_steps(shown)
            ]
            found.insert(0, secrets_drawn(self.group(0), guessed))
        return found


def _bill(cell: Cell, step: Step, asked: int, results: Results) -> CostRow:
    place = ("risk", step.spec, step.size, step.by)
    risks = (
        row.score for row in results.rows if (row.kind, row.spec, row.size, row.attacker) == place
    )
    claim = cell.mechanism.guarantee
    total = claim.compose(asked * cell.size, claim.unit)
    return CostRow(step.spec, step.by, asked, cell.size, claim, total, next(risks, math.nan))


def spread_steps(steps: Sequence[Step]) -> list[Step]:
    """Return at most `MOST` of the steps, evenly spread from the first to the last."""
    places = np.unique(np.linspace(0, len(steps) - 1, MOST).round().astype(int))
    return [steps[place] for place in places]


def _guesses(by: str) -> bool:
    return ATTACKS.parse(by).gives == "guesses"
