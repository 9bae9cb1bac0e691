"""A task as an experiment: texts are protected, read by a classifier, and scored."""

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
from veil.search.study.steps import compute as attacked
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
    step_key,
)
from veil.studies.figures import ranked
from veil.studies.results import Example
from veil.studies.store import Result
from veil.studies.study import Specs, Study, distinct_specs, locate_errors
from veil.task.classifiers import CLASSIFIERS, Classifier, Model
from veil.task.labelled import LEAST, Labelled, load
from veil.text.attacks import ATTACKS
from veil.text.attacks.attack import EncoderAttack
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS
from veil.text.mechanisms.mechanism import QueryMechanism
from veil.text.mechanisms.queries.scramble import whole_cost
from veil.text.protect import protect


def above_majority(right: Floats, plain: Floats, majority: Floats) -> Floats:
    r"""Return values (n,) whose mean is the utility, before that is cut to [0, 1].

    .. math:: U = \frac{a - m}{p - m}, \qquad
       v_i = U + \frac{(a_i - m_i) - U\,(p_i - m_i)}{p - m}

    `right`, `plain` and `majority` (n,) are 1 where the label of a text is found in its protected
    form, in its plain form, and by always guessing the commonest label; a, p, m are their means.

    Notes
    -----
    U is a ratio of means over texts, of which no value of one text is. The values are its
    linearisation (the delta method): their mean is U, and their spread is what U varies by when
    other texts are drawn, p and m with it. Each may lie outside of [0, 1].
    """
    a, p, m = (float(np.mean(values)) for values in (right, plain, majority))
    if p <= m:
        raise InputError(
            "On plain texts the classifier must be right more often than by always guessing the"
            f" commonest label. Got {p:.3f} against {m:.3f} instead: give it more texts to learn"
            " from, or take another."
        )
    share = (a - m) / (p - m)
    values: Floats = share + ((right - majority) - share * (plain - majority)) / (p - m)
    return values


class TaskStudy(Study):
    """What is measured of labelled texts."""

    texts: Annotated[str, Field(description="table of texts with labels")]
    text: Annotated[str, Field(description="column of the texts")] = "text"
    label: Annotated[str, Field(description="column of the labels")] = "label"
    test: Annotated[
        int, Field(ge=LEAST, le=1_000_000, description="texts that are asked, at most")
    ] = 400
    classifier: Annotated[Specs, Field(min_length=1, strict=False)] = (
        "logistic",
        "logistic(train=protected, texts=400)",
    )
    vectors: Annotated[str, Field(description="word vectors")] = "glove-100d"
    log: Annotated[
        str, Field(description="what attackers guess from: texts, all of the table, or a file")
    ] = "texts"
    log_size: Annotated[int, Field(ge=0, description="texts of the log, at most; 0: all")] = 0
    attackers: Annotated[Specs, Field(strict=False)] = ("inference",)


OWN = "texts"  # the log of a study that names none: all texts of its file


class TaskBench(StudyMaterial):
    """Texts with labels, and what mechanisms and attackers of texts work with."""

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
        self.asked, self.taught = self.labelled.split(study.test, study.seed)
        self._models: dict[str, Model] = {}
        self._plain: dict[str, Ids] = {}
        self._told = report

    @cached_property
    def collection(self) -> Collection:
        """The texts that teach, as documents; the attacker's log."""
        documents = (Document(f"{i}", "", text) for i, text in enumerate(self.taught.texts))
        log = self.labelled.texts if self.task.log == OWN else tuple(read_log(Path(self.task.log)))
        return Collection(self.labelled.name, Documents.of(documents), log=log)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the texts that are asked: their numbers."""
        return tuple(str(number) for number in range(len(self.asked)))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts that are asked."""
        return self.asked.texts

    def teaching(self, classifier: Classifier) -> Labelled:
        """Return the texts that teach a classifier."""
        return self.taught.some(range(min(classifier.taught, len(self.taught))))

    @cached_property
    def protected(self) -> int:
        """How many of the texts that teach are protected, too."""
        chosen = map(CLASSIFIERS.parse, self.task.classifier)
        wanted = (one.taught for one in chosen if one.protected)
        return min(max(wanted, default=0), len(self.taught))

    def plain_model(self, classifier: Classifier) -> Model:
        """Return a classifier that plain texts have taught, once per process."""
        spec = str(classifier)
        if spec not in self._models:
            self._models[spec] = self.learn(classifier, self.teaching(classifier))
        return self._models[spec]

    def remembered(self, spec: str, read: Callable[[], Ids]) -> Ids:
        """Return what a classifier reads in the plain texts, once per process."""
        if spec not in self._plain:
            self._plain[spec] = read()
        return self._plain[spec]

    def learn(self, classifier: Classifier, taught: Labelled) -> Model:
        """Teach a classifier."""
        return classifier.learn(taught, self.labelled.classes, self._told)


