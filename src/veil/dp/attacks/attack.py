"""Attack a database through its questions alone."""

from veil.core.rng import Randomness, generator
from veil.core.types import Floats
from veil.dp.arguments import count
from veil.dp.attacks import ATTACKERS
from veil.dp.attacks.asking import Ask, Questions
from veil.dp.attacks.attacker import Attacker


def attack(spec: str | Attacker, ask: Ask, n: int, rng: Randomness = None) -> Floats:
    """Guess the secret of each of n records.

    Parameters
    ----------
    spec
        The attacker: reconstruction, differencing, tracker, averaging or membership, with its
        parameters.
    ask
        Answers a question: handed which of the n records are meant, as truth values (n,), it
        returns their count or sum, exact or noisy, or raises RefusedError. It is all that the
        attacker learns from.
    n
        Number of records.

    Returns
    -------
    Floats
        (n,) guesses, nan where there is none; of membership scores, the higher the likelier.

    Examples
    --------
    >>> import numpy as np
    >>> secret = np.array([1, 0, 0, 1, 1])
    >>> attack("differencing", lambda mask: secret[mask].sum(), 5).tolist()
    [1.0, 0.0, 0.0, 1.0, 1.0]
    """
    size, by = count("n", n), attacker_of(spec)
    return by.found(Questions(ask), size, generator(rng))


def asked_by(spec: str | Attacker, n: int) -> int:
    """Return how many questions an attacker puts to n records.

    >>> asked_by("differencing", 100)
    101
    """
    ask = Questions(lambda _: 0.0)
    attacker_of(spec).found(ask, n, generator(0))
    return ask.asked


def attacker_of(spec: str | Attacker) -> Attacker:
    """Return an attacker from its spec, as ``reconstruction(queries=400)``."""
    return spec if isinstance(spec, Attacker) else ATTACKERS.parse(spec)
