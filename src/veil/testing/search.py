"""Checks of engines, the untrusted side of a search, and of text encoders."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from veil.core.component import Component
from veil.core.errors import InputError, TrustError
from veil.core.types import Engine, Released, Seeded
from veil.corpus.collection import Collection, Document, Documents
from veil.encoders.encoder import EncoderSpec
from veil.search.engines.engine import EngineSpec
from veil.search.engines.network.remote import Remote
from veil.testing.contract import (
    CANARY,
    Check,
    declarations,
    declared,
    in_one_sentence,
    parameters,
    refusal,
    require,
)


@in_one_sentence()
def check_engine(
    engine: Engine, queries: Sequence[str], k: int = 5, *, spec: Component | None = None
) -> None:
    """Raise AssertionError if an engine breaks the contract of `search`.

    `queries` must be texts that may be sent to the engine and that it can answer. `spec` is the
    component that the engine was opened from, if that is not the engine itself.
    """
    require(
        isinstance(getattr(engine, "network", None), bool) and hasattr(engine, "search"),
        "an engine must have `network` and `search`; pass what `open` returns, not the spec",
    )
    for part in (engine, spec):
        if isinstance(part, Component):
            declared(type(part))
    require(
        len(queries) > 0 and not isinstance(queries, str),
        "`queries` must be a list of at least one query",
    )
    released = [Released(query) for query in queries]
    unreleased = str(queries[0])  # an ordinary string, even if the query was a released one
    for bad in ([*released, unreleased], unreleased):
        require(_refuses(engine, bad, k), "an engine must refuse text that was not released")
    if engine.network:
        seeded = [Seeded(query) for query in queries]
        require(_refuses(engine, seeded, k), "an engine on a network must refuse seeded releases")
    ranking = engine.search(released, k)
    require(len(set(ranking.items)) == len(ranking.items), "`items` must not repeat a name")
    for name in ("texts", "titles"):
        count = len(getattr(ranking, name))
        require(
            count in (0, len(ranking.items)), f"{name} must have one entry per item, or be empty"
        )
    shape = (len(released), k)
    require(
        ranking.index.shape == ranking.scores.shape == shape, "`index` and `scores` must be (n, k)"
    )
    require(
        len(ranking.gaps) in (0, len(released)),
        "`gaps` must have one entry per query, or be empty",
    )
    require(
        ranking.index.max(initial=-1) < len(ranking.items),
        "`index` must contain positions in `items`",
    )
    for row, scores in zip(ranking.index, ranking.scores, strict=True):
        length = int((row >= 0).sum())
        require(bool((row[length:] == -1).all()), "-1 may only pad the end of a list")
        require(bool(np.isneginf(scores[length:]).all()), "padding must have the score -inf")
        require(len(set(row[:length].tolist())) == length, "a list must not contain an item twice")
        require(bool((np.diff(scores[:length]) <= 0).all()), "scores must not increase")
    require(bool((ranking.index >= 0).any()), "at least one query must have results")


def _refuses(engine: Engine, queries: object, k: int) -> bool:
    try:
        engine.search(cast(Sequence[Released], queries), k)
    except TrustError:
        return True
    return False


DOCUMENTS = Documents.of(
    [
        Document("a", "Skin", "cancer of the skin"),
        Document("b", "Lung", "cancer of the lung and its treatment"),
        Document("c", "", "a common cold"),
    ]
)


def answers_released_queries(spec: EngineSpec) -> None:
    """Check the lists of a local engine; an engine on a network is sent nothing."""
    if isinstance(spec, Remote):
        unreleased = [CANARY]
        require(spec.network is True, "an engine on a network must set `network`")
        require(_refuses(spec, unreleased, 3), "an engine must refuse text that was not released")
        require(
            _refuses(spec, [Seeded(CANARY)], 3),
            "an engine on a network must refuse seeded releases",
        )
        return
    if spec.collects:
        check_engine(spec.open(Collection("check", DOCUMENTS)), ["skin cancer", "cold"], spec=spec)


def encodes_texts(spec: EncoderSpec) -> None:
    """Check the vectors of a few texts."""
    encoder, texts = spec.open(), ["skin cancer", "", "a common cold", "skin cancer"]
    vectors = encoder.encode(texts)
    require(
        vectors.shape == (len(texts), encoder.dim) and vectors.dtype == np.float32,
        "encode(texts) must return float32 vectors (n, dim)",
    )
    lengths = np.linalg.norm(vectors, axis=1)
    require(
        bool(np.all(np.isclose(lengths, 1, atol=1e-4) | (lengths == 0))),
        "vectors must have length 1",
    )
    require(
        bool(np.allclose(vectors[0], vectors[3], atol=1e-5)),
        "the same text must give the same vector",
    )
    require(bool(encoder.key), "an encoder must have a `key` for caches")
    for bad in (CANARY, [CANARY, 7]):
        require(
            isinstance(refusal(lambda bad=bad: encoder.encode(bad)), InputError),  # type: ignore[misc]
            "an encoder must refuse what is no list of texts",
        )


ENGINE: tuple[Check, ...] = (declarations, parameters, answers_released_queries)
ENCODER: tuple[Check, ...] = (declarations, parameters, encodes_texts)
