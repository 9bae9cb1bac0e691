"""Search among sensitive documents as an experiment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.estimate import Estimate
from veil.core.outcome import Outcome
from veil.core.rng import stream
from veil.core.types import Floats, Ids
from veil.corpus.catalogue import load_collection
from veil.data.fetch import Report
from veil.drawing.markup import Markup, interval, number, percent, tag
from veil.drawing.page import head, table
from veil.sensitive.attack import Scene, score
from veil.sensitive.attacks import ATTACKS
from veil.sensitive.classifiers import classifier
from veil.sensitive.collection import SensitiveCollection, load, simulate
from veil.sensitive.cross_validate import cross_validate
from veil.sensitive.evaluate import evaluate, scene_of
from veil.sensitive.mechanism import Mechanism, Searcher
from veil.sensitive.mechanisms import MECHANISMS
from veil.studies.experiment import (
    Axis,
    Cell,
    Experiment,
    Figure,
    Step,
    Vocabulary,
    digest,
)
from veil.studies.results import PLAIN, Results, Section
from veil.studies.store import Result
from veil.studies.study import Study

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
    strategy: Mechanism | None,
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
    threshold = getattr(strategy, "threshold", None)
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
    attacks: dict[str, Outcome] = field(default_factory=dict)


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


def _attack(spec: str, by: str, outcome: Outcome) -> Markup:
    shares = (outcome.details[name] for name in ("exposed", "inferred", "false_alarms"))
    figures = (*shares, outcome.risk)
    return tag("tr", _title(spec), tag("td", by), *map(_cell, figures))


def _cell(value: Estimate) -> Markup:
    return tag("td", number(value), " ", tag("small", interval(value.low, value.high)))


UTILITY, SHOWN, EXPOSURE = "nDCG-visible@10", "shown", "exposure"
_K = 10  # documents of a list in a study
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


@dataclass(frozen=True, eq=False)
class SensitiveMaterial:
    """A collection; `p` (n,) is how likely documents are sensitive, if no classifier says it."""

    name: str
    collection: SensitiveCollection
    p: Floats | None = None
    k: int = _K


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

    domain = "sensitive"
    version = 2
    paths = ("collection", "sensitivity")
    single = "nothing is drawn"
    release_kind = "show"
    usual = ("queries", "known-item", "gap", "count", "frequency")
    attacks_plain = True
    plane_measure = EXPOSURE

    @classmethod
    def read(cls, study: SensitiveStudy, report: Report) -> SensitiveMaterial:
        """Read the collection with its labels."""
        folder = Path(study.collection)
        if study.simulated:
            collection = simulate(load_collection(folder, report))
        else:
            collection = load(folder, study.sensitivity or None, report)
        if len({collection.topic(query) for query in collection.queries}) < 2:
            raise InputError("A study needs queries of at least two topics.")
        return SensitiveMaterial(folder.name, collection)

    def use(self, material: SensitiveMaterial) -> None:
        """Keep the collection."""
        self.material, self.collection = material, material.collection
        queries = self.collection.queries
        self._topics = {name: self.collection.topic(name) for name in queries}
        self._rows = {topic: row for row, topic in enumerate(dict.fromkeys(self._topics.values()))}
        self.data, self.n = material.name, len(self._rows)
        self._summaries: dict[str, StrategySummary] = {}
        self._quality: Mapping[str, float] = {}

    @classmethod
    def content(cls, material: SensitiveMaterial) -> str:
        """Return the digest of all of a collection that changes results."""
        return _digest(material.collection)

    @classmethod
    def inputs_of(cls, study: SensitiveStudy, material: SensitiveMaterial) -> dict[str, object]:
        """Return the content of the collection, whatever files it was read from."""
        return {
            "data": cls.content(material),
            "classifier": str(classifier(study.classifier)),
            "folds": study.folds,
            "cost": study.cost,
            "seed": study.seed,
        }

    @classmethod
    def settle(cls, study: SensitiveStudy, name: str, folder: Path) -> SensitiveStudy:
        """Make paths absolute, and leave the names of collections as they are."""
        classifier(study.classifier)
        settled: SensitiveStudy = super().settle(study, name, folder)
        named = {
            key: getattr(study, key)
            for key in cls.paths
            if not (folder / getattr(study, key)).exists()
        }
        return settled.model_copy(update=named)

    @cached_property
    def _order(self) -> Ids:
        """An order of the sensitive documents that only who has them can undo."""
        count = int((self.collection.sensitive == 1).sum())
        return stream(int(_digest(self.collection)[:16], 16), 0).permutation(count)

    def release_step(self, spec: str, size: int) -> Step:
        """Return the step that shows the lists of a strategy, and measures them, too."""
        probabilities = "" if self.in_memory else self.step("classify").key
        return self.step("show", spec, size, probabilities)

    def comparisons(self, mechanism: object) -> list[tuple[str, str]]:
        """Learn how likely documents are sensitive, and show what ignores that."""
        if mechanism is not None:
            return []
        return [("show", "")] if self.in_memory else [("classify", ""), ("show", "")]

    def compute(self, step: Step, of: Result | None) -> Result:
        """Classify, show or attack; what is kept names no document."""
        if step.kind == "classify":
            quality = cross_validate(
                self.collection, self.study.classifier, self.study.folds, self.study.seed
            )
            return Result({"p": quality.p}, {name: getattr(quality, name) for name in QUALITY})
        p = None
        if step.spec:
            p = self.material.p if of is None or "p" not in of.arrays else of.arrays["p"]
        searcher = self._searcher(step.spec or "relevance()", p)
        k = self.material.k
        lists = {
            name: searcher.answer(text, k, self._topics[name]).positions
            for name, text in self.collection.queries.items()
        }
        if step.kind == "show":
            return self._shown(step, lists, p)
        outcome = ATTACKS.parse(step.by).run(Scene(self.collection, searcher, k, self.study.seed))
        arrays = {
            name: outcome.details[name][self._order] for name in ("seen", "claims", "alarms")
        }
        return Result({**arrays, "shown": self._any(lists)})

    def _searcher(self, spec: str, p: Floats | None) -> Searcher:
        strategy = self.mechanisms.parse(spec)
        scene = scene_of(self.collection, strategy, p)
        searcher: Searcher = self.remembered(spec, lambda: strategy.open(scene))
        return searcher

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
        strategy = self.mechanisms.parse(step.spec) if step.spec else None
        values, data = figures_of(
            self.collection, lists, p, strategy, self.material.k, self.study.cost
        )
        arrays = {"utility": self._by_topic(values)} | ({} if p is None else {"p": p})
        return Result(arrays, data)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the utility by topic, and what attackers see and infer."""
        del cell
        if step.kind == "classify":
            self._quality = result.data
            return
        summary = self._summaries.setdefault(step.spec or PLAIN, StrategySummary())
        if step.kind == "show":
            summary.shown = result.data
            yield Figure("utility", UTILITY, result.arrays["utility"])
            return
        exposure = score(*(result.arrays[name] for name in ("seen", "claims", "alarms")))
        summary.attacks[step.by] = exposure
        if ATTACKS.parse(step.by).name == "queries":
            yield Figure("risk", SHOWN, result.arrays["shown"], by=step.by)
        # What is not seen has the same risk each, so that the mean is that of the attack. The
        # documents are dealt out to topics, at least two to each: the difference of two rates is
        # as uncertain as one rate of half as many cases, and bounds must not be lower.
        risks = exposure.per_record
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
            ("classifier", f"{self.inputs['classifier']}, {self.study.folds} folds, out of fold"),
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
        return sections(self._summaries)


def _digest(collection: SensitiveCollection) -> str:
    """Return the digest of all of a collection that changes results."""
    parts = [collection.documents.digest, collection.sensitive.tobytes().hex()]
    parts += [repr(sorted(dict(one).items())) for one in collection.metadata]
    parts += [part for name, text in collection.queries.items() for part in (name, text)]
    parts += [repr(sorted(collection.topics.items())), repr(sorted(collection.hidden))]
    parts += [repr((q, sorted(g.items()))) for q, g in sorted(collection.judgements.items())]
    return digest(parts)
