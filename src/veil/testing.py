"""Checks that a mechanism or an engine keeps its contract: for ours, and for other packages'.

>>> from veil.mechanisms.words.cmp import CMP
>>> check_mechanism(CMP(epsilon=5))
"""

from collections.abc import Sequence
from typing import cast

import numpy as np

from veil.core.errors import TrustError
from veil.core.guarantee import KINDS
from veil.core.protocols import ClosedForm, Engine
from veil.core.types import Released, Seeded
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


def check_engine(engine: Engine, queries: Sequence[str], k: int = 5) -> None:
    """Raise AssertionError where an engine breaks the contract of `search`.

    `queries` must be texts that may be sent to it, and that it can answer.
    """
    asked = [Released(query) for query in queries]
    plain = str(queries[0])  # no longer a released string, should it be one
    for bad in ([*asked, plain], plain):
        _require(_refuses(engine, bad, k), "an engine must refuse what was not released")
    if engine.network:
        seeded = [Seeded(query) for query in queries]
        _require(_refuses(engine, seeded, k), "an engine on a network must refuse seeded releases")
    found = engine.search(asked, k)
    _require(len(set(found.items)) == len(found.items), "each item must be listed once")
    for name in ("texts", "titles"):
        known = len(getattr(found, name))
        _require(known in (0, len(found.items)), f"{name} must be given for all items, or none")
    shape = (len(asked), k)
    _require(found.index.shape == found.scores.shape == shape, "lists must be (n, k)")
    _require(len(found.gaps) in (0, len(asked)), "gaps must be given for all queries, or none")
    _require(found.index.max(initial=-1) < len(found.items), "positions must be of items")
    for row, scores in zip(found.index, found.scores, strict=True):
        length = int((row >= 0).sum())
        _require(bool((row[length:] == -1).all()), "-1 must pad at the end alone")
        _require(bool(np.isneginf(scores[length:]).all()), "-inf must pad the scores")
        _require(len(set(row[:length].tolist())) == length, "a list must hold no item twice")
        _require(bool((np.diff(scores[:length]) <= 0).all()), "scores must not increase")
    _require(bool((found.index >= 0).any()), "the queries must be ones that it can answer")


def _refuses(engine: Engine, queries: object, k: int) -> bool:
    try:
        engine.search(cast(Sequence[Released], queries), k)
    except TrustError:
        return True
    return False


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
