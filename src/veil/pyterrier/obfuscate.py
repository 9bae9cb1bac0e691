"""A step that puts variants in the place of queries."""

from collections.abc import Sequence
from typing import Any, Unpack

from veil.pyterrier._transformer import Transformer
from veil.pyterrier.drawing import drawing
from veil.pyterrier.frames import Record, frame_like, queries_of
from veil.search.pipeline import Words
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.vectors.embeddings import Embeddings

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
        **words: Unpack[Words],
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
