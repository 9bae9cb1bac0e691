"""The tidy table of a study: means with intervals from the results of its steps.

`ranked` yields the figures of risk, recovery and linkage of any attack. `gather` returns the
table, the scores and the guarantee cards of all results in a store.
"""

import math
import platform
import shlex
import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from veil.core.estimate import bootstrap
from veil.core.guarantee import KINDS
from veil.core.outcome import LABEL, RELEASE, Outcome, first_guess
from veil.core.parallel import cores
from veil.core.types import Floats
from veil.core.version import __version__
from veil.measures.risk import ATTACKERS, chance, successes
from veil.studies.choose import cautions
from veil.studies.domains import open_experiment
from veil.studies.experiment import Cell, Experiment, Figure, Step, Vocabulary
from veil.studies.panels import Planned, compared, is_utility, key, scores
from veil.studies.results import PLAIN, Card, Example, Kind, Results, Row, Score
from veil.studies.store import Result, Store
from veil.studies.study import Study

Samples = dict[Row, Floats]  # (n,) the values behind the mean of a row, by subject; nan if missing

ATTACK = "attack"  # the kind of steps that give risks


def ranked(
    outcome: Outcome, by: str, words: Vocabulary, *, whole: bool = True
) -> Iterator[Figure]:
    """Yield the figures of an attack that ranks the truth: risks, recovery, or linkage.

    An attack on less than the `whole` release has no risk, only a recovery.
    """
    if not len(outcome.ranks):
        return
    if outcome.unit == RELEASE:
        yield from _risks(outcome, by, "linkage")
        return
    if outcome.unit == words.subject and whole:
        yield from _risks(outcome, by, "risk")
    yield from _recovery(outcome, by, words)


def _risks(outcome: Outcome, by: str, kind: str) -> Iterator[Figure]:
    """Yield the four risks of one attack, each with the success of a blind guess."""
    among = outcome.candidates
    for who in ATTACKERS:
        gained = successes(outcome, who)
        blind = chance(
            among, who, ranks=outcome.ranks, prior=outcome.prior, prior_ties=outcome.prior_ties
        )
        yield Figure(kind, who, gained, outcome.subjects, by, chance=blind)


def _recovery(outcome: Outcome, by: str, words: Vocabulary) -> Iterator[Figure]:
    """Yield the share of whole subjects, and of their parts, that the first guess gets right.

    Labels have a separate measure, because knowing a label does not identify the subject.
    """
    ranks, among = outcome.ranks, outcome.candidates
    right = first_guess(ranks, outcome.ties) * (ranks <= among)
    blind = np.where(ranks <= among, 1.0 / among, 0.0)
    if outcome.prior is not None:
        blind = first_guess(outcome.prior, outcome.prior_ties)
    if outcome.unit in (words.subject, LABEL):
        measure = f"{LABEL}s" if outcome.unit == LABEL else words.subjects
        yield _recovered(measure, right, blind, outcome, by)
        return
    subjects, owner = np.unique(outcome.subjects, return_inverse=True)
    all_right, lucky = np.ones(len(subjects)), np.ones(len(subjects))
    np.multiply.at(all_right, owner, right)
    np.multiply.at(lucky, owner, blind)
    yield _recovered(f"{outcome.unit}s", right, blind, outcome, by)
    yield replace(_recovered(words.subjects, all_right, lucky, outcome, by), subjects=None)


def _recovered(measure: str, right: Floats, blind: Floats, outcome: Outcome, by: str) -> Figure:
    share = float(blind.mean())
    return Figure("recovery", measure, right, outcome.subjects, by, chance=share, plane=False)


def results(study: Study, store: Store) -> Results:
    """Return the results of a study in a store; missing steps give a note, not an error."""
    experiment = open_experiment(study)
    return gather(experiment, experiment.cells(), experiment.plain(), store)


