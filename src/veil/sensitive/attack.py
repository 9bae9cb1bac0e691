"""Attack what a strategy shows: which sensitive documents are seen, or told of by a gap."""

from numpy.typing import ArrayLike

from veil.sensitive.attacker import Attack, Exposure, Probe, Sightings
from veil.sensitive.attacks import attacker as attacker_of
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.evaluate import scene_of
from veil.sensitive.inputs import check_k
from veil.sensitive.mechanism import Mechanism
from veil.sensitive.mechanisms import mechanism as strategy_of


def attack(
    collection: SensitiveCollection,
    strategy: str | Mechanism,
    p: ArrayLike | None,
    attacker: str | Attack = "known-item(terms=5)",
    k: int = 10,
    seed: int = 0,
) -> Exposure:
    """Ask as somebody who is not cleared, and say what was seen and what could be concluded.

    Parameters
    ----------
    strategy, p
        What decides, and on what: see `rank`.
    attacker
        As ``known-item(terms=5)``, ``gap``, ``count``, ``frequency`` or ``queries``.
    k
        Documents of one page.
    seed
        Of the decoys. They are no protection: the same ones make figures comparable.

    Notes
    -----
    The risk is that of these attackers. Another one, who knows more or asks more, may find more.
    """
    return Exposure.of(find_sightings(collection, strategy, p, attacker, k, seed))


def find_sightings(
    collection: SensitiveCollection,
    strategy: str | Mechanism,
    p: ArrayLike | None,
    attacker: str | Attack,
    k: int = 10,
    seed: int = 0,
) -> Sightings:
    """Return the same document by document."""
    chosen, by, k = strategy_of(strategy), attacker_of(attacker), check_k(k)
    searcher = chosen.open(scene_of(collection, chosen, p))
    return by.run(Probe(collection, searcher, k, seed))
