"""Pipeline steps: obfuscate queries, search with variants, fuse result lists."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from veil.core.errors import EngineError, InputError, MissingExtraError, ParameterError
from veil.core.rng import stream
from veil.core.types import Encoder, Ranking, Released, Variants
from veil.encoders.catalogue import encoder as find_encoder
from veil.pyterrier.frames import (
    Record,
    document_columns,
    frame_like,
    fuse_lists,
    group_results,
    read_queries,
    records,
    to_records,
)
from veil.search.pipeline import MAX_QUERY, WordOptions, check_query, truncate
from veil.search.rerank import Reranker
from veil.text.mechanisms.catalogue import mechanism as find_mechanism
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.protect import protect, variants_of
from veil.text.vectors.catalogue import load_embeddings
from veil.text.vectors.embeddings import Embeddings

if TYPE_CHECKING:

    class Transformer:
        """A pipeline step that maps a frame to a frame."""

        def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a pandas frame
            """Return the frame for the next step."""

        def __rshift__(self, other: "Transformer") -> "Transformer":
            """Append a step."""
            ...

        def __mod__(self, most: int) -> "Transformer":
            """Truncate the lists to `most` results."""
            ...
else:
    try:
        from pyterrier import Transformer
    except ImportError:

        class Transformer:
            """Placeholder without PyTerrier; it cannot be instantiated."""

            def __new__(cls, *args: object, **kwargs: object) -> "Transformer":
                """Raise an error that names the missing extra."""
                del args, kwargs
                raise MissingExtraError(
                    f"{cls.__name__} needs PyTerrier: pip install 'veil[pyterrier]'."
                )


QueryVariants = tuple[Released, ...]


@dataclass(frozen=True)
class Drawing:
    """How queries are protected: the mechanism, its options, and the number of variants.

    Attributes
    ----------
    seed
        None for fresh randomness. With a seed, the variants of a query depend only on the seed and
        the query, not on the rest of the frame: for experiments, and **not private**.
    skip
        Leave out a query with nothing to protect, instead of raising an error.
    """

    mechanism: TextMechanism
    size: int
    vectors: str | Embeddings
    words: WordOptions
    seed: int | None = None
    skip: bool = False

    def draw(self, queries: Sequence[object]) -> list[QueryVariants]:
        """Return the variants of each query, none for a query that is skipped."""
        texts = [self._check(query) for query in queries]
        valid = [text for text in texts if text]
        variants = iter(self._rows(valid)) if valid else iter(())
        rows = [next(variants) if text else () for text in texts]
        unprotected = sum(not row for row in rows)
        if unprotected and not self.skip:
            raise InputError(
                f"In {unprotected:,} of {len(rows):,} queries there is nothing to protect, so they"
                " would be sent unchanged; nothing was sent. Choose another mechanism or selection"
                " of words, or leave these queries out with skip=True."
            )
        return rows

    def _check(self, query: object) -> str:
        try:
            return check_query(query)
        except InputError:
            if self.skip:
                return ""
            raise

    def _rows(self, texts: Sequence[str]) -> list[QueryVariants]:
        """Draw for all queries together, or with a seed for each query separately."""
        if self.seed is None:
            return _sendable(self._protect(texts, None))
        return [_sendable(self._protect([text], self.seed))[0] for text in texts]

    def _protect(self, texts: Sequence[str], seed: int | None) -> Variants:
        rng = None if seed is None else stream(seed, _number(texts[0]))
        return protect(
            texts,
            self.mechanism,
            self._space(),
            self.size,
            max_chars=MAX_QUERY,
            in_clear=True,  # `draw` refuses these queries or leaves them out
            rng=rng,
            **self.words,
        )

    def _space(self) -> Embeddings | None:
        if "vectors" not in self.mechanism.needs:
            return None
        return load_embeddings(self.vectors) if isinstance(self.vectors, str) else self.vectors


def drawing(
    mechanism: str | TextMechanism,
    size: int | None,
    vectors: str | Embeddings,
    seed: int | None,
    skip: bool,
    usual: int = 1,
    **words: Unpack[WordOptions],
) -> Drawing:
    """Check the arguments of a step. Nothing is fetched or opened before the step is run.

    `usual` is the default size for a mechanism that has no `size`.
    """
    component = find_mechanism(mechanism) if isinstance(mechanism, str) else mechanism
    count = variants_of(component, size)
    if size is None and getattr(component, "size", None) is None:
        count = usual
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ParameterError("The 'size' argument must be a whole number of variants >= 1.")
    stream(seed, 0)  # raises an error for an invalid seed
    return Drawing(component, count, vectors, words, seed, skip)


def _sendable(release: Variants) -> list[QueryVariants]:
    """Return the variants that may be sent: not blank, and of queries with protected words."""
    return [
        tuple(variant for variant in row if variant.strip()) if words else ()
        for row, words in zip(release, release.protected, strict=True)
    ]


def _number(text: str) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


MARK = "%v"  # separates a query id and the number of a variant, like PyTerrier's %p for passages
ORIGINAL = "query_0"  # PyTerrier's column for the query before it was rewritten


class Obfuscate(Transformer):
    """Replace each query of a frame by variants; later steps do not see the original.

    A single variant keeps the qid. With several, variant j of query q gets the qid ``q%vj``, as
    PyTerrier calls passage j of document d ``d%pj``. `Fuse` merges their result lists again.

    Only ``qid`` and ``query`` are passed on. All other columns are dropped, because tokens,
    weights or vectors of the query would reveal it. PyTerrier's own steps that rewrite queries
    keep the previous one in ``query_0``, where every later step, including an engine, can read it.
    This step does so only with ``original=True``, which is for pipelines that stay on this
    machine.

    Parameters
    ----------
    mechanism
        A mechanism or its spec, such as ``cmp(epsilon=10)``.
    size
        Variants per query. Default: the mechanism's `size` if it has one, else 1. Each variant is
        another release and adds to the cost.
    vectors
        Word vectors, or their name; fetched when the step is first run.
    original
        Whether to keep the query as ``query_0``.
    skip
        Leave out queries with nothing to protect, instead of raising an error.
    seed
        None for fresh randomness at every run. With a seed the variants of a query are always the
        same: for experiments, and **not private**.
    words
        ``unknown``, ``policies`` and ``select``, as for `veil.protect`.

    Notes
    -----
    The mechanism's guarantee (``step.drawing.mechanism.guarantee``) is for one word and one
    variant. The budgets of all words of a query and of all its variants add up. The qid is not
    protected: it must not be a text.
    """

    def __init__(
        self,
        mechanism: str | TextMechanism,
        size: int | None = None,
        *,
        vectors: str | Embeddings = "glove-100d",
        original: bool = False,
        skip: bool = False,
        seed: int | None = None,
        **words: Unpack[WordOptions],
    ) -> None:
        self.drawing = drawing(mechanism, size, vectors, seed, skip, **words)
        self.original = original

    def transform_inputs(self) -> list[list[str]]:
        """Return the columns that PyTerrier must provide."""
        return [["qid", "query"]]

    def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a pandas frame
        """Return one row per variant of each query."""
        queries = read_queries(inp, "Obfuscate")
        releases = self.drawing.draw([row["query"] for row in queries])
        columns = ["qid", "query", *([ORIGINAL] if self.original else [])]
        rows = [
            {"qid": name, "query": str(variant), ORIGINAL: row["query"]}
            for row, variants in zip(queries, releases, strict=True)
            for name, variant in zip(self._names(row, len(variants)), variants, strict=True)
        ]
        return frame_like(inp, [{name: row[name] for name in columns} for row in rows], columns)

    def _names(self, row: Record, count: int) -> Sequence[object]:
        if self.drawing.size == 1:
            return [row["qid"]][:count]  # empty for a query that is left out
        return [f"{row['qid']}{MARK}{number}" for number in range(count)]

    def __repr__(self) -> str:
        return f"Obfuscate({self.drawing.mechanism}, size={self.drawing.size})"


class Fuse(Transformer):
    """Fuse the result lists of the variants of each query by reciprocal ranks.

    Use it after `Obfuscate` with several variants: ``Obfuscate(..., size=20) >> bm25 >> Fuse()``.
    If `Obfuscate` has ``original=True``, the original becomes ``query`` again, so that a later
    step can re-rank by it. Otherwise the lists have no query.
    """

    def transform_inputs(self) -> list[list[str]]:
        """Return the columns that PyTerrier must provide."""
        return [["qid", "docno", "score"]]

    def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a pandas frame
        """Return one result list per query."""
        rows = records(inp, ("qid", "docno", "score"), "Fuse")
        query_columns = ["query"] if ORIGINAL in inp.columns else []
        columns = document_columns(inp.columns)
        variants: dict[str, list[str]] = {}
        lists = group_results(rows)
        for name in lists:
            variants.setdefault(name.rpartition(MARK)[0] or name, []).append(name)
        out = []
        for name, parts in variants.items():
            ranking, documents = fuse_lists([lists[part] for part in parts])
            head = {"qid": name} | dict.fromkeys(query_columns, lists[parts[0]][0].get(ORIGINAL))
            out += [head | row for row in to_records(ranking, documents, columns)]
        return frame_like(inp, out, ["qid", *query_columns, "docno", "score", "rank", *columns])

    def __repr__(self) -> str:
        return "Fuse()"


_RANDOM = secrets.SystemRandom()


class PrivateSearch(Transformer):
    """Search for queries that the engine never sees.

    The engine receives frames with only ``qid`` and ``query``: a meaningless number and a variant.
    Equal variants are sent once, and all variants of a frame in random order. The result lists of
    a query's variants are fused by reciprocal ranks and, with `encoder`, re-ranked by the true
    query on this machine.

    The output contains the true query next to its results, as for every PyTerrier engine. Later
    steps see it and must therefore run on this machine.

    Parameters
    ----------
    engine
        Any step or pipeline that maps queries to results.
    mechanism, size, vectors, skip, seed, words
        As for `Obfuscate`, but the default `size` is the mechanism's if it has one, else 20.
    k
        Maximum length of a result list.
    encoder
        Encoder that re-ranks by the true query, or its spec, such as ``minilm``. The engine must
        return ``text`` or ``title`` of its documents. None keeps the fused order.
    letters
        Weight of the words and letters that a result shares with the query, in addition to the
        encoder.

    Notes
    -----
    This step cannot know whether the engine is on this machine. Use a seed only for experiments
    with a local engine. The engine knows which variants arrived in the same frame. If that
    matters, run one query at a time or mix in other queries.
    """

    def __init__(
        self,
        engine: Transformer,
        mechanism: str | TextMechanism,
        size: int | None = None,
        *,
        k: int = 1000,
        encoder: str | Encoder | None = None,
        letters: float = 0.0,
        vectors: str | Embeddings = "glove-100d",
        skip: bool = False,
        seed: int | None = None,
        **words: Unpack[WordOptions],
    ) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError("The 'k' argument must be a whole number of results >= 1.")
        self.drawing = drawing(mechanism, size, vectors, seed, skip, usual=20, **words)
        self.engine, self.k = engine, k
        self.encoder, self.letters = encoder, letters
        self._reranker: Reranker | None = None

    def transform_inputs(self) -> list[list[str]]:
        """Return the columns that PyTerrier must provide."""
        return [["qid", "query"]]

    def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a pandas frame
        """Return one result list per query."""
        queries = read_queries(inp, "PrivateSearch")
        releases = self.drawing.draw([row["query"] for row in queries])
        lists, columns = self._search(inp, releases)
        own = [str(name) for name in inp.columns]
        extra = [name for name in document_columns(columns) if name not in own]
        out = []
        for row, variants in zip(queries, releases, strict=True):
            fused, documents = fuse_lists([lists[str(variant)] for variant in variants])
            ranking = truncate(self._rerank(str(row["query"]), fused, columns), self.k)
            out += [row | result for result in to_records(ranking, documents, extra)]
        new = [name for name in ("docno", "score", "rank") if name not in own]
        return frame_like(inp, out, [*own, *new, *extra])

    def _search(
        self,
        inp: Any,  # noqa: ANN401 - a pandas frame
        releases: Sequence[QueryVariants],
    ) -> tuple[dict[str, list[Record]], list[str]]:
        """Send each variant to the engine once; return the list of each, and the columns."""
        texts = list(dict.fromkeys(str(variant) for row in releases for variant in row))
        _RANDOM.shuffle(texts)
        requests = [{"qid": str(number), "query": text} for number, text in enumerate(texts)]
        answer = self.engine.transform(frame_like(inp, requests, ["qid", "query"]))
        columns = [str(name) for name in answer.columns]
        by_id = group_results(records(answer, ("qid", "docno", "score"), "PrivateSearch's engine"))
        lists = {text: by_id.pop(str(number), []) for number, text in enumerate(texts)}
        if by_id:
            raise EngineError(
                "The engine returned results for an unknown query; it must keep the qid."
            )
        return lists, columns

    def _rerank(self, query: str, ranking: Ranking, columns: Sequence[str]) -> Ranking:
        if self.encoder is None or not len(ranking.items):
            return ranking
        if not {"text", "title"} & set(columns):
            raise ParameterError(
                "To re-rank by the true query, the engine must return the column text or title of"
                " its documents. Add a column, or remove 'encoder'."
            )
        if self._reranker is None:
            model = find_encoder(self.encoder) if isinstance(self.encoder, str) else self.encoder
            self._reranker = Reranker(model, letters=self.letters)
        return self._reranker.order(query, ranking)

    def __repr__(self) -> str:
        return f"PrivateSearch({self.engine!r}, {self.drawing.mechanism})"