def gather(
    experiment: Experiment,
    cells: Sequence[Cell],
    plain: Sequence[Step],
    store: "ResultSource",
    seconds: float | None = None,
    workers: int | None = None,
) -> Results:
    """Return the results of these cells in a store.

    `seconds` is the duration of this run, `workers` its number of processes.
    """
    sheet = Sheet(experiment, store)
    for step in plain:
        sheet.add(None, step)
    for cell in cells:
        for step in (cell.release, *cell.steps):
            sheet.add(cell, step)
    scored = scores(sheet.rows, sheet.samples, sheet.planned)
    gathered = Results(
        experiment.study.name,
        compared(sheet.rows, sheet.samples),
        tuple(sheet.examples),
        tuple(sheet.cards),
        tuple(_facts(experiment, sheet.seconds, seconds, workers)),
        (*_notes(experiment, cells, sheet.missing, scored), *sheet.gaps),
        scored,
        experiment.study.domain,
        worst=tuple(sheet.worst),
    )
    return replace(
        gathered,
        remarks=tuple(experiment.remarks(gathered)),
        warnings=(*cautions(gathered.rows, gathered.scores), *experiment.warnings(gathered)),
        sections=tuple(experiment.sections(gathered)),
    )


class ResultSource(Protocol):
    """Source of results by the keys of their steps: a `Store` or a dict."""

    def get(self, key: str, /) -> Result | None:
        """Return the result of a step, or None if it is missing."""
        ...


class Sheet:
    """The rows, samples and cards of the steps added so far.

    `measures` limits the measures; None for all.
    """

    def __init__(
        self,
        experiment: Experiment,
        store: ResultSource,
        measures: Container[str] | None = None,
    ) -> None:
        self.experiment, self.store = experiment, store
        self.measures = measures  # None: all
        self.rows: list[Row] = []
        self.samples: Samples = {}
        self.planned: Planned = Counter()
        self.examples: list[Example] = []
        self.cards: list[Card] = []
        self.gaps: dict[str, None] = {}
        self.worst: list[tuple[str, int, str, float]] = []
        self.missing, self.seconds = 0, 0.0

    def add(self, cell: Cell | None, step: Step) -> None:
        """Add the result of a step, or count it as missing."""
        start = self._head(cell, step)
        if step.kind == ATTACK and step.count == step.size:
            self.planned[key(start), start.size, step.by] += 1
        result = self.store.get(step.key)
        if result is None:
            self.missing += 1
            return
        self.seconds += result.seconds
        if step.kind == ATTACK and "worst" in result.data:
            self.worst.append((start.spec, start.size, step.by, float(result.data["worst"])))
        if cell is not None:
            if step is cell.release:
                self.cards.append(_card(self.experiment, cell, result))
                self.examples += self.experiment.examples(cell, result)
            self.gaps |= dict.fromkeys(_gaps(cell, step, result))
        for figure in self.experiment.figures(cell, step, result):
            self._add(start, figure)

    def _head(self, cell: Cell | None, step: Step) -> Row:
        """Return a row with the configuration, without figures."""
        gap = math.nan
        return Row(
            data=self.experiment.data,
            task="",
            mechanism=PLAIN if cell is None else cell.mechanism.name,
            spec=PLAIN if cell is None else str(cell.mechanism),
            parameter="" if cell is None else cell.parameter,
            value=0.0 if cell is None else cell.value,
            size=1 if cell is None else step.count or cell.size,
            kind="utility",
            measure="",
            attacker="",
            score=gap,
            low=gap,
            high=gap,
            n=0,
            domain=self.experiment.study.domain,
        )

    def _add(self, head: Row, figure: Figure) -> None:
        """Add the row of a figure, if it has a finite value."""
        if self.measures is not None and figure.measure not in self.measures:
            return
        values = np.asarray(figure.values, dtype=np.float64)
        present = np.isfinite(values)
        if not present.any():
            return
        subjects = figure.subjects
        mean = figure.mean
        if mean is None:
            mean = bootstrap(values[present], None if subjects is None else subjects[present])
        row = replace(
            head,
            task=figure.task,
            kind=cast(Kind, figure.kind),
            measure=figure.measure,
            attacker=figure.by,
            score=float(mean),
            low=mean.low,
            high=mean.high,
            n=mean.n,
            chance=figure.chance,
            upper=figure.upper,
        )
        if is_utility(row) or figure.upper is not None:
            row = self._cut(row)
        self.rows.append(row)
        if figure.plane and (row.kind == "risk" or is_utility(row)):
            self.samples[row] = _by_subject(figure, values, self.experiment.n)

    def _cut(self, row: Row) -> Row:
        """Clip a utility or risk to its range, because values may be out of range."""
        words = self.experiment.words
        top = (words.utility if row.kind == "utility" else words.axis(row.measure)).top
        score, low, high = np.clip([row.score, row.low, row.high], 0.0, top).tolist()
        return replace(row, score=score, low=low, high=high)


