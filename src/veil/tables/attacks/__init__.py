"""Attackers of tables by name."""

from veil.core.errors import ParameterError
from veil.core.registry import Registry
from veil.tables.attacks.attacker import TableAttacker

ATTACKS: Registry[TableAttacker] = Registry(
    noun="attacker of tables",
    group="veil.attacks.tables",
    builtin={
        "attribute": "veil.tables.attacks.attribute:Attribute",
        "background": "veil.tables.attacks.background:Background",
        "distance": "veil.tables.attacks.distance:Distance",
        "exact": "veil.tables.attacks.exact:Exact",
        "fellegi_sunter": "veil.tables.attacks.fellegi_sunter:FellegiSunter",
        "homogeneity": "veil.tables.attacks.homogeneity:Homogeneity",
        "inference": "veil.tables.attacks.inference:Inference",
        "interval": "veil.tables.attacks.interval:Interval",
        "journalist": "veil.tables.attacks.journalist:Journalist",
        "linkability": "veil.tables.attacks.linkability:Linkability",
        "linkage": "veil.tables.attacks.linkage:Linkage",
        "marketer": "veil.tables.attacks.marketer:Marketer",
        "prosecutor": "veil.tables.attacks.prosecutor:Prosecutor",
        "similarity": "veil.tables.attacks.similarity:Similarity",
        "singling_out": "veil.tables.attacks.singling_out:SinglingOut",
        "skewness": "veil.tables.attacks.skewness:Skewness",
        "unique": "veil.tables.attacks.unique:Unique",
    },
)
"""Attackers of tables, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def attacker(spec: str | TableAttacker) -> TableAttacker:
    """Return an attacker from its spec, as ``interval(width=0.05)``."""
    if isinstance(spec, TableAttacker):
        return spec
    if not isinstance(spec, str):
        raise ParameterError("An attacker is a component, or a spec such as 'distance'.")
    return ATTACKS.parse(spec)
