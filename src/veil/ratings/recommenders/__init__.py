"""Registry of recommenders; plugins use the entry-point group ``veil.recommenders.ratings``."""

from veil.core.registry import Registry
from veil.ratings.recommender import Recommender

RECOMMENDERS: Registry[Recommender] = Registry(
    noun="recommender",
    group="veil.recommenders.ratings",
    former=("veil.ratings.recommenders",),
    builtin={
        "als": "veil.ratings.recommenders.als:ALS",
        "bias": "veil.ratings.recommenders.baselines:Bias",
        "content": "veil.ratings.recommenders.content:Content",
        "dpals": "veil.ratings.recommenders.dpals:DPALS",
        "dpcovariance": "veil.ratings.recommenders.dpcovariance:DPCovariance",
        "dppopularity": "veil.ratings.recommenders.dppopularity:DPPopularity",
        "ease": "veil.ratings.recommenders.ease:EASE",
        "federated": "veil.ratings.recommenders.federated:Federated",
        "ials": "veil.ratings.recommenders.ials:IALS",
        "itemknn": "veil.ratings.recommenders.neighbours:ItemKNN",
        "mean": "veil.ratings.recommenders.baselines:Mean",
        "popularity": "veil.ratings.recommenders.baselines:Popularity",
        "sgd": "veil.ratings.recommenders.sgd:SGD",
        "userknn": "veil.ratings.recommenders.neighbours:UserKNN",
    },
)
"""All recommenders, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def recommender(spec: str | Recommender) -> Recommender:
    """Return the recommender of a spec such as ``itemknn(k=20)``."""
    return RECOMMENDERS.parse(spec) if isinstance(spec, str) else spec
