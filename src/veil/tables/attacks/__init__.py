"""Attacks on tables by name."""

from veil.core.errors import ParameterError
from veil.core.registry import Registry
from veil.tables.attack import Attack

ATTACKS: Registry[Attack] = Registry(
    noun="attack on tables",
    group="veil.attacks.tables",
    builtin={
        "attribute": "veil.tables.attacks.disclosure:Attribute",
        "background": "veil.tables.attacks.disclosure:Background",
        "distance": "veil.tables.attacks.linkage:Distance",
        "exact": "veil.tables.attacks.linkage:Exact",
        "fellegi_sunter": "veil.tables.attacks.linkage:FellegiSunter",
        "homogeneity": "veil.tables.attacks.disclosure:Homogeneity",
        "inference": "veil.tables.attacks.anonymeter:Inference",
        "interval": "veil.tables.attacks.disclosure:Interval",
        "journalist": "veil.tables.attacks.classes:Journalist",
        "linkability": "veil.tables.attacks.anonymeter:Linkability",
        "linkage": "veil.tables.attacks.linkage:Linkage",
        "marketer": "veil.tables.attacks.classes:Marketer",
        "prosecutor": "veil.tables.attacks.classes:Prosecutor",
        "similarity": "veil.tables.attacks.disclosure:Similarity",
        "singling_out": "veil.tables.attacks.anonymeter:SinglingOut",
        "skewness": "veil.tables.attacks.disclosure:Skewness",
        "unique": "veil.tables.attacks.classes:Unique",
    },
)
"""Attacks on tables, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def attacker(spec: str | Attack) -> Attack:
    """Return an attack from its spec, as ``interval(width=0.05)``."""
    if isinstance(spec, Attack):
        return spec
    if not isinstance(spec, str):
        raise ParameterError("An attacker is a component, or a spec such as 'distance'.")
    return ATTACKS.parse(spec)
