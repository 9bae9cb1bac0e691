"""Checks of classifiers of protected texts."""

import numpy as np

from veil.task.classifiers import Classifier
from veil.task.labelled import Labelled
from veil.testing.contract import Check, declarations, parameters, require

KINDS = {"sick": "fever cough doctor pain", "sport": "goal team match ball"}


def texts() -> Labelled:
    """Return forty short texts about two things."""
    rng = np.random.default_rng(4)
    labels = [label for label in KINDS for _ in range(20)]
    lines = [
        " ".join(rng.choice(KINDS[label].split(), 4)) + f" n{i}" for i, label in enumerate(labels)
    ]
    return Labelled(tuple(lines), tuple(labels), "check")


def learns_labels(classifier: Classifier) -> None:
    """Check the shares that a trained model gives to each label."""
    data = texts()
    model = classifier.learn(data, data.classes)
    shares = model.shares(data.texts)
    require(shares.shape == (len(data), len(data.classes)), "shares(texts) must be (n, classes)")
    require(
        bool((shares >= 0).all() and np.allclose(shares.sum(axis=1), 1, atol=1e-5)),
        "the shares of a text must be at least 0 and add up to 1",
    )
    require(
        bool(np.array_equal(shares, model.shares(data.texts))),
        "the same texts must have the same shares",
    )
    require(
        float((shares.argmax(axis=1) == data.codes).mean()) > 0.75,
        "a classifier must learn two kinds of texts that have no word in common",
    )
    require(bool(classifier.key()), "a classifier must have a `key` for caches")


CLASSIFIER: tuple[Check, ...] = (declarations, parameters, learns_labels)
