"""Mechanisms for ratings by name; a plugin announces its own in ``veil.mechanisms.ratings``."""

from veil.core.registry import Registry
from veil.ratings.mechanism import Mechanism
from veil.ratings.recommender import Recommender

MECHANISMS: Registry[Mechanism | Recommender] = Registry(
    noun="mechanism",
    group="veil.mechanisms.ratings",
    former=("veil.ratings.protections",),
    builtin={
        "bits": "veil.ratings.mechanisms.bits:Bits",
        "compressed": "veil.ratings.mechanisms.values:Compressed",
        "dlaplace": "veil.ratings.mechanisms.values:DLaplace",
        "dpals": "veil.ratings.recommenders.dpals:DPALS",
        "dpcovariance": "veil.ratings.recommenders.dpcovariance:DPCovariance",
        "dppopularity": "veil.ratings.recommenders.dppopularity:DPPopularity",
        "federated": "veil.ratings.recommenders.federated:Federated",
        "kprofiles": "veil.ratings.mechanisms.profiles:KProfiles",
        "krr": "veil.ratings.mechanisms.values:KRR",
        "pseudonyms": "veil.ratings.mechanisms.profiles:Pseudonyms",
    },
)
"""Mechanisms for ratings, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
