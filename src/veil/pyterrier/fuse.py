"""A step that makes one list for each query of the lists of its variants."""

from typing import Any

from veil.pyterrier._transformer import Transformer
from veil.pyterrier.frames import frame_like, records
from veil.pyterrier.lists import about, fused, listed, results
from veil.pyterrier.obfuscate import MARK, ORIGINAL


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
