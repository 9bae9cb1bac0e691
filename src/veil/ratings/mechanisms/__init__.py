"""Registry of mechanisms; plugins use the entry-point group ``veil.mechanisms.ratings``."""

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
"""All mechanisms for ratings, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def mechanism(spec: str | Mechanism | Recommender) -> Mechanism | Recommender:
    """Return the mechanism of a spec such as ``kprofiles(k=10)``."""
    return MECHANISMS.parse(spec) if isinstance(spec, str) else spec
