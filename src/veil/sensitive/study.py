"""Search among sensitive documents as an experiment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError, ParameterError
from veil.core.rng import stream
from veil.core.types import Floats, Ids
from veil.corpus.catalogue import load_collection
from veil.data.fetch import Report, no_progress
from veil.measures.estimate import Estimate
from veil.sensitive.attacker import Exposure, Probe, Sightings
from veil.sensitive.attacks import ATTACKS
from veil.sensitive.classifiers import classifier
from veil.sensitive.collection import SensitiveCollection, load, simulate
from veil.sensitive.cross_validate import cross_validate
from veil.sensitive.evaluate import evaluate, scene_of
from veil.sensitive.mechanism import Searcher
from veil.sensitive.mechanisms import MECHANISMS
from veil.studies.experiment import (
    Axis,
    Cell,
    Experiment,
    Figure,
    Step,
    Vocabulary,
    digest,
    step_key,
)
from veil.studies.report.markup import Markup, interval, number, percent, tag
from veil.studies.report.tables import head, table
from veil.studies.results import PLAIN, Results, Section
from veil.studies.store import Result
from veil.studies.study import Grid, Study

QUALITY = {
    "auc": "AUC",
    "candidate_auc": "AUC among the best 100 of each query",
    "brier": "Brier score",
    "ece": "calibration error",
}


def figures_of(
    collection: SensitiveCollection,
    lists: Mapping[str, Ids],
    p: Floats | None,
    spec: str,
    k: int,
    cost: float,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return nDCG-visible of each query, and figures of all lists together."""
    names, hot = collection.documents.ids, collection.sensitive == 1
    run = {query: [names[place] for place in own.tolist()] for query, own in lists.items()}
    utility, worth = f"nDCG-visible@{k}", f"nCS-DCG@{k}"
    scores = evaluate(run, collection.judgements, collection.labels, [utility, worth], cost=cost)
    summary = scores.summary(worth, {query: collection.topic(query) for query in run})
    shown = sum(len(own) for own in lists.values())
    sensitive = sum(int(hot[own].sum()) for own in lists.values())
    judged = sum(
        name in collection.judgements.get(query, {}) for query, own in run.items() for name in own
    )
    data: dict[str, Any] = {
        "shown": shown / max(1, len(lists)),
        "sensitive": sensitive / max(1, shown),
        "any": float(np.mean([hot[own].any() for own in lists.values()])),
        "judged": judged / max(1, shown),
        "worth": float(summary.value),
        "empty": float(summary.empty),
        "skill": float(summary.skill),
    }
    threshold = getattr(MECHANISMS.parse(spec), "threshold", None) if spec else None
    if threshold is not None and p is not None:
        kept = p < threshold  # nan is withheld
        data["caught"] = float((~kept[hot]).mean())
        data["lost"] = float((~kept[~hot]).mean()) if (~hot).any() else 0.0
    return scores[utility], data


_SHOWN = (
    "Shares and counts over all queries; no document is named. Caught: sensitive documents that a"
    " filter withholds. Lost: other documents that it withholds, too. nCS-DCG stands beside the"
    " empty list, which is often hard to beat: a skill below 0 is worse than showing nothing."
    " Documents that nobody judged count as not relevant, so that lists with few judged ones are"
    " understated."
)
_INFERRED = (
    "Exposed: sensitive documents in some list that the attacker was shown. Inferred: of the"
    " others, those that it rightly says exist. False alarms: how often it says so of decoys, that"
    " do not exist. Risk = exposed + (1 − exposed) · max(0, inferred − false alarms), with 95 %"
    " intervals over documents."
)
_COLUMNS = {
    "shown": "shown per query",
    "sensitive": "of them sensitive",
    "any": "queries with any",
    "caught": "caught",
    "lost": "lost",
    "judged": "judged",
}
_PLAIN_COUNTS = ("shown",)  # a number, where the others are shares


@dataclass(eq=False)
class StrategySummary:
    """What there is to say of one strategy."""

    shown: Mapping[str, Any] = field(default_factory=dict)
    attacks: dict[str, Exposure] = field(default_factory=dict)


