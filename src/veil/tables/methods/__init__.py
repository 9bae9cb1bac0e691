"""Masking methods by name."""

from veil.core.registry import Registry
from veil.tables.method import Method

METHODS: Registry[Method] = Registry(
    noun="method for tables",
    group="veil.mechanisms.tables",
    builtin={
        "blank_impute": "veil.tables.methods.blank_impute:BlankImpute",
        "bottom": "veil.tables.methods.bottom:Bottom",
        "cholesky": "veil.tables.methods.cholesky:Cholesky",
        "exhaustive": "veil.tables.anonymise.exhaustive:Exhaustive",
        "generalise": "veil.tables.methods.generalise:Generalise",
        "incognito": "veil.tables.anonymise.incognito:Incognito",
        "lossy": "veil.tables.methods.lossy:Lossy",
        "mdav": "veil.tables.methods.mdav:MDAV",
        "mondrian": "veil.tables.anonymise.mondrian:Mondrian",
        "noise": "veil.tables.methods.noise:Noise",
        "ola": "veil.tables.anonymise.ola:OLA",
        "pram": "veil.tables.methods.pram:PRAM",
        "random_response": "veil.tables.methods.random_response:RandomResponse",
        "rank_swap": "veil.tables.methods.rank_swap:RankSwap",
        "recode": "veil.tables.methods.recode:Recode",
        "resample": "veil.tables.methods.resample:Resample",
        "rounding": "veil.tables.methods.rounding:Rounding",
        "sample": "veil.tables.methods.sample:Sample",
        "suppress": "veil.tables.methods.suppress:Suppress",
        "swap": "veil.tables.methods.swap:Swap",
        "top": "veil.tables.methods.top:Top",
        "tree": "veil.tables.synthetic.tree:Tree",
        "univariate": "veil.tables.methods.univariate:Univariate",
    },
)
"""Methods for tables, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def method(spec: str | Method) -> Method:
    """Return a method from its spec, as ``mdav(k=10)``."""
    return spec if isinstance(spec, Method) else METHODS.parse(spec)