def _gaps(cell: Cell, step: Step, result: Result) -> Iterator[str]:
    """Yield what an attack could not do: work against a mechanism at all, or have an answer."""
    if reason := result.data.get("gap", ""):
        yield f"{step.by} against {cell.mechanism.name}: {reason}"
    if lost := int(np.sum(result.arrays.get("unanswered", 0))):
        yield (
            f"{step.by} against {cell.mechanism}: {lost:,} guesses had no answer and count as not"
            " found, so that the risk is a lower bound."
        )


def _by_subject(figure: Figure, values: Floats, n: int) -> Floats:
    """Return the mean of the values of each subject (n,), nan if there are none."""
    if figure.subjects is None:
        return values
    gained = np.bincount(figure.subjects, values, minlength=n)
    times = np.bincount(figure.subjects, minlength=n)
    means: Floats = np.full(n, np.nan)
    np.divide(gained, times, out=means, where=times > 0)
    return means


def _card(experiment: Experiment, cell: Cell, release: Result) -> Card:
    """Return the guarantee of a configuration, for one unit and for a whole release."""
    claim = experiment.claim(cell, release)
    epsilon = claim.epsilon if claim.kind != "none" and math.isfinite(claim.epsilon) else None
    total = str(experiment.cost(cell, release))
    spec, means = str(cell.mechanism), KINDS[claim.kind]
    return Card(spec, claim.kind, epsilon, total, means, claim.caveat, claim.unit, cell.size)


def _facts(
    experiment: Experiment, spent: float, seconds: float | None, workers: int | None
) -> Iterator[tuple[str, str]]:
    """Yield the facts needed to repeat a study, as pairs of a name and a value."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv[0] else ""
    pairs = [
        ("command", command),
        ("veil", __version__),
        ("python", platform.python_version()),
        ("seed", str(experiment.study.seed) if experiment.seeded else ""),
        *experiment.facts(),
        ("cores", str(cores())),
        ("workers", "" if workers is None else str(workers)),
        ("time of all steps", f"{spent:,.0f} s"),
        ("time of this run", "" if seconds is None else f"{seconds:,.0f} s"),
    ]
    yield from ((name, value) for name, value in pairs if value)


def _notes(
    experiment: Experiment, cells: Sequence[Cell], missing: int, scores: Sequence[Score]
) -> Iterator[str]:
    """Yield remarks for readers of the figures."""
    if experiment.seeded:
        yield "The releases are reproducible because of a seed: they are not private."
    if missing:
        yield f"{missing:,} steps are not computed yet, so their figures are missing."
    unfinished = dict.fromkeys(score.curve for score in scores if score.missing)
    if unfinished:
        yield (
            f"{', '.join(unfinished)} has missing points: the QuIPU score covers only the computed"
            " points."
        )
    yield from experiment.notes()
    if any(cell.parameter == "" for cell in cells):
        yield "A mechanism without a swept parameter is a single point of the plane."
