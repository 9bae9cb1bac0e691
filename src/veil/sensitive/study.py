"""Experiments on search among sensitive documents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

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
    mechanism: Mechanism | None,
    k: int,
    cost: float,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return nDCG-visible of each query, and summary figures of all lists."""
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
    threshold = getattr(mechanism, "threshold", None)
    if threshold is not None and p is not None:
        visible = p < threshold  # False for nan
        data["caught"] = float((~visible[hot]).mean())
        data["lost"] = float((~visible[~hot]).mean()) if (~hot).any() else 0.0
    return scores[utility], data


_SHOWN = (
    "Shares and counts over all queries, without naming a document. Caught: sensitive documents"
    " that a filter withholds. Lost: other documents that it withholds. nCS-DCG is next to that of"
    " the empty list, which is often hard to beat: a skill below 0 is worse than showing nothing."
    " Documents without a judgement count as not relevant, so lists with few judged documents are"
    " understated."
)
_INFERRED = (
    "Exposed: sensitive documents in some list shown to the attacker. Inferred: of the others,"
    " those whose existence it rightly infers. False alarms: how often it infers the existence of"
    " decoys, which do not exist. Risk = exposed + (1 − exposed) · max(0, inferred − false"
    " alarms), with 95 % intervals over documents."
)
_COLUMNS = {
    "shown": "shown per query",
    "sensitive": "of them sensitive",
    "any": "queries with any",
    "caught": "caught",
    "lost": "lost",
    "judged": "judged",
}
_PLAIN_COUNTS = ("shown",)  # a number; the others are shares


@dataclass(eq=False)
class MechanismSummary:
    """Figures of one mechanism, shown and inferred."""

    shown: Mapping[str, Any] = field(default_factory=dict)
    attacks: dict[str, Outcome] = field(default_factory=dict)


def sections(summaries: Mapping[str, MechanismSummary]) -> list[Section]:
    """Return a section on shown and withheld documents, and one on inferred documents."""
    parts = []
    lists = [_line(spec, record.shown) for spec, record in summaries.items() if record.shown]
    if lists:
        names = ("mechanism", *_COLUMNS.values(), "nCS-DCG", "empty list", "skill")
        laid = table("What is shown and withheld", [head(*names)], lists)
        hint = tag("p", _SHOWN, class_="hint")
        parts.append(Section("withheld", "Shown and withheld", (hint, laid)))
    attacks = [
        _attack(spec, by, exposure)
        for spec, record in summaries.items()
        for by, exposure in record.attacks.items()
    ]
    if attacks:
        names = ("mechanism", "attack", "exposed", "inferred", "false alarms", "risk")
        laid = table("What a searcher can infer", [head(*names)], attacks)
        hint = tag("p", _INFERRED, class_="hint")
        parts.append(Section("inferred", "What can be inferred", (hint, laid)))
    return parts


def _title(spec: str) -> Markup:
    label = "relevance alone" if spec == PLAIN else MECHANISMS.parse(spec).brief
    return tag("th", label, scope="row")


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
_K = 10  # length of a list in a study
_COMMANDS = "index search evaluate attack"


class SensitiveStudy(Study):
    """The keys of a study of sensitive documents."""

    collection: Annotated[str, Field(description="folder of the test collection")]
    sensitivity: Annotated[str, Field(description="labels, if they are not in the folder")] = ""
    simulated: Annotated[
        bool, Field(description="make labels by a list of words instead of reading them")
    ] = False
    classifier: Annotated[
        str, Field(description="classifier that estimates the probabilities")
    ] = "logistic"
    folds: Annotated[int, Field(ge=2, le=100, description="folds of cross-validation")] = 5
    cost: Annotated[
        float, Field(ge=0, description="cost of one sensitive document in nCS-DCG")
    ] = 12.0


@dataclass(frozen=True, eq=False)
class SensitiveMaterial:
    """A collection; `p` (n,) are its sensitivity probabilities, if not from a classifier."""

    name: str
    collection: SensitiveCollection
    p: Floats | None = None
    k: int = _K


