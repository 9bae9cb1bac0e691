"""Put a desk together from what a user names."""

import urllib.parse
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal

from veil.api import load_embeddings
from veil.core.errors import ParameterError
from veil.core.types import Engine
from veil.corpus.collection import Collection
from veil.data.fetch import Report, no_progress
from veil.proxy.gate import Gate
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.mixer import Mixer
from veil.proxy.preflight import Preflight, open_preflight_log
from veil.proxy.preparation import LazyEmbeddings
from veil.proxy.private import PrivateDesk
from veil.proxy.settings import Configuration
from veil.proxy.sticky import PreflightBound, StickyVariants, UnrecordedVariants
from veil.search.engines import ENGINES
from veil.search.engines.engine import require_reachable
from veil.search.locality import locality, open_engine
from veil.search.rerank import LETTERS, reranker

BUDGET = 10_000.0  # epsilon x words x variants, in 24 hours
BITS = 300.0  # of leakage, in 24 hours: 46 different queries with the default table


def open_desk(
    *,
    engine: str = "bm25",
    collection: str | None = None,
    encoder: str = "minilm",
    letters: float = LETTERS,
    vectors: str = "glove-100d",
    log: str | None = None,
    budget: float | None = BUDGET,
    bits: float | None = BITS,
    spread: float = 0.0,
    bound: int | None = None,
    on_bound: Literal["again", "more", "refuse"] = "refuse",
    gate: Path | None = None,
    k: int = 100,
    setting: Configuration | None = None,
    folder: Path | None = None,
    once: bool = False,
    plainly: bool = False,
    ledger: bool = True,
    seed: int | None = None,
    report: Report = no_progress,
) -> PrivateDesk:
    """Open everything that a private search needs, or say what is missing.

    Parameters
    ----------
    engine, collection
        Who is asked, and the documents of a local engine.
    encoder
        Re-ranks by the true query, and serves the local attacker; "none" to fuse by ranks alone.
    letters
        Weight of the words and letters that a result shares with the query, beside the encoder.
    vectors
        Word vectors of the mechanisms.
    log
        Queries for the local attackers: a file, or None for those of the collection, if any.
    budget, bits
        What may be spent in 24 hours, or None: epsilons, and bits of leakage.
    spread
        Seconds over which the variants of a query are sent.
    bound, on_bound
        The true query must not stand within the first `bound` guesses of a local attacker, and
        what to do where it does; see `Bound`.
    gate
        File of rules, or None.
    k
        Items asked for with each variant.
    setting
        What is made ready in the background, unless the user chose another one last; nothing is
        without it.
    folder
        Where the ledger lies; the user's data folder by default.
    once
        For one search, which waits for the local attackers: there are none unless `log` or
        `bound` asks for them. An engine on a network that takes no connection is told before
        anything else is prepared.
    plainly
        For searches for queries as they are, where that is safe: documents of the user's own on
        this machine need no ledger and no local attackers. Of no effect with other engines.
    ledger, seed
        Without the ledger nothing is read there, written down or counted, and variants are drawn
        anew. A seed, for experiments, is for searches without it alone.
    """
    if seed is not None and ledger:
        raise ParameterError("What is drawn with a seed must not be in the ledger; do without it.")
    with ExitStack() as opened:
        rules = Gate.load(gate, report) if gate is not None else Gate.empty()
        asked = open_engine(engine, collection, report)
        if once and seed is None:  # an engine on a network refuses what is drawn with a seed
            require_reachable(asked)
        own = locality(asked) == "own"
        plainly = plainly and own
        book = opened.enter_context(Ledger(folder)) if ledger and not plainly else None
        ranked = None if encoder == "none" else reranker(encoder, asked, report, letters=letters)
        watch = None
        if not plainly and (not once or log is not None or bound is not None):
            watch = _preflight(asked, log, "minilm" if encoder == "none" else encoder)
        if bound is not None and watch is None and not plainly:
            raise ParameterError(
                "A bound on the rank needs a log for the local attackers; name one with --log."
            )
        limit = None if bound is None else PreflightBound(bound, on_bound)
        desk = PrivateDesk(
            engine=engine_label(engine, asked),
            untrusted=asked,
            mixer=opened.enter_context(Mixer(asked, spread=spread)),
            vectors=LazyEmbeddings(partial(load_embeddings, vectors, report)),
            drawer=UnrecordedVariants(seed, limit)
            if book is None
            else StickyVariants(book, budget, limit, bits),
            ledger=book,
            rules=rules,
            preflight=watch,
            reranker=ranked,
            k=k,
            patient=once,
        )
        opened.pop_all()
    if setting is not None and not own:  # those are searched for the query as it is, mostly
        desk.prepare(desk.chosen() or setting)
    return desk


def _preflight(asked: Engine, log: str | None, encoder: str) -> Preflight | None:
    own = getattr(asked, "collection", None)
    queries = open_preflight_log(log, own if isinstance(own, Collection) else None)
    return None if queries is None else Preflight(queries, encoder)


def strip_address(spec: str) -> str:
    """Write a spec without what an address has but its host: the rest may be a secret.

    >>> strip_address("searxng(url=https://search.example:8080/secret, timeout=5)")
    'searxng(url=https://search.example:8080, timeout=5)'
    """
    url = str(dict(ENGINES.parse(spec)).get("url", ""))
    parts = urllib.parse.urlsplit(url)
    if not parts.netloc:
        return spec
    host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return spec.replace(url, host) if url in spec else engine_label(spec)


def engine_label(spec: str, engine: Engine | None = None) -> str:
    """Name an engine without anything that may be secret: its kind, host, or collection.

    >>> engine_label("searxng(url=https://search.example/secret/path)")
    'searxng at search.example'
    """
    parsed = ENGINES.parse(spec)
    collection = getattr(engine, "collection", None)
    if isinstance(collection, Collection):
        return f"{parsed.name} over {collection.name}"
    host = urllib.parse.urlsplit(str(dict(parsed).get("url", ""))).hostname
    return f"{parsed.name} at {host}" if host else parsed.name
