"""Protections of ratings by name; a plugin announces its own in ``veil.ratings.protections``."""

from veil.core.registry import Registry
from veil.ratings.protection import Protection
from veil.ratings.recommender import Recommender

PROTECTIONS: Registry[Protection | Recommender] = Registry(
    "protection",
    "veil.ratings.protections",
    {
        "bits": "veil.ratings.protections.bits:Bits",
        "compressed": "veil.ratings.protections.values:Compressed",
        "dlaplace": "veil.ratings.protections.values:DLaplace",
        "dpals": "veil.ratings.recommenders.dpals:DPALS",
        "dpcovariance": "veil.ratings.recommenders.dpcovariance:DPCovariance",
        "dppopularity": "veil.ratings.recommenders.dppopularity:DPPopularity",
        "federated": "veil.ratings.recommenders.federated:Federated",
        "kprofiles": "veil.ratings.protections.profiles:KProfiles",
        "krr": "veil.ratings.protections.values:KRR",
        "pseudonyms": "veil.ratings.protections.profiles:Pseudonyms",
    },
)
"""Protections of ratings and models, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
