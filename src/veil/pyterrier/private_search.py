"""A step that asks an engine with variants alone, and orders what comes back by the query."""

import secrets
from collections.abc import Sequence
from typing import Any, Unpack

from veil.core.errors import EngineError, ParameterError
from veil.core.types import Encoder, Ranking
from veil.encoders.find import encoder as find_encoder
from veil.pyterrier._transformer import Transformer
from veil.pyterrier.drawing import Drawn, drawing
from veil.pyterrier.frames import Record, frame_like, queries_of, records
from veil.pyterrier.lists import about, fused, listed, results
from veil.search.pipeline import Words, narrowed
from veil.search.rerank import Reranker
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.vectors.embeddings import Embeddings

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
        **words: Unpack[Words],
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