def sections(told: Mapping[str, StrategySummary]) -> list[Section]:
    """Return a table of what is shown, and one of what can be inferred."""
    found = []
    lists = [_line(spec, one.shown) for spec, one in told.items() if one.shown]
    if lists:
        names = ("strategy", *_COLUMNS.values(), "nCS-DCG", "empty list", "skill")
        laid = table("What is shown and withheld", [head(*names)], lists)
        hint = tag("p", _SHOWN, class_="hint")
        found.append(Section("withheld", "Shown and withheld", (hint, laid)))
    attacks = [
        _attack(spec, by, exposure)
        for spec, one in told.items()
        for by, exposure in one.attacks.items()
    ]
    if attacks:
        names = ("strategy", "attacker", "exposed", "inferred", "false alarms", "risk")
        laid = table("What a searcher can infer", [head(*names)], attacks)
        hint = tag("p", _INFERRED, class_="hint")
        found.append(Section("inferred", "What can be inferred", (hint, laid)))
    return found


def _title(spec: str) -> Markup:
    named = "relevance alone" if spec == PLAIN else MECHANISMS.parse(spec).brief
    return tag("th", named, scope="row")


def _line(spec: str, shown: Mapping[str, Any]) -> Markup:
    cells = [
        "–" if name not in shown
        else number(shown[name], 1) if name in _PLAIN_COUNTS else percent(shown[name])
        for name in _COLUMNS
    ]  # fmt: skip
    cells += [number(shown[name]) for name in ("worth", "empty")]
    cells.append(number(shown["skill"], 2))
    return tag("tr", _title(spec), *(tag("td", cell) for cell in cells))


def _attack(spec: str, by: str, found: Exposure) -> Markup:
    figures = (found.exposed, found.inferred, found.false_alarms, found.risk)
    return tag("tr", _title(spec), tag("td", by), *map(_cell, figures))


def _cell(value: Estimate) -> Markup:
    return tag("td", number(value), " ", tag("small", interval(value.low, value.high)))


UTILITY, SHOWN, EXPOSURE = "nDCG-visible@10", "shown", "exposure"
_VERSION = 2  # of what the steps compute
_USUAL = ("queries", "known-item", "gap", "count", "frequency")
_OPENED = 2  # strategies that a process keeps open: several steps ask each
_K = 10  # documents of a list: the depth of the utility, too
_COMMANDS = "index search evaluate attack"


class SensitiveStudy(Study):
    """The keys of a study of sensitive documents."""

    collection: Annotated[str, Field(description="folder of the test collection")]
    sensitivity: Annotated[str, Field(description="labels, if they are not in the folder")] = ""
    simulated: Annotated[
        bool, Field(description="make labels by a list of words instead of reading them")
    ] = False
    classifier: Annotated[str, Field(description="what says how likely documents are")] = (
        "logistic"
    )
    folds: Annotated[int, Field(ge=2, le=100, description="of cross-validation")] = 5
    cost: Annotated[float, Field(ge=0, description="of one sensitive document in nCS-DCG")] = 12.0


