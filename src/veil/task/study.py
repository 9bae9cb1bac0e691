"""The domain of downstream tasks: protect texts, classify them, attack them, and score both."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.core.rng import stream
from veil.core.types import Floats, Ids
from veil.corpus.collection import Collection, Document, Documents
from veil.corpus.logs import read_log
from veil.data.fetch import Report, no_progress
from veil.search.study.material import StudyMaterial, absolute
from veil.search.study.steps import VERSIONS as SEARCH_VERSIONS
from veil.search.study.steps import compute as compute_attack
from veil.search.study.steps import inputs
from veil.search.study.study import SearchStudy, attacker_specs
from veil.studies.experiment import (
    Axis,
    Cell,
    Experiment,
    Figure,
    Methods,
    Step,
    Vocabulary,
    digest,
)
from veil.studies.figures import ranked
from veil.studies.results import Example
from veil.studies.store import Result
from veil.studies.study import Specs, Study, distinct_specs, locate_errors
from veil.task.classifiers import CLASSIFIERS, Classifier, Model
from veil.task.labelled import LEAST, Labelled, load
from veil.text.attack import EncoderAttack
from veil.text.attacks import ATTACKS
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS
from veil.text.mechanisms.mechanism import QueryMechanism
from veil.text.mechanisms.queries.scramble import whole_cost
from veil.text.protect import protect


def above_majority(right: Floats, plain: Floats, majority: Floats) -> Floats:
    r"""Return values (n,) whose mean is the utility, before that is cut to [0, 1].

    .. math:: U = \frac{a - m}{p - m}, \qquad
       v_i = U + \frac{(a_i - m_i) - U\,(p_i - m_i)}{p - m}

    `right`, `plain` and `majority` (n,) are 1 for texts whose label is predicted from the
    protected form, from the plain form, and by always guessing the most common label. Their means
    are a, p and m.

    Notes
    -----
    U is a ratio of means over texts, so it has no value for a single text. The values are its
    linearisation (the delta method). Their mean is U, and their spread is the variation of U, with
    that of p and m, over other samples of texts. Each value may be outside [0, 1].
    """
    a, p, m = (float(np.mean(values)) for values in (right, plain, majority))
    if p <= m:
        raise InputError(
            "On plain texts, the classifier must be right more often than guessing the most common"
            f" label. Got {p:.3f} against {m:.3f} instead. Use more training texts or another"
            " classifier."
        )
    share = (a - m) / (p - m)
    values: Floats = share + ((right - majority) - share * (plain - majority)) / (p - m)
    return values


class TaskStudy(Study):
    """The study file of a downstream task."""

    texts: Annotated[str, Field(description="table of texts with labels")]
    text: Annotated[str, Field(description="column of the texts")] = "text"
    label: Annotated[str, Field(description="column of the labels")] = "label"
    test: Annotated[
        int, Field(ge=LEAST, le=1_000_000, description="maximum number of test texts")
    ] = 400
    classifier: Annotated[
        Specs, Field(min_length=1, strict=False, description="what is trained; a list for several")
    ] = (
        "logistic",
        "logistic(train=protected, texts=400)",
    )
    vectors: Annotated[str, Field(description="word vectors")] = "glove-100d"
    log: Annotated[
        str, Field(description="candidates of attackers: 'texts', all of the table, or a file")
    ] = "texts"
    log_size: Annotated[
        int, Field(ge=0, description="maximum number of texts of the log; 0: all")
    ] = 0
    attackers: Annotated[Specs, Field(strict=False)] = ("inference",)


OWN = "texts"  # default log: all texts of the study's table


class TaskBench(StudyMaterial):
    """Labelled texts, and the material that text mechanisms and attacks need."""

    def __init__(self, study: TaskStudy, report: Report = no_progress) -> None:
        super().__init__(
            SearchStudy(
                name=study.name,
                seed=study.seed,
                sizes=study.sizes,
                vectors=study.vectors,
                log="collection",
                log_size=study.log_size,
                encoder="none",
                attackers=study.attackers,
                mechanism=study.mechanism,
            ),
            report,
        )
        self.task = study
        self.labelled = load(study.texts, study.text, study.label)
        self.test, self.training = self.labelled.split(study.test, study.seed)
        self._models: dict[str, Model] = {}
        self._predictions: dict[str, Ids] = {}
        self._progress = report

    @cached_property
    def collection(self) -> Collection:
        """The training texts as documents, and the log of the attackers."""
        documents = (Document(f"{i}", "", text) for i, text in enumerate(self.training.texts))
        log = self.labelled.texts if self.task.log == OWN else tuple(read_log(Path(self.task.log)))
        return Collection(self.labelled.name, Documents.of(documents), log=log)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the test texts: their numbers."""
        return tuple(str(number) for number in range(len(self.test)))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The test texts."""
        return self.test.texts

    def training_texts(self, classifier: Classifier) -> Labelled:
        """Return the plain training texts of a classifier."""
        return self.training.some(range(min(classifier.taught, len(self.training))))

    @cached_property
    def protected(self) -> int:
        """Number of training texts to protect."""
        classifiers = map(CLASSIFIERS.parse, self.task.classifier)
        counts = (classifier.taught for classifier in classifiers if classifier.protected)
        return min(max(counts, default=0), len(self.training))

    def plain_model(self, classifier: Classifier) -> Model:
        """Return the classifier trained on plain texts, trained once per process."""
        spec = str(classifier)
        if spec not in self._models:
            self._models[spec] = self.learn(classifier, self.training_texts(classifier))
        return self._models[spec]

    def plain_predictions(self, spec: str, predict: Callable[[], Ids]) -> Ids:
        """Return a classifier's predictions for the plain texts, computed once per process."""
        if spec not in self._predictions:
            self._predictions[spec] = predict()
        return self._predictions[spec]

    def learn(self, classifier: Classifier, texts: Labelled) -> Model:
        """Train a classifier."""
        return classifier.learn(texts, self.labelled.classes, self._progress)


