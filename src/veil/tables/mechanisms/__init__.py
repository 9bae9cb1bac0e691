"""Mechanisms for tables, by name."""

from veil.core.registry import Registry
from veil.tables.mechanism import Mechanism

MECHANISMS: Registry[Mechanism] = Registry(
    noun="mechanism for tables",
    group="veil.mechanisms.tables",
    builtin={
        "blank_impute": "veil.tables.mechanisms.swap:BlankImpute",
        "bottom": "veil.tables.mechanisms.coding:Bottom",
        "cholesky": "veil.tables.mechanisms.noise:Cholesky",
        "exhaustive": "veil.tables.mechanisms.lattice:Exhaustive",
        "generalise": "veil.tables.mechanisms.coding:Generalise",
        "incognito": "veil.tables.mechanisms.lattice:Incognito",
        "lossy": "veil.tables.mechanisms.noise:Lossy",
        "mdav": "veil.tables.mechanisms.microaggregation:MDAV",
        "mondrian": "veil.tables.mechanisms.mondrian:Mondrian",
        "noise": "veil.tables.mechanisms.noise:Noise",
        "ola": "veil.tables.mechanisms.lattice:OLA",
        "pram": "veil.tables.mechanisms.randomise:PRAM",
        "random_response": "veil.tables.mechanisms.randomise:RandomResponse",
        "rank_swap": "veil.tables.mechanisms.swap:RankSwap",
        "recode": "veil.tables.mechanisms.coding:Recode",
        "resample": "veil.tables.mechanisms.noise:Resample",
        "rounding": "veil.tables.mechanisms.coding:Rounding",
        "sample": "veil.tables.mechanisms.swap:Sample",
        "suppress": "veil.tables.mechanisms.coding:Suppress",
        "swap": "veil.tables.mechanisms.swap:Swap",
        "top": "veil.tables.mechanisms.coding:Top",
        "tree": "veil.tables.mechanisms.synthetic:Tree",
        "univariate": "veil.tables.mechanisms.microaggregation:Univariate",
    },
)
"""Mechanisms for tables, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""


def mechanism(spec: str | Mechanism) -> Mechanism:
    """Return a mechanism from its spec, such as ``mdav(k=10)``."""
    return spec if isinstance(spec, Mechanism) else MECHANISMS.parse(spec)
