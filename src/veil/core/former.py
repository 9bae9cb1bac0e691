"""Former modules: imports that older docs show keep working for one release.

A former module has the names that the docs imported from it, and no others. Remove it in 0.4.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMER = {
    "veil.places.attackers": {"ATTACKERS": "veil.places.attacks:ATTACKS"},
    "veil.places.method": {"Method": "veil.places.mechanism:Mechanism"},
    "veil.places.methods": {
        "METHODS": "veil.places.mechanisms:MECHANISMS",
        "method": "veil.places.mechanisms:mechanism",
    },
    "veil.ratings.protections": {"PROTECTIONS": "veil.ratings.mechanisms:MECHANISMS"},
    "veil.sensitive.attackers": {"ATTACKERS": "veil.sensitive.attacks:ATTACKS"},
    "veil.sensitive.strategies": {"STRATEGIES": "veil.sensitive.mechanisms:MECHANISMS"},
    "veil.tables.method": {"Method": "veil.tables.mechanism:Mechanism"},
    "veil.tables.methods": {
        "METHODS": "veil.tables.mechanisms:MECHANISMS",
        "method": "veil.tables.mechanisms:mechanism",
    },
    "veil.core.noise": {"laplace_ball": "veil.core.rng:laplace_ball"},
    "veil.core.ranks": {"standing": "veil.core.outcome:rank_with_ties"},
    "veil.corpus.documents": {
        "Document": "veil.corpus.collection:Document",
        "Documents": "veil.corpus.collection:Documents",
    },
    "veil.measures.estimate": {
        name: f"veil.core.estimate:{name}"
        for name in "Comparison Estimate above_chance bootstrap compare interval p_values".split()
    },
    "veil.text.api": {
        "measure_all": "veil.text.measures.measure:measure_all",
        "plugin_measures": "veil.text.measures.measure:plugin_measures",
    },
    "veil.text.attacks.log": {"QueryLog": "veil.text.log:QueryLog"},
    "veil.search.engines.network.fields": {
        "Timeout": "veil.search.engines.network.remote:Timeout",
        "Url": "veil.search.engines.network.remote:Url",
    },
    "veil.search.score.pairing": {
        "paired": "veil.search.score.points:paired",
        "points_in": "veil.search.score.points:points_in",
    },
    "veil.testing.checks": {
        "check_attack": "veil.testing.text:check_attack",
        "check_engine": "veil.testing.search:check_engine",
        "check_measure": "veil.testing.text:check_measure",
        "check_mechanism": "veil.testing.text:check_mechanism",
    },
    "veil.studies.keys": {
        "digest": "veil.studies.experiment:digest",
        "step_key": "veil.studies.experiment:step_key",
    },
}
"""Former module -> name -> ``module:name`` today."""


class FormerModules:
    """Imports a module of `FORMER`: each name is loaded from its current module."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a former module, or None."""
        del path, target
        return ModuleSpec(name, self) if name in FORMER else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making of the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names."""
        for name, target in FORMER[module.__name__].items():
            home, _, current = target.partition(":")
            setattr(module, name, getattr(import_module(home), current))


def install() -> None:
    """Make former modules importable; once."""
    if not any(isinstance(finder, FormerModules) for finder in sys.meta_path):
        sys.meta_path.append(FormerModules())


def warn_renamed(former: str, current: str) -> None:
    """Warn that a name has changed; Python shows this once for each place in the caller's code."""
    warnings.warn(
        f"{former} is now {current}; the former name goes away in 0.4.",
        DeprecationWarning,
        stacklevel=3,
    )
