"""Steps of pipelines: obfuscate queries, search with variants, fuse their lists."""

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
    about,
    frame_like,
    fused,
    listed,
    queries_of,
    records,
    results,
)
from veil.search.pipeline import MAX_QUERY, WordOptions, check_query, narrowed
from veil.search.rerank import Reranker
from veil.text.mechanisms.catalogue import mechanism as find_mechanism
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.protect import protect, variants_of
from veil.text.vectors.catalogue import load_embeddings
from veil.text.vectors.embeddings import Embeddings

if TYPE_CHECKING:

    class Transformer:
        """A step of a pipeline: frames in, frames out."""

        def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a frame of pandas
            """Make a frame of a frame."""

        def __rshift__(self, other: "Transformer") -> "Transformer":
            """Let another step follow."""
            ...

        def __mod__(self, most: int) -> "Transformer":
            """Cut the lists."""
            ...
else:
    try:
        from pyterrier import Transformer
    except ImportError:

        class Transformer:
            """Stands where PyTerrier is not installed, and cannot be used."""

            def __new__(cls, *given: object, **named: object) -> "Transformer":
                """Say what is missing."""
                del given, named
                raise MissingExtraError(
                    f"{cls.__name__} is a step of PyTerrier: pip install 'veil[pyterrier]'."
                )


Drawn = tuple[Released, ...]


@dataclass(frozen=True)
class Drawing:
    """Who draws, how many, and what becomes of a query that cannot be protected.

    Attributes
    ----------
    seed
        None for fresh randomness. Else the variants of a query are those of the seed and the
        query, in whatever frame it stands: for experiments, and **not private**.
    skip
        Leave a query out of which nothing would be protected, in place of raising.
    """

    mechanism: TextMechanism
    size: int
    vectors: str | Embeddings
    words: WordOptions
    seed: int | None = None
    skip: bool = False

    def draw(self, queries: Sequence[object]) -> list[Drawn]:
        """Return the variants of each query; one that is skipped has none."""
        texts = [self._checked(query) for query in queries]
        wanted = [text for text in texts if text]
        made = iter(self._rows(wanted)) if wanted else iter(())
        rows = [next(made) if text else () for text in texts]
        lost = sum(not row for row in rows)
        if lost and not self.skip:
            raise InputError(
                f"Nothing would be protected of {lost:,} of {len(rows):,} queries, so that they"
                " would be sent as they are; nothing was sent. Choose another mechanism or"
                " selection of words, or leave them out: skip=True."
            )
        return rows

    def _checked(self, query: object) -> str:
        try:
            return check_query(query)
        except InputError:
            if self.skip:
                return ""
            raise

    def _rows(self, texts: Sequence[str]) -> list[Drawn]:
        """Draw for all queries at once; with a seed for each by itself."""
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
            in_clear=True,  # they are refused or left out by `draw`
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
    """Check what a step was given; nothing is fetched or opened before it is run.

    `usual` is the size where none was given and the mechanism has none of its own.
    """
    chosen = find_mechanism(mechanism) if isinstance(mechanism, str) else mechanism
    count = variants_of(chosen, size)
    if size is None and getattr(chosen, "size", None) is None:
        count = usual
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ParameterError("The 'size' argument must be a whole number of variants from 1.")
    stream(seed, 0)  # which checks the seed
    return Drawing(chosen, count, vectors, words, seed, skip)


def _sendable(made: Variants) -> list[Drawn]:
    """Return the variants that may be sent: of queries that were protected, and not blank."""
    return [
        tuple(one for one in row if one.strip()) if words else ()
        for row, words in zip(made, made.protected, strict=True)
    ]


def _number(text: str) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


MARK = "%v"  # between the id of a query and the number of a variant, as %p is for passages
ORIGINAL = "query_0"  # where PyTerrier keeps the query that was rewritten