Rows = Sequence[Sequence[str]]


def protect_texts(bench: TaskBench, step: Step) -> Result:
    """Draw the variants of the test texts, and one variant of each training text to protect.

    A text with nothing to protect is not released: it has no variants.
    """
    mechanism = bench.mechanism(step.spec, step.size)
    space = bench.space if "vectors" in mechanism.needs else None
    rng = stream(bench.task.seed, int(step.key[:16], 16))
    release = protect(bench.texts, mechanism, space, step.size, in_clear=True, rng=rng)
    words = np.array(release.protected, dtype=np.int64)
    training: list[list[str]] = []
    if bench.protected:
        size = step.size if getattr(mechanism, "whole", False) else 1
        texts = bench.training.texts[: bench.protected]
        others = protect(texts, mechanism, space, size, in_clear=True, rng=rng)
        training = _protected_rows(others.rows, others.protected)
    variants = _protected_rows(release.rows, release.protected)
    return Result({"protected": words}, {"variants": variants, "training": training})


def _protected_rows(rows: Rows, words: Sequence[int]) -> list[list[str]]:
    """Return the variants of each text, none for a text without protected words."""
    pairs = zip(rows, words, strict=True)
    return [[str(text) for text in row] if count else [] for row, count in pairs]


def read_texts(bench: TaskBench, classifier: Classifier, of: Result | None) -> Result:
    """Classify the protected texts of a release, or the plain ones; return which are right.

    `plain` and `majority` are which texts the same classifier gets right in their plain form, and
    which texts have the most common label.
    """
    plain_model = bench.plain_model(classifier)
    codes = {label: number for number, label in enumerate(bench.labelled.classes)}
    labels = np.array([codes[label] for label in bench.test.labels], dtype=np.int64)
    common = codes[bench.training.majority]
    unprotected = labels == bench.plain_predictions(
        str(classifier), lambda: read(plain_model, [[text] for text in bench.texts], common)
    )
    right = unprotected
    if of is not None:
        model = plain_model
        if classifier.protected:
            texts = _protected_training(bench, classifier, of.data["training"])
            model = bench.learn(classifier, texts)
        right = read(model, of.data["variants"], common) == labels
    arrays = {"right": right, "plain": unprotected, "majority": labels == common}
    return Result({name: values.astype(np.float64) for name, values in arrays.items()})


