"""Build a private search from the user's options."""

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
BITS = 300.0  # leakage in 24 hours: 46 different queries with the default table


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
    """Return a private search with all its parts.

    Parameters
    ----------
    engine, collection
        The engine, and the documents of a local engine.
    encoder
        Re-ranks by the true query and serves the local attacker; "none" fuses by rank only.
    letters
        Weight of words and letters shared by a result and the query, relative to the encoder.
    vectors
        Word vectors of the mechanisms.
    log
        File of queries for the local attackers; None uses the collection's log, if any.
    budget, bits
        Limits for 24 hours, or None: epsilon, and bits of leakage.
    spread
        Seconds over which the variants of a query are sent.
    bound, on_bound
        The true query must not be within the first `bound` guesses of a local attacker; `on_bound`
        is what to do otherwise. See `PreflightBound`.
    gate
        File of rules, or None.
    k
        Number of results requested for each variant.
    setting
        Prepared in the background, unless the user last chose another one; None prepares nothing.
    folder
        Folder of the ledger; the user's data folder by default.
    once
        For a single search, which waits for the local attackers; they are only used with `log` or
        `bound`. A remote engine that accepts no connection raises an error before
        anything else is prepared.
    plainly
        For searches with the query itself, if that is safe: the user's own documents on
        this machine need no ledger and no local attackers. Ignored with other engines.
    ledger, seed
        Without the ledger, nothing is read from it, recorded or counted, and variants are sampled
        afresh. A seed, for experiments, requires ``ledger=False``.
    """
    if seed is not None and ledger:
        raise ParameterError(
            "Seeded variants must not be in the ledger. Turn the ledger off to use a seed."
        )
    with ExitStack() as opened:
        rules = Gate.load(gate, report) if gate is not None else Gate.empty()
        target = open_engine(engine, collection, report)
        if once and seed is None:  # a remote engine rejects seeded variants
            require_reachable(target)
        is_own = locality(target) == "own"
        plainly = plainly and is_own
        record = opened.enter_context(Ledger(folder)) if ledger and not plainly else None
        model = None if encoder == "none" else reranker(encoder, target, report, letters=letters)
        checker = None
        if not plainly and (not once or log is not None or bound is not None):
            checker = _preflight(target, log, "minilm" if encoder == "none" else encoder)
        if bound is not None and checker is None and not plainly:
            raise ParameterError(
                "A rank limit needs a log for the local attackers. Pass one with --log."
            )
        limit = None if bound is None else PreflightBound(bound, on_bound)
        desk = PrivateDesk(
            engine=engine_label(engine, target),
            untrusted=target,
            mixer=opened.enter_context(Mixer(target, spread=spread)),
            vectors=LazyEmbeddings(partial(load_embeddings, vectors, report)),
            drawer=UnrecordedVariants(seed, limit)
            if record is None
            else StickyVariants(record, budget, limit, bits),
            ledger=record,
            rules=rules,
            preflight=checker,
            reranker=model,
            k=k,
            patient=once,
        )
        opened.pop_all()
    if setting is not None and not is_own:  # own documents rarely need variants
        desk.prepare(desk.chosen() or setting)
    return desk


def _preflight(engine: Engine, log: str | None, encoder: str) -> Preflight | None:
    collection = getattr(engine, "collection", None)
    queries = open_preflight_log(log, collection if isinstance(collection, Collection) else None)
    return None if queries is None else Preflight(queries, encoder)


def strip_address(spec: str) -> str:
    """Return a spec whose URL has only its host, because the rest may be a secret.

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
    """Return the kind and the host or collection of an engine, without secrets.

    >>> engine_label("searxng(url=https://search.example/secret/path)")
    'searxng at search.example'
    """
    parsed = ENGINES.parse(spec)
    collection = getattr(engine, "collection", None)
    if isinstance(collection, Collection):
        return f"{parsed.name} over {collection.name}"
    host = urllib.parse.urlsplit(str(dict(parsed).get("url", ""))).hostname
    return f"{parsed.name} at {host}" if host else parsed.name
