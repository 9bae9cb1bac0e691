"""Checks that a mechanism keeps the contract: for ours, and for those of other packages.

>>> from veil.mechanisms.words.cmp import CMP
>>> check_mechanism(CMP(epsilon=5))
"""

import numpy as np

from veil.core.guarantee import KINDS
from veil.core.protocols import ClosedForm
from veil.data.embeddings import Embeddings
from veil.mechanisms.mechanism import TextMechanism
from veil.mechanisms.words.mechanism import WordMechanism


def check_mechanism(mechanism: TextMechanism) -> None:
    """Raise AssertionError where a word mechanism breaks the contract of `bind` and `sample`."""
    if not isinstance(mechanism, WordMechanism):
        raise AssertionError("the mechanism must be one for words")  # noqa: TRY004
    rng = np.random.default_rng(0)
    vectors = 0.02 * rng.normal(size=(200, 6)).astype(np.float32)  # near: any budget moves words
    space = Embeddings(tuple(f"word{i}" for i in range(200)), vectors.copy(), "check")
    ids = np.array([7, 0, 199, 7, 42])
    before = ids.copy()
    kernel = mechanism.bind(space)

    size = 2000
    draws = kernel.sample(ids, size, np.random.default_rng(1))
    _require(draws.shape == (size, 5), "sample(ids, size, rng) must give (size, n) draws")
    _require(np.issubdtype(draws.dtype, np.integer), "draws must be whole numbers")
    _require(draws.min() >= 0 and draws.max() < 200, "draws must be words of the space")
    again = mechanism.bind(space).sample(ids, size, np.random.default_rng(1))
    _require(np.array_equal(draws, again), "the same generator must give the same draws")
    other = mechanism.bind(space).sample(ids, size, np.random.default_rng(2))
    _require(not np.array_equal(draws, other), "draws must depend on the generator")
    _require(not np.array_equal(draws[:, 0], draws[:, 3]), "each place must be drawn on its own")
    _require(np.array_equal(ids, before), "the input must stay as it is")
    _require(np.array_equal(space.vectors, vectors), "the space must stay as it is")
    _require(kernel.sample(ids[:0], 3, rng).shape == (3, 0), "no words must give no draws")

    _require(mechanism.guarantee.kind in KINDS, "the guarantee must be of a known kind")
    if isinstance(kernel, ClosedForm):
        total = np.exp(kernel.log_probs(ids)).sum(axis=1)
        _require(np.allclose(total, 1), "probabilities must add up to 1")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