class Sensitive(Experiment):
    """Search among sensitive documents: what is shown, and what a searcher can still infer."""

    words: ClassVar[Vocabulary] = Vocabulary(
        title="search among sensitive documents",
        subject="topic",
        subjects="topics",
        size="lists",
        plain="relevance alone",
        utility=Axis(UTILITY, "nDCG of the ten documents shown, with grade 0 for sensitive ones"),
        risks=(
            Axis(SHOWN, "share of the queries that show a sensitive document"),
            Axis(EXPOSURE, "a sensitive document is seen, or its existence rightly inferred"),
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
    @override
    def read(cls, study: SensitiveStudy, report: Report) -> SensitiveMaterial:
        folder = Path(study.collection)
        if study.simulated:
            collection = simulate(load_collection(folder, report))
        else:
            collection = load(folder, study.sensitivity or None, report)
        if len({collection.topic(query) for query in collection.queries}) < 2:
            raise InputError("A study needs queries of at least two topics.")
        return SensitiveMaterial(folder.name, collection)

    @override
    def use(self, material: SensitiveMaterial) -> None:
        self.material, self.collection = material, material.collection
        queries = self.collection.queries
        self._topics = {name: self.collection.topic(name) for name in queries}
        self._rows = {topic: row for row, topic in enumerate(dict.fromkeys(self._topics.values()))}
        self.data, self.n = material.name, len(self._rows)
        self._summaries: dict[str, MechanismSummary] = {}
        self._quality: Mapping[str, float] = {}

    @classmethod
    def content(cls, material: SensitiveMaterial) -> str:
        """Return the digest of everything in a collection that affects results."""
        return _digest(material.collection)

    @classmethod
    def inputs_of(cls, study: SensitiveStudy, material: SensitiveMaterial) -> dict[str, object]:
        """Return the content of the collection, independent of its files."""
        return {
            "data": cls.content(material),
            "classifier": str(classifier(study.classifier)),
            "folds": study.folds,
            "cost": study.cost,
            "seed": study.seed,
        }

    @classmethod
    def settle(cls, study: SensitiveStudy, name: str, folder: Path) -> SensitiveStudy:
        """Make paths absolute, but keep the names of registered collections."""
        classifier(study.classifier)
        settled: SensitiveStudy = super().settle(study, name, folder)
        unresolved = {
            key: getattr(study, key)
            for key in cls.paths
            if not (folder / getattr(study, key)).exists()
        }
        return settled.model_copy(update=unresolved)

    @cached_property
    def _order(self) -> Ids:
        """A secret permutation of the sensitive documents for stored results."""
        count = int((self.collection.sensitive == 1).sum())
        return stream(int(_digest(self.collection)[:16], 16), 0).permutation(count)

    def release_step(self, spec: str, size: int) -> Step:
        """Return the step that shows and measures the lists of a mechanism."""
        probabilities = "" if self.in_memory else self.step("classify").key
        return self.step("show", spec, size, probabilities)

    @override
    def comparisons(self, mechanism: object) -> list[tuple[str, str]]:
        if mechanism is not None:
            return []
        return [("show", "")] if self.in_memory else [("classify", ""), ("show", "")]

    def compute(self, step: Step, of: Result | None) -> Result:
        """Return the result of a step, which names no document."""
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
        mechanism = self.mechanisms.parse(spec)
        scene = scene_of(self.collection, mechanism, p)
        searcher: Searcher = self.remembered(spec, lambda: mechanism.open(scene))
        return searcher

    def _any(self, lists: Mapping[str, Ids]) -> Floats:
        """Return the share of the queries of each topic (n,) that show a sensitive document."""
        hot = {name: (self.collection.sensitive[own] == 1).any() for name, own in lists.items()}
        return self._by_topic({name: float(value) for name, value in hot.items()})

    def _by_topic(self, values: Mapping[str, float]) -> Floats:
        """Return the mean of each topic (n,); nan without values."""
        means: Floats = np.full(self.n, np.nan)
        for topic, row in self._rows.items():
            own = [v for q, v in values.items() if self._topics.get(q) == topic and np.isfinite(v)]
            means[row] = np.mean(own) if own else np.nan
        return means

    def _shown(self, step: Step, lists: Mapping[str, Ids], p: Floats | None) -> Result:
        mechanism = self.mechanisms.parse(step.spec) if step.spec else None
        values, data = figures_of(
            self.collection, lists, p, mechanism, self.material.k, self.study.cost
        )
        arrays = {"utility": self._by_topic(values)} | ({} if p is None else {"p": p})
        return Result(arrays, data)

    @override
    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        del cell
        if step.kind == "classify":
            self._quality = result.data
            return
        summary = self._summaries.setdefault(step.spec or PLAIN, MechanismSummary())
        if step.kind == "show":
            summary.shown = result.data
            yield Figure("utility", UTILITY, result.arrays["utility"])
            return
        exposure = score(*(result.arrays[name] for name in ("seen", "claims", "alarms")))
        summary.attacks[step.by] = exposure
        if ATTACKS.parse(step.by).name == "queries":
            yield Figure("risk", SHOWN, result.arrays["shown"], by=step.by)
        # Unseen documents have equal risks with the attack's mean. They are spread over topics, at
        # least two to each: the difference of two rates is as uncertain as one rate of half as
        # many cases, and bounds must not be lower.
        risks = exposure.per_record
        groups = min(self.n, max(1, len(risks) // 2))
        yield Figure("risk", EXPOSURE, risks, np.arange(len(risks)) % groups, by=step.by)

    @override
    def facts(self) -> Sequence[tuple[str, str]]:
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

    @override
    def notes(self) -> Sequence[str]:
        return [
            "Nothing is random, and no mechanism is differentially private. The answers of"
            " prefilter do not depend on withheld documents, if the filter caught them.",
            "Risks of attacks are over sensitive documents, spread over as many groups as there"
            " are topics; utility is over topics with a relevant document that may be shown.",
            "An attack that finds nothing proves nothing: another one may find more.",
            "Mechanisms that learn were trained on other topics and other documents.",
            *(["The labels come from a list of words: they show how mechanisms compare, and"
               " little about real sensitivity."] if self.study.simulated else []),
        ]  # fmt: skip

    @override
    def sections(self, results: Results) -> Sequence[Section]:
        del results
        return sections(self._summaries)


def _digest(collection: SensitiveCollection) -> str:
    """Return the digest of everything in a collection that affects results."""
    parts = [collection.documents.digest, collection.sensitive.tobytes().hex()]
    parts += [repr(sorted(dict(entry).items())) for entry in collection.metadata]
    parts += [part for name, text in collection.queries.items() for part in (name, text)]
    parts += [repr(sorted(collection.topics.items())), repr(sorted(collection.hidden))]
    parts += [repr((q, sorted(g.items()))) for q, g in sorted(collection.judgements.items())]
    return digest(parts)