def read(model: Model, rows: Rows, common: int) -> Ids:
    """Return the predicted label (n,) of each row: the likeliest for the mean of its variants.

    A row without variants gets the most common label.
    """
    shares = model.shares([text for row in rows for text in row])
    labels = np.full(len(rows), common, dtype=np.int64)
    start = 0
    for number, row in enumerate(rows):
        if row:
            labels[number] = shares[start : start + len(row)].mean(axis=0).argmax()
        start += len(row)
    return labels


def _protected_training(bench: TaskBench, classifier: Classifier, rows: Rows) -> Labelled:
    """Return the protected training texts of a classifier, with their labels."""
    unprotected = bench.training_texts(classifier)
    pairs = [
        (row[0], label)
        for row, label in zip(rows[: len(unprotected)], unprotected.labels, strict=True)
        if row
    ]
    return Labelled(
        tuple(text for text, _ in pairs), tuple(label for _, label in pairs), unprotected.name
    )


ABOVE, ACCURACY = "accuracy above majority", "accuracy"
_EXAMPLES = 3
WORDS = Vocabulary(
    title="a task on protected texts",
    subject="text",
    subjects="texts",
    size="variants",
    plain="plain texts",
    utility=Axis(ABOVE, "accuracy above the most common label's, over that on plain texts"),
    better="the classifier is right more often",
    families=("Cover groups", "Sampling", "Embedding perturbation", "Heuristics"),
    apart=("linkage", "session", "shortlist"),
)


