"""Compute the steps of a task: protect its texts, and have them read by a classifier."""

from collections.abc import Sequence

import numpy as np

from veil.core.rng import stream
from veil.core.types import Ids
from veil.studies.experiment import Step
from veil.studies.store import Result
from veil.task.bench import TaskBench
from veil.task.classifier import Classifier, Model
from veil.task.labelled import Labelled
from veil.text.protect import protect

Rows = Sequence[Sequence[str]]


def protected(bench: TaskBench, step: Step) -> Result:
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


def answered(bench: TaskBench, classifier: Classifier, of: Result | None) -> Result:
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
