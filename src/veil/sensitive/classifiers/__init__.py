"""Classifiers by name; a plugin announces its own in ``veil.sensitive.classifiers``."""

from veil.core.registry import Registry
from veil.sensitive.classifier import Classifier

CLASSIFIERS: Registry[Classifier] = Registry(
    "classifier",
    "veil.sensitive.classifiers",
    {
        "boosting": "veil.sensitive.classifiers.boosting:Boosting",
        "logistic": "veil.sensitive.classifiers.logistic:Logistic",
    },
)
"""Classifiers of sensitive documents, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def classifier(spec: str | Classifier) -> Classifier:
    """Return a classifier by its spec, as ``logistic(C=10)``."""
    return spec if isinstance(spec, Classifier) else CLASSIFIERS.parse(spec)