Rows = Sequence[Sequence[str]]


def protect_texts(bench: TaskBench, step: Step) -> Result:
    """Draw the variants of the texts that are asked, and one of each that teaches.

    A text of which nothing would be protected is not released: it has no variants.
    """
    mechanism = bench.mechanism(step.spec, step.size)
    space = bench.space if "vectors" in mechanism.needs else None
    rng = stream(bench.task.seed, int(step.key[:16], 16))
    made = protect(bench.texts, mechanism, space, step.size, in_clear=True, rng=rng)
    words = np.array(made.protected, dtype=np.int64)
    training: list[list[str]] = []
    if bench.protected:
        whole = step.size if getattr(mechanism, "whole", False) else 1
        others = protect(
            bench.taught.texts[: bench.protected], mechanism, space, whole, in_clear=True, rng=rng
        )
        training = _sent(others.rows, others.protected)
    return Result(
        {"protected": words}, {"variants": _sent(made.rows, made.protected), "training": training}
    )


def _sent(rows: Rows, words: Sequence[int]) -> list[list[str]]:
    pairs = zip(rows, words, strict=True)
    return [[str(one) for one in row] if count else [] for row, count in pairs]


def read_texts(bench: TaskBench, classifier: Classifier, of: Result | None) -> Result:
    """Read protected texts, or without a release the plain ones, and see which are read right.

    `plain` and `majority` are what the same classifier reads in the plain texts, and what always
    guessing the commonest label gives.
    """
    plain_model = bench.plain_model(classifier)
    own = {label: number for number, label in enumerate(bench.labelled.classes)}
    true = np.array([own[label] for label in bench.asked.labels], dtype=np.int64)
    common = own[bench.taught.majority]
    seen = bench.remembered(
        str(classifier), lambda: read(plain_model, [[text] for text in bench.texts], common)
    )
    plain = seen == true
    right = plain
    if of is not None:
        model = plain_model
        if classifier.protected:
            model = bench.learn(classifier, _taught(bench, classifier, of.data["training"]))
        right = read(model, of.data["variants"], common) == true
    arrays = {"right": right, "plain": plain, "majority": true == common}
    return Result({name: values.astype(np.float64) for name, values in arrays.items()})


def read(model: Model, rows: Rows, common: int) -> Ids:
    """Return the label (n,) of each row: the likeliest on the mean of its variants.

    Of a row without variants nothing is known: the commonest label is guessed.
    """
    shares = model.shares([text for row in rows for text in row])
    found = np.full(len(rows), common, dtype=np.int64)
    start = 0
    for number, row in enumerate(rows):
        if row:
            found[number] = shares[start : start + len(row)].mean(axis=0).argmax()
        start += len(row)
    return found


def _taught(bench: TaskBench, classifier: Classifier, rows: Rows) -> Labelled:
    """Return the texts that teach in their protected form, with their labels."""
    plain = bench.teaching(classifier)
    pairs = [
        (row[0], label) for row, label in zip(rows[: len(plain)], plain.labels, strict=True) if row
    ]
    return Labelled(tuple(t for t, _ in pairs), tuple(one for _, one in pairs), plain.name)