class Obfuscate(Transformer):
    """Replace each query of a frame by variants; the original goes no further.

    One variant keeps the qid. Of several, variant j of query q is called ``q%vj``, as PyTerrier
    calls passage j of document d ``d%pj``; `Fuse` makes one list of theirs again.

    Only ``qid`` and ``query`` are handed on, whatever else the frame has: tokens, weights or
    vectors of the query would give it away. PyTerrier's own steps that rewrite queries keep the
    one before in ``query_0``, where every later step, an engine too, can read it. This one does
    so with ``original=True`` alone, which is for pipelines that stay on this machine.

    Parameters
    ----------
    mechanism
        Spec of a mechanism, as ``cmp(epsilon=10)``, or one that is built.
    size
        Variants of each query; None for one, or for as many as the mechanism has by itself. Each
        is another release and adds to the cost.
    vectors
        Word vectors, or their name; fetched when the step is first run.
    original
        Whether the query goes on as ``query_0``.
    skip
        Leave out queries of which nothing would be protected; else they raise.
    seed
        None for fresh randomness at every run. With a seed the variants of a query are always the
        same: for experiments, and **not private**.
    words
        ``unknown``, ``policies`` and ``select``, as for `veil.protect`.

    Notes
    -----
    What is proved is what the mechanism says of one word and one variant
    (``step.drawing.mechanism.guarantee``); budgets of the words of a query and of its variants add
    up. The qid is not protected: it may be no text.
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
        """Tell PyTerrier which columns are needed."""
        return [["qid", "query"]]

    def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a frame of pandas
        """Return a row for each variant of each query."""
        queries = queries_of(inp, "Obfuscate")
        drawn = self.drawing.draw([row["query"] for row in queries])
        columns = ["qid", "query", *([ORIGINAL] if self.original else [])]
        rows = [
            {"qid": name, "query": str(variant), ORIGINAL: row["query"]}
            for row, variants in zip(queries, drawn, strict=True)
            for name, variant in zip(self._names(row, len(variants)), variants, strict=True)
        ]
        return frame_like(inp, [{name: row[name] for name in columns} for row in rows], columns)

    def _names(self, row: Record, count: int) -> Sequence[object]:
        if self.drawing.size == 1:
            return [row["qid"]][:count]  # none of a query that is left out
        return [f"{row['qid']}{MARK}{number}" for number in range(count)]

    def __repr__(self) -> str:
        return f"Obfuscate({self.drawing.mechanism}, size={self.drawing.size})"


class Fuse(Transformer):
    """Fuse the lists of the variants of each query by their reciprocal ranks.

    It belongs behind `Obfuscate` with several variants: ``Obfuscate(..., size=20) >> bm25 >>
    Fuse()``. Where `Obfuscate` was told to hand the original on, it is the ``query`` again, so
    that a later step can re-rank by it; else the lists have no query.
    """

    def transform_inputs(self) -> list[list[str]]:
        """Tell PyTerrier which columns are needed."""
        return [["qid", "docno", "score"]]

    def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a frame of pandas
        """Return one list for each query."""
        rows = records(inp, ("qid", "docno", "score"), "Fuse")
        asked = ["query"] if ORIGINAL in inp.columns else []
        more = about(inp.columns)
        variants: dict[str, list[str]] = {}
        lists = listed(rows)
        for name in lists:
            variants.setdefault(name.rpartition(MARK)[0] or name, []).append(name)
        out = []
        for name, parts in variants.items():
            ranking, known = fused([lists[part] for part in parts])
            head = {"qid": name} | dict.fromkeys(asked, lists[parts[0]][0].get(ORIGINAL))
            out += [head | row for row in results(ranking, known, more)]
        return frame_like(inp, out, ["qid", *asked, "docno", "score", "rank", *more])

    def __repr__(self) -> str:
        return "Fuse()"


_RANDOM = secrets.SystemRandom()


class PrivateSearch(Transformer):
    """Search for queries that the engine never sees.

    The engine is handed frames of ``qid`` and ``query`` alone: the qid is a number that says
    nothing, the query a variant. Equal variants are asked once, and all of a frame in random
    order. The lists of the variants of a query are fused by their reciprocal ranks and, if asked
    for, ordered by the true query on this machine.

    What comes out has the true query beside its results, as every engine of PyTerrier has. Steps
    behind it see it: they belong on this machine.

    Parameters
    ----------
    engine
        Any step from queries to results, or a pipeline of such.
    mechanism, size, vectors, skip, seed, words
        As for `Obfuscate`; `size` is 20 by default, or what the mechanism has by itself.
    k
        Longest list.
    encoder
        Re-ranks by the true query: an encoder or its spec, as ``minilm``. The engine must bring
        ``text`` or ``title`` of its documents. None to leave the fused order.
    letters
        Weight of the words and letters that a result shares with the query, beside the encoder.

    Notes
    -----
    Whether the engine is on this machine is not known here: a seed is for experiments with one
    that is. The engine can tell which variants it got in one frame; ask query by query, or mix in
    others, if that matters.
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
            raise ParameterError("The 'k' argument must be a whole number of results from 1.")
        self.drawing = drawing(mechanism, size, vectors, seed, skip, usual=20, **words)
        self.engine, self.k = engine, k
        self.encoder, self.letters = encoder, letters
        self._reranker: Reranker | None = None

    def transform_inputs(self) -> list[list[str]]:
        """Tell PyTerrier which columns are needed."""
        return [["qid", "query"]]

    def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a frame of pandas
        """Return one list for each query."""
        queries = queries_of(inp, "PrivateSearch")
        drawn = self.drawing.draw([row["query"] for row in queries])
        lists, columns = self._ask(inp, drawn)
        own = [str(name) for name in inp.columns]
        more = [name for name in about(columns) if name not in own]
        out = []
        for row, variants in zip(queries, drawn, strict=True):
            ranking, known = fused([lists[str(one)] for one in variants])
            ordered = narrowed(self._ordered(str(row["query"]), ranking, columns), self.k)
            out += [row | found for found in results(ordered, known, more)]
        place = [name for name in ("docno", "score", "rank") if name not in own]
        return frame_like(inp, out, [*own, *place, *more])

    def _ask(self, inp: Any, drawn: Sequence[Drawn]) -> tuple[dict[str, list[Record]], list[str]]:  # noqa: ANN401
        """Hand each variant to the engine once; return the list of each, and the columns."""
        sent = list(dict.fromkeys(str(one) for row in drawn for one in row))
        _RANDOM.shuffle(sent)
        asked = [{"qid": str(number), "query": text} for number, text in enumerate(sent)]
        answer = self.engine.transform(frame_like(inp, asked, ["qid", "query"]))
        columns = [str(name) for name in answer.columns]
        found = listed(records(answer, ("qid", "docno", "score"), "PrivateSearch's engine"))
        lists = {text: found.pop(str(number), []) for number, text in enumerate(sent)}
        if found:
            raise EngineError(
                "The engine answered a query that it was not asked; it must keep the qid."
            )
        return lists, columns

    def _ordered(self, query: str, ranking: Ranking, columns: Sequence[str]) -> Ranking:
        if self.encoder is None or not len(ranking.items):
            return ranking
        if not {"text", "title"} & set(columns):
            raise ParameterError(
                "To re-rank by the true query the engine must bring the column text or title of"
                " its documents; add them, or leave 'encoder' out."
            )
        if self._reranker is None:
            chosen = find_encoder(self.encoder) if isinstance(self.encoder, str) else self.encoder
            self._reranker = Reranker(chosen, letters=self.letters)
        return self._reranker.order(query, ranking)

    def __repr__(self) -> str:
        return f"PrivateSearch({self.engine!r}, {self.drawing.mechanism})"