class Tasks(Experiment):
    """Classifiers on protected texts: train, attack and compare them."""

    words: ClassVar[Vocabulary] = WORDS
    keys = TaskStudy
    mechanisms: ClassVar[Methods] = TEXT_MECHANISMS
    attackers: ClassVar[Methods | None] = ATTACKS
    verbs: ClassVar[dict[str, str]] = {"sentiment": "veil.task.api:sentiment"}
    source = "texts"

    paths = ("texts",)

    @classmethod
    def read(cls, study: TaskStudy, report: Report) -> TaskBench:
        """Read the labelled texts; other material is opened when a step needs it."""
        return TaskBench(study, report)

    @classmethod
    def inputs_of(cls, study: TaskStudy, material: TaskBench) -> dict[str, object]:
        """Return the texts with their labels, and the seed."""
        parts = [
            digest([*texts.texts, "", *texts.labels])
            for texts in (material.test, material.training)
        ]
        return {"texts": parts, "seed": study.seed}

    def use(self, material: TaskBench) -> None:
        """Keep the texts."""
        self.bench, self.data, self.n = material, material.labelled.name, len(material.test)

    @classmethod
    def settle(cls, study: TaskStudy, name: str, folder: Path) -> TaskStudy:
        """Make paths absolute and normalise specs."""
        settled = {"vectors": absolute(study.vectors, "vectors", name, folder)}
        if study.log != OWN:
            settled["log"] = absolute(study.log, "log", name, folder)
        with locate_errors(f"In {name}, 'classifier'"):
            classifiers = distinct_specs(map(CLASSIFIERS.parse, study.classifier))
        whole: TaskStudy = super().settle(study, name, folder)
        return whole.model_copy(update={**settled, "classifier": classifiers})

    @classmethod
    def attacker_specs(cls, attackers: Sequence[str]) -> tuple[str, ...]:
        """Normalise the specs of attackers, including their encoders."""
        return attacker_specs(attackers)

    def comparisons(self, mechanism: object) -> list[tuple[str, str]]:
        """Classify plain texts, or protected ones, by each classifier."""
        kind = "plain" if mechanism is None else "read"
        return [(kind, classifier) for classifier in self.study.classifier]

    def changes(self, kind: str, spec: str, size: int, of: str, by: str) -> dict[str, object]:
        """Return everything that changes the result of a step."""
        if kind == "protect":
            changes = {**self.inputs, "size": size, "training": self.bench.protected}
            return changes | inputs(self.mechanisms.parse(spec), self.bench, size)
        if kind == "attack":
            return {"of": of, **self._attack_inputs(by)}
        classifier = CLASSIFIERS.parse(by)
        changes = {"classifier": str(classifier), "weights": classifier.key()}
        return {**self.inputs, **changes} if kind == "plain" else {"of": of, **changes}

    def _attack_inputs(self, by: str) -> dict[str, object]:
        attacker = ATTACKS.parse(by)
        parts: dict[str, object] = {"attacker": str(attacker), "reads": attacker.reads}
        parts["version"] = str(SEARCH_VERSIONS["attack"])
        if "log" in attacker.needs:
            parts["log"] = self.bench.log_digest
        if isinstance(attacker, EncoderAttack):
            parts["encoder"] = self.bench.encoder_key(attacker.encoder)
        return parts

    def prepare(self, missing: Sequence[Step]) -> None:
        """Fetch or compute the files that mechanisms and attacks need."""
        attacks: dict[str, dict[str, None]] = {}
        for step in missing:
            if step.kind == "protect":
                self.bench.mechanism(step.spec, step.size)
            elif step.kind == "attack":
                attacks.setdefault(step.by, {})[step.spec] = None
        for attacker, specs in attacks.items():
            self.bench.prepare(attacker, list(specs))

    def compute(self, step: Step, of: Result | None) -> Result:
        """Protect, classify or attack."""
        if step.kind == "protect":
            return protect_texts(self.bench, step)
        if step.kind == "attack":
            return compute_attack(self.bench, step, of)
        return read_texts(self.bench, CLASSIFIERS.parse(step.by), of)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the utility with its accuracy, or the risks."""
        del cell
        if "gap" in result.data or step.kind == "protect":
            return
        if step.kind == "attack":
            outcome = result.outcome()
            unit = WORDS.subject if outcome.unit == "query" else outcome.unit
            yield from ranked(replace(outcome, unit=unit), step.by, WORDS)
            return
        names = ("right", "plain", "majority")
        right, unprotected, majority = (result.arrays[name] for name in names)
        yield Figure("utility", ABOVE, above_majority(right, unprotected, majority), task=step.by)
        yield Figure("utility", ACCURACY, right, task=step.by, plane=False)

    def cost(self, cell: Cell, release: Result) -> Guarantee:
        """Return the cost of all variants of a text of median length."""
        mechanism = self.bench.mechanism(str(cell.mechanism), cell.size)
        if isinstance(mechanism, QueryMechanism) and mechanism.whole:
            return whole_cost(mechanism.guarantee, 1)
        words = int(np.median(release.arrays["protected"]))
        size = f"{count_of(words, 'word')} x {count_of(cell.size, 'variant')}"
        return cell.mechanism.guarantee.compose(words * cell.size, f"text ({size})")

    def examples(self, cell: Cell, release: Result) -> Iterator[Example]:
        """Yield the first texts that have variants, with some of their variants."""
        rows = zip(self.bench.texts, release.data["variants"], strict=True)
        for text, row in [(text, row) for text, row in rows if row][:_EXAMPLES]:
            yield Example(str(cell.mechanism), text, tuple(dict.fromkeys(row[:_EXAMPLES])))

    def facts(self) -> Sequence[tuple[str, str]]:
        """Return the sizes of the data, and the accuracy of a constant guess."""
        test, training = self.bench.test, self.bench.training
        guess: Floats = np.array([label == training.majority for label in test.labels])
        return [
            ("test texts", f"{len(test):,}"),
            ("training texts", f"{len(training):,}"),
            ("labels", f"{len(self.bench.labelled.classes)}"),
            ("most common label", f"right for {guess.mean():.3f} of the test texts"),
            ("log", f"{len(self.bench.log):,} distinct texts"),
            ("vectors", Path(self.study.vectors).name),
        ]

    def notes(self) -> Sequence[str]:
        """Return the limits of the figures."""
        notes = [
            "The attackers' log contains the test texts, so the risk is not a lower bound for lack"
            " of them."
        ]
        if self.bench.protected:
            notes.append(
                "For a classifier with 'train=protected', each training text has one protected"
                " form, which attackers do not see."
            )
        return notes