ABOVE, ACCURACY = "accuracy above majority", "accuracy"
_VERSION = 1  # of what is computed here
_EXAMPLES = 3
WORDS = Vocabulary(
    title="a task on protected texts",
    subject="text",
    subjects="texts",
    size="variants",
    plain="plain texts",
    utility=Axis(ABOVE, "accuracy above the commonest label's, over that on plain texts"),
    better="the classifier is right more often",
    families=("Cover groups", "Sampling", "Embedding perturbation", "Heuristics"),
    apart=("linkage", "session", "shortlist"),
)


class Tasks(Experiment):
    """Labelled texts: protected, read by a classifier, and attacked."""

    words: ClassVar[Vocabulary] = WORDS
    keys = TaskStudy
    mechanisms: ClassVar[Methods] = TEXT_MECHANISMS
    attackers: ClassVar[Methods | None] = ATTACKS
    verbs: ClassVar[dict[str, str]] = {"sentiment": "veil.task.api:sentiment"}
    source = "texts"

    def __init__(self, study: TaskStudy, report: Report = no_progress) -> None:
        self.study: TaskStudy = study
        self.bench = TaskBench(study, report)
        self.data, self.n = self.bench.labelled.name, len(self.bench.asked)

    @classmethod
    def settle(cls, study: TaskStudy, name: str, folder: Path) -> TaskStudy:
        """Make paths absolute and write specs in one way."""
        settled: dict[str, object] = {
            "texts": str((folder / study.texts).resolve()),
            "vectors": absolute(study.vectors, "vectors", name, folder),
        }
        if study.log != OWN:
            settled["log"] = absolute(study.log, "log", name, folder)
        with locate_errors(f"In {name}, 'classifier'"):
            settled["classifier"] = distinct_specs(map(CLASSIFIERS.parse, study.classifier))
        return study.model_copy(update=settled)

    @classmethod
    def spelt(cls, attackers: Sequence[str]) -> tuple[str, ...]:
        """Write the encoder of an attacker in one way, too."""
        return attacker_specs(attackers)

    @cached_property
    def _of(self) -> dict[str, object]:
        """What all steps depend on: the texts with their labels, and the seed."""
        parts = [
            digest([*one.texts, "", *one.labels]) for one in (self.bench.asked, self.bench.taught)
        ]
        return {"texts": parts, "seed": self.study.seed}

    def _read(self, classifier: str) -> dict[str, object]:
        chosen = CLASSIFIERS.parse(classifier)
        return {"classifier": str(chosen), "weights": chosen.key()}

    def plain(self) -> list[Step]:
        """Return the reading of the plain texts, one per classifier."""
        return [
            Step("plain", step_key("plain", _VERSION, {**self._of, **self._read(each)}), by=each)
            for each in self.study.classifier
        ]

    def cells(self) -> list[Cell]:
        """Return a release for each mechanism, value and size, read and attacked."""
        found = []
        for size in dict.fromkeys(self.study.sizes):
            for grid in self.study.mechanism:
                for mechanism, value in grid.mechanisms(TEXT_MECHANISMS):
                    made = {**self._of, "size": size, "training": self.bench.protected}
                    made |= inputs(mechanism, self.bench, size)
                    key = step_key("protect", _VERSION, made)
                    release = Step("protect", key, str(mechanism), size)
                    steps = tuple(self._steps(release, self.study.against(grid)))
                    found.append(Cell(mechanism, grid.parameter, value, size, release, steps))
        return found

    def _steps(self, release: Step, attackers: Sequence[str]) -> Iterator[Step]:
        spec, size, of = release.spec, release.size, release.key
        for each in self.study.classifier:
            key = step_key("read", _VERSION, {"of": of, **self._read(each)})
            yield Step("read", key, spec, size, of, each, size)
        for each in attackers:
            attacker = ATTACKS.parse(each)
            known = {"of": of, "attacker": str(attacker), "reads": attacker.reads}
            known["version"] = str(SEARCH_VERSIONS["attack"])
            if "log" in attacker.needs:
                known["log"] = self.bench.log_digest
            if isinstance(attacker, EncoderAttack):
                known["encoder"] = self.bench.encoder_key(attacker.encoder)
            key = step_key("attack", _VERSION, known)
            yield Step("attack", key, spec, size, of, each, size)

    def prepare(self, missing: Sequence[Step]) -> None:
        """Have on disk what mechanisms and attackers need."""
        attacks: dict[str, dict[str, None]] = {}
        for step in missing:
            if step.kind == "protect":
                self.bench.mechanism(step.spec, step.size)
            elif step.kind == "attack":
                attacks.setdefault(step.by, {})[step.spec] = None
        for attacker, specs in attacks.items():
            self.bench.prepare(attacker, list(specs))

    def compute(self, step: Step, of: Result | None) -> Result:
        """Protect, read or attack."""
        if step.kind == "protect":
            return protect_texts(self.bench, step)
        if step.kind == "attack":
            return attacked(self.bench, step, of)
        return read_texts(self.bench, CLASSIFIERS.parse(step.by), of)

    def figures(self, cell: Cell | None, step: Step, found: Result) -> Iterator[Figure]:
        """Yield the utility with the accuracy behind it, and the risks."""
        del cell
        if "gap" in found.data or step.kind == "protect":
            return
        if step.kind == "attack":
            outcome = found.outcome()
            unit = WORDS.subject if outcome.unit == "query" else outcome.unit
            yield from ranked(replace(outcome, unit=unit), step.by, WORDS)
            return
        right, plain, majority = (found.arrays[name] for name in ("right", "plain", "majority"))
        yield Figure("utility", ABOVE, above_majority(right, plain, majority), task=step.by)
        yield Figure("utility", ACCURACY, right, task=step.by, plane=False)

    def cost(self, cell: Cell, made: Result) -> Guarantee:
        """Return what all variants of a text of the usual length cost."""
        mechanism = self.bench.mechanism(str(cell.mechanism), cell.size)
        if isinstance(mechanism, QueryMechanism) and mechanism.whole:
            return whole_cost(mechanism.guarantee, 1)
        usual = int(np.median(made.arrays["protected"]))
        size = f"{count_of(usual, 'word')} x {count_of(cell.size, 'variant')}"
        return cell.mechanism.guarantee.compose(usual * cell.size, f"text ({size})")

    def examples(self, cell: Cell, made: Result) -> Iterator[Example]:
        """Yield the first texts that have variants, and some of those."""
        rows = zip(self.bench.texts, made.data["variants"], strict=True)
        for text, row in [(text, row) for text, row in rows if row][:_EXAMPLES]:
            yield Example(str(cell.mechanism), text, tuple(dict.fromkeys(row[:_EXAMPLES])))

    def facts(self) -> Sequence[tuple[str, str]]:
        """Say how much there is, and what a constant guess reaches."""
        asked, taught = self.bench.asked, self.bench.taught
        guess: Floats = np.array([label == taught.majority for label in asked.labels])
        return [
            ("texts that are asked", f"{len(asked):,}"),
            ("texts that may teach", f"{len(taught):,}"),
            ("labels", f"{len(self.bench.labelled.classes)}"),
            ("commonest label", f"right for {guess.mean():.3f} of the texts"),
            ("log", f"{len(self.bench.log):,} distinct texts"),
            ("vectors", Path(self.study.vectors).name),
        ]

    def notes(self) -> Sequence[str]:
        """Say what the figures are not."""
        found = [
            "The texts that are asked are in the attackers' log, so that the risk is not a lower"
            " bound for want of them."
        ]
        if self.bench.protected:
            found.append(
                "Texts that teach a classifier 'train=protected' have one protected form each;"
                " attackers are not shown those."
            )
        return found
