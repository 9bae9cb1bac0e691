"""Masking methods by name."""

from veil.core.registry import Registry
from veil.tables.method import Method

METHODS: Registry[Method] = Registry(
    noun="method for tables",
    group="veil.mechanisms.tables",
    builtin={
        "blank_impute": "veil.tables.methods.swap:BlankImpute",
        "bottom": "veil.tables.methods.coding:Bottom",
        "cholesky": "veil.tables.methods.noise:Cholesky",
        "exhaustive": "veil.tables.methods.lattice:Exhaustive",
        "generalise": "veil.tables.methods.coding:Generalise",
        "incognito": "veil.tables.methods.lattice:Incognito",
        "lossy": "veil.tables.methods.noise:Lossy",
        "mdav": "veil.tables.methods.microaggregation:MDAV",
        "mondrian": "veil.tables.methods.mondrian:Mondrian",
        "noise": "veil.tables.methods.noise:Noise",
        "ola": "veil.tables.methods.lattice:OLA",
        "pram": "veil.tables.methods.randomise:PRAM",
        "random_response": "veil.tables.methods.randomise:RandomResponse",
        "rank_swap": "veil.tables.methods.swap:RankSwap",
        "recode": "veil.tables.methods.coding:Recode",
        "resample": "veil.tables.methods.noise:Resample",
        "rounding": "veil.tables.methods.coding:Rounding",
        "sample": "veil.tables.methods.swap:Sample",
        "suppress": "veil.tables.methods.coding:Suppress",
        "swap": "veil.tables.methods.swap:Swap",
        "top": "veil.tables.methods.coding:Top",
        "tree": "veil.tables.methods.synthetic:Tree",
        "univariate": "veil.tables.methods.microaggregation:Univariate",
    },
)
"""Methods for tables, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def method(spec: str | Method) -> Method:
    """Return a method from its spec, as ``mdav(k=10)``."""
    return spec if isinstance(spec, Method) else METHODS.parse(spec)
