"""The table of classifiers; each row is loaded on first use."""

from veil.core.registry import Registry
from veil.task.classifier import Classifier

CLASSIFIERS: Registry[Classifier] = Registry(
    noun="classifier",
    group="veil.task.classifiers",
    builtin={
        "logistic": "veil.task.classifiers.logistic:Logistic",
        "pipeline": "veil.task.classifiers.pipeline:Pipeline",
    },
)
