"""The contract of `bind` and `sample`."""

import numpy as np

from veil.core.guarantee import KINDS
from veil.core.types import ClosedForm
from veil.testing._contract import declared, in_one_sentence, require
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.vectors.embeddings import Embeddings


@in_one_sentence()
def check_mechanism(mechanism: WordMechanism) -> None:
    """Raise AssertionError where a word mechanism breaks the contract of `bind` and `sample`.

    It must be one that draws: give parameters with which words often change.
    """
    require(
        isinstance(mechanism, WordMechanism),
        "the mechanism must be one for words, with its parameters: no class, and no name",
    )
    declared(type(mechanism))
    require(bool(mechanism.paper), "a mechanism must have a `paper`: where it is defined")
    rng = np.random.default_rng(0)
    vectors = 0.02 * rng.normal(size=(200, 6)).astype(np.float32)  # near: any budget moves words
    space = Embeddings(tuple(f"word{i}" for i in range(200)), vectors.copy(), "check")
    ids = np.array([7, 0, 199, 7, 42])
    before = ids.copy()
    kernel = mechanism.bind(space)

    size = 2000
    draws = kernel.sample(ids, size, np.random.default_rng(1))
    require(draws.shape == (size, 5), "sample(ids, size, rng) must give (size, n) draws")
    require(np.issubdtype(draws.dtype, np.integer), "draws must be whole numbers")
    require(draws.min() >= 0 and draws.max() < 200, "draws must be words of the space")
    again = mechanism.bind(space).sample(ids, size, np.random.default_rng(1))
    require(np.array_equal(draws, again), "the same generator must give the same draws")
    other = mechanism.bind(space).sample(ids, size, np.random.default_rng(2))
    require(
        not np.array_equal(draws, other),
        "draws must depend on the generator; give parameters with which words change",
    )
    require(not np.array_equal(draws[:, 0], draws[:, 3]), "each place must be drawn on its own")
    require(np.array_equal(ids, before), "the input must stay as it is")
    require(np.array_equal(space.vectors, vectors), "the space must stay as it is")
    require(kernel.sample(ids[:0], 3, rng).shape == (3, 0), "no words must give no draws")

    require(mechanism.guarantee.kind in KINDS, "the guarantee must be of a known kind")
    if isinstance(kernel, ClosedForm):
        total = np.exp(kernel.log_probs(ids)).sum(axis=1)
        require(np.allclose(total, 1), "probabilities must add up to 1")
