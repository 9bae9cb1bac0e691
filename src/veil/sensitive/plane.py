"""Place mechanisms for sensitive search on the risk-utility plane."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from veil import studies
from veil.measures.plane import Plane as Plane
from veil.measures.plane import PlanePoint as PlanePoint
from veil.sensitive.attack import Attack
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.inputs import check_k, probabilities_of
from veil.sensitive.mechanism import Mechanism
from veil.sensitive.study import Sensitive, SensitiveMaterial


def plane(
    collection: SensitiveCollection,
    strategies: Sequence[str | Mechanism],
    p: ArrayLike | None,
    attacker: str | Attack = "known-item(terms=5)",
    k: int = 10,
    seed: int = 0,
) -> Plane:
    """Answer the queries by each mechanism, attack it, and measure its lists.

    The arguments are those of `rank` and `attack`.
    """
    probabilities = None if p is None else probabilities_of(p, len(collection.documents))
    material = SensitiveMaterial(collection.name, collection, probabilities, check_k(k))
    experiment = Sensitive.of(material, seed)
    utility = f"nDCG-visible@{k}"
    return studies.plane(experiment, strategies, [attacker], utility=utility)
