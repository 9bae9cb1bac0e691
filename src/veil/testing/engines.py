"""The contract of `search`."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from veil.core.component import Component
from veil.core.errors import TrustError
from veil.core.types import Engine, Released, Seeded
from veil.testing._contract import declared, in_one_sentence, require


@in_one_sentence()
def check_engine(
    engine: Engine, queries: Sequence[str], k: int = 5, *, spec: Component | None = None
) -> None:
    """Raise AssertionError where an engine breaks the contract of `search`.

    `queries` must be texts that may be sent to it, and that it can answer. `spec` is what it was
    opened from, where that is not the engine itself.
    """
    require(
        isinstance(getattr(engine, "network", None), bool) and hasattr(engine, "search"),
        "an engine must have `network` and `search`; of a spec give what its `open` returns",
    )
    for part in (engine, spec):
        if isinstance(part, Component):
            declared(type(part))
    require(
        len(queries) > 0 and not isinstance(queries, str), "there must be a list of queries to ask"
    )
    asked = [Released(query) for query in queries]
    plain = str(queries[0])  # no longer a released string, should it be one
    for bad in ([*asked, plain], plain):
        require(_refuses(engine, bad, k), "an engine must refuse what was not released")
    if engine.network:
        seeded = [Seeded(query) for query in queries]
        require(_refuses(engine, seeded, k), "an engine on a network must refuse seeded releases")
    found = engine.search(asked, k)
    require(len(set(found.items)) == len(found.items), "each item must be listed once")
    for name in ("texts", "titles"):
        known = len(getattr(found, name))
        require(known in (0, len(found.items)), f"{name} must be given for all items, or none")
    shape = (len(asked), k)
    require(found.index.shape == found.scores.shape == shape, "lists must be (n, k)")
    require(len(found.gaps) in (0, len(asked)), "gaps must be given for all queries, or none")
    require(found.index.max(initial=-1) < len(found.items), "positions must be of items")
    for row, scores in zip(found.index, found.scores, strict=True):
        length = int((row >= 0).sum())
        require(bool((row[length:] == -1).all()), "-1 must pad at the end alone")
        require(bool(np.isneginf(scores[length:]).all()), "-inf must pad the scores")
        require(len(set(row[:length].tolist())) == length, "a list must hold no item twice")
        require(bool((np.diff(scores[:length]) <= 0).all()), "scores must not increase")
    require(bool((found.index >= 0).any()), "the queries must be ones that it can answer")


def _refuses(engine: Engine, queries: object, k: int) -> bool:
    try:
        engine.search(cast(Sequence[Released], queries), k)
    except TrustError:
        return True
    return False