class Sensitive(Experiment):
    """Search among sensitive documents: what may be shown, and what a searcher can still infer."""

    words: ClassVar[Vocabulary] = Vocabulary(
        title="search among sensitive documents",
        subject="topic",
        subjects="topics",
        size="lists",
        plain="relevance alone",
        utility=Axis(UTILITY, "nDCG of the ten shown, with sensitive documents of grade 0"),
        risks=(
            Axis(SHOWN, "share of the queries that show a sensitive document"),
            Axis(EXPOSURE, "a sensitive document is seen, or rightly said to exist"),
        ),
        better="the lists are better",
        data="collection",
    )
    keys = SensitiveStudy
    mechanisms = MECHANISMS
    attackers = ATTACKS
    verbs: ClassVar[dict[str, str]] = {
        verb: f"veil.sensitive.api:{verb}" for verb in _COMMANDS.split()
    }
    source = "collection"

    def __init__(self, study: SensitiveStudy, report: Report = no_progress) -> None:
        self.study: SensitiveStudy = study
        if study.sizes != (1,):
            raise ParameterError(
                "The 'sizes' of a study of sensitive documents must be [1]: nothing is drawn."
            )
        self.collection = _opened(study, report)
        queries = self.collection.queries
        self._topics = {name: self.collection.topic(name) for name in queries}
        self._rows = {topic: row for row, topic in enumerate(dict.fromkeys(self._topics.values()))}
        self.data, self.n = Path(study.collection).name, len(self._rows)
        if self.n < 2:
            raise InputError("A study needs queries of at least two topics.")
        self._of = {
            "data": _digest(self.collection),
            "classifier": str(classifier(study.classifier)),
            "folds": study.folds,
            "cost": study.cost,
            "seed": study.seed,
        }
        self._searchers: dict[str, Searcher] = {}
        self._told: dict[str, StrategySummary] = {}
        self._quality: Mapping[str, float] = {}

    @classmethod
    def settle(cls, study: SensitiveStudy, name: str, folder: Path) -> SensitiveStudy:
        """Make the paths absolute: workers may run elsewhere."""
        del name
        classifier(study.classifier)
        given = {key: getattr(study, key) for key in ("collection", "sensitivity")}
        found = {key: folder / path for key, path in given.items() if path}
        there = {key: str(path.resolve()) for key, path in found.items() if path.exists()}
        return study.model_copy(update=there)

    @cached_property
    def _order(self) -> Ids:
        """An order of the sensitive documents that only who has them can undo."""
        count = int((self.collection.sensitive == 1).sum())
        return stream(int(str(self._of["data"])[:16], 16), 0).permutation(count)

    def _step(self, kind: str, spec: str = "", of: str = "", by: str = "") -> Step:
        """Name a step by all that changes its result."""
        made = {**self._of, "spec": spec, "of": of, "by": by}
        size = 1 if spec else 0
        return Step(kind, step_key(kind, _VERSION, made), spec, size, of, by, size)

    @cached_property
    def _classified(self) -> Step:
        return self._step("classify")

    def plain(self) -> list[Step]:
        """Learn how likely documents are sensitive; show and attack what ignores that."""
        attackers = self.study.all_attackers or _USUAL
        shown = self._step("show")
        return [self._classified, shown, *(self._step("attack", by=by) for by in attackers)]

    def cells(self) -> list[Cell]:
        """Return the lists of each strategy, measured and attacked."""
        return [
            self._cell(grid, strategy, value)
            for grid in self.study.mechanism
            for strategy, value in grid.mechanisms(MECHANISMS)
        ]

    def _cell(self, grid: Grid, strategy: object, value: float) -> Cell:
        spec, attackers = str(strategy), self.study.against(grid) or _USUAL
        shown = self._step("show", spec, self._classified.key)
        steps = tuple(self._step("attack", spec, shown.key, by) for by in attackers)
        return Cell(MECHANISMS.parse(spec), grid.parameter, value, 1, shown, steps)

    def compute(self, step: Step, of: Result | None) -> Result:
        """Classify, show or attack; what is kept names no document."""
        if step.kind == "classify":
            found = cross_validate(
                self.collection, self.study.classifier, self.study.folds, self.study.seed
            )
            return Result({"p": found.p}, {name: getattr(found, name) for name in QUALITY})
        p = None if of is None else of.arrays["p"]
        searcher = self._searcher(step.spec or "relevance()", p)
        lists = {
            name: searcher.answer(text, _K, self._topics[name]).positions
            for name, text in self.collection.queries.items()
        }
        if step.kind == "show":
            return self._shown(step, lists, p)
        seen = ATTACKS.parse(step.by).run(Probe(self.collection, searcher, _K, self.study.seed))
        arrays = {name: getattr(seen, name)[self._order] for name in ("seen", "claims", "alarms")}
        return Result({**arrays, "shown": self._any(lists)})

    def _searcher(self, spec: str, p: Floats | None) -> Searcher:
        if spec not in self._searchers:
            strategy = MECHANISMS.parse(spec)
            for old in list(self._searchers)[: 1 - _OPENED]:
                del self._searchers[old]
            self._searchers[spec] = strategy.open(scene_of(self.collection, strategy, p))
        return self._searchers[spec]

    def _any(self, lists: Mapping[str, Ids]) -> Floats:
        """Return the share of the queries of each topic (n,) that show a sensitive document."""
        hot = {name: (self.collection.sensitive[own] == 1).any() for name, own in lists.items()}
        return self._by_topic({name: float(value) for name, value in hot.items()})

    def _by_topic(self, values: Mapping[str, float]) -> Floats:
        """Return the mean of each topic (n,); nan where no query has a value."""
        means: Floats = np.full(self.n, np.nan)
        for topic, row in self._rows.items():
            own = [v for q, v in values.items() if self._topics.get(q) == topic and np.isfinite(v)]
            means[row] = np.mean(own) if own else np.nan
        return means

    def _shown(self, step: Step, lists: Mapping[str, Ids], p: Floats | None) -> Result:
        values, data = figures_of(self.collection, lists, p, step.spec, _K, self.study.cost)
        arrays = {"utility": self._by_topic(values)} | ({} if p is None else {"p": p})
        return Result(arrays, data)

    def figures(self, cell: Cell | None, step: Step, found: Result) -> Iterator[Figure]:
        """Yield the utility by topic, and what attackers see and infer."""
        del cell
        if step.kind == "classify":
            self._quality = found.data
            return
        told = self._told.setdefault(step.spec or PLAIN, StrategySummary())
        if step.kind == "show":
            told.shown = found.data
            yield Figure("utility", UTILITY, found.arrays["utility"])
            return
        seen = Sightings(*(found.arrays[name] for name in ("seen", "claims", "alarms")))
        exposure = Exposure.of(seen)
        told.attacks[step.by] = exposure
        if ATTACKS.parse(step.by).name == "queries":
            yield Figure("risk", SHOWN, found.arrays["shown"], by=step.by)
        # What is not seen has the same risk each, so that the mean is that of the attack. The
        # documents are dealt out to topics, at least two to each: the difference of two rates is
        # as uncertain as one rate of half as many cases, and bounds must not be lower.
        lift = max(0.0, float(exposure.inferred) - float(exposure.false_alarms))
        risks = np.where(seen.seen, 1.0, lift)
        groups = min(self.n, max(1, len(risks) // 2))
        yield Figure("risk", EXPOSURE, risks, np.arange(len(risks)) % groups, by=step.by)

    def facts(self) -> Sequence[tuple[str, str]]:
        """Say how much there is, and how good the classifier is."""
        hot = int((self.collection.sensitive == 1).sum())
        quality = [(f"classifier: {says}", f"{self._quality[name]:.3f}")
                   for name, says in QUALITY.items() if name in self._quality]  # fmt: skip
        return [
            ("documents", f"{len(self.collection.documents):,}"),
            ("of them sensitive", f"{hot:,}"),
            ("queries, topics", f"{len(self._topics):,}, {self.n:,}"),
            ("classifier", f"{self._of['classifier']}, {self.study.folds} folds, out of fold"),
            *quality,
            ("cost of a sensitive document in nCS-DCG", f"{self.study.cost:g}"),
        ]

    def notes(self) -> Sequence[str]:
        """Say what the figures are not."""
        return [
            "Nothing is drawn, and no strategy gives differential privacy. Prefilter's answers do"
            " not depend on what it withholds, for documents that the filter caught.",
            "Risks of attackers are over sensitive documents, dealt out to as many groups as there"
            " are topics; utility is over topics that have a relevant document that may be shown.",
            "An attacker that finds nothing proves nothing: another may ask more.",
            "Strategies that learn were fitted to other topics and other documents.",
            *(["The labels were made by a list of words: they say how strategies compare, and"
               " little of real sensitivity."] if self.study.simulated else []),
        ]  # fmt: skip

    def sections(self, results: Results) -> Sequence[Section]:
        """Say what is shown and withheld, and what each attacker found; in figures alone."""
        del results
        return sections(self._told)


def _opened(study: SensitiveStudy, report: Report) -> SensitiveCollection:
    folder = Path(study.collection)
    if study.simulated:
        return simulate(load_collection(folder, report))
    return load(folder, study.sensitivity or None, report)


def _digest(collection: SensitiveCollection) -> str:
    """Return the digest of all of a collection that changes results."""
    parts = [collection.documents.digest, collection.sensitive.tobytes().hex()]
    parts += [repr(sorted(dict(one).items())) for one in collection.metadata]
    parts += [part for name, text in collection.queries.items() for part in (name, text)]
    parts += [repr(sorted(collection.topics.items())), repr(sorted(collection.hidden))]
    parts += [repr((q, sorted(g.items()))) for q, g in sorted(collection.judgements.items())]
    return digest(parts)
