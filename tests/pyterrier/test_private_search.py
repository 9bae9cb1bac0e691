"""An engine is asked with variants alone, and answers are ordered on this side."""

from collections.abc import Sequence

import numpy as np
import pytest
from tests.conftest import make_space
from tests.pyterrier.kit import Kit, rows

from veil.core.errors import EngineError, InputError, ParameterError
from veil.core.types import Singles

SPACE = make_space(60, 8)
WORDS = SPACE.words
FAR = "cmp(epsilon=0.01)"
NEAR = "cmp(epsilon=10000)"  # a word becomes itself
SECRET = f"{WORDS[3]} {WORDS[7]}"
DOCUMENTS = {f"d{i}": f"{word} {WORDS[(i + 1) % 60]}" for i, word in enumerate(WORDS)}


class Letters:
    """An encoder that goes by the words of the space."""

    key, dim = "letters", 60

    def encode(self, texts: Sequence[str], role: str = "passage") -> Singles:
        del role
        found = [[float(word in text.split()) for word in WORDS] for text in texts]
        vectors: Singles = np.array(found, dtype=np.float32)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors


def test_the_engine_sees_variants_and_numbers_alone(kit: Kit) -> None:
    engine = kit.engine(DOCUMENTS)
    step = kit.steps.PrivateSearch(engine, FAR, 5, vectors=SPACE, seed=1)
    found = rows(step.transform(kit.queries(SECRET, WORDS[11], note=SECRET)))
    (seen,) = engine.seen
    assert list(seen.columns) == ["qid", "query"]
    sent = rows(seen)
    assert sorted(int(row["qid"]) for row in sent) == list(range(len(sent)))
    assert not {SECRET, WORDS[11]} & {row["query"] for row in sent}
    assert {(row["qid"], row["query"]) for row in found} == {("q0", SECRET), ("q1", WORDS[11])}
    assert {row["note"] for row in found} == {SECRET}  # on this side again


def test_equal_variants_are_asked_once_and_in_any_order(kit: Kit) -> None:
    engine = kit.engine(DOCUMENTS)
    step = kit.steps.PrivateSearch(engine, NEAR, 4, vectors=SPACE)
    texts = WORDS[:30]
    step.transform(kit.queries(*texts))
    sent = [row["query"] for row in rows(engine.seen[0])]
    assert sorted(sent) == sorted(texts)
    assert sent != list(texts)


def test_lists_are_fused_with_every_document_once(kit: Kit) -> None:
    """With variants that are the query, the private list is the plain one."""
    engine = kit.engine(DOCUMENTS)
    plain = rows(engine.transform(kit.queries(SECRET)))
    step = kit.steps.PrivateSearch(engine, NEAR, 3, vectors=SPACE)
    found = rows(step.transform(kit.queries(SECRET)))
    assert [row["docno"] for row in found] == [row["docno"] for row in plain]
    assert [row["rank"] for row in found] == list(range(len(found)))
    scores = [row["score"] for row in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(3 / 61)
    short = kit.steps.PrivateSearch(engine, NEAR, 3, vectors=SPACE, k=2)
    assert [row["docno"] for row in rows(short.transform(kit.queries(SECRET)))] == [
        row["docno"] for row in plain[:2]
    ]


def test_the_true_query_orders_what_came_back(kit: Kit) -> None:
    """The engine puts the best last; with the encoder it comes first all the same."""
    engine = kit.engine(DOCUMENTS, texts=True, backwards=True)
    query = kit.queries(f"{WORDS[20]} {WORDS[21]}")
    fused = kit.steps.PrivateSearch(engine, NEAR, 2, vectors=SPACE)
    assert rows(fused.transform(query))[-1]["docno"] == "d20"
    step = kit.steps.PrivateSearch(engine, NEAR, 2, vectors=SPACE, encoder=Letters())
    found = rows(step.transform(query))
    assert found[0]["docno"] == "d20"
    assert found[0]["text"] == DOCUMENTS["d20"]
    bare = kit.steps.PrivateSearch(
        kit.engine(DOCUMENTS), NEAR, 2, vectors=SPACE, encoder=Letters()
    )
    with pytest.raises(ParameterError, match="text or title"):
        bare.transform(query)


def test_an_empty_frame_has_the_columns_of_results(kit: Kit) -> None:
    step = kit.steps.PrivateSearch(kit.engine(DOCUMENTS, texts=True), FAR, vectors=SPACE)
    found = step.transform(kit.queries())
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank", "text"]
    assert step.drawing.size == 20


def test_nothing_is_sent_when_a_query_would_go_in_clear(kit: Kit) -> None:
    engine = kit.engine(DOCUMENTS)
    with pytest.raises(InputError, match="nothing was sent"):
        kit.steps.PrivateSearch(engine, FAR, vectors=SPACE).transform(kit.queries("!!", SECRET))
    assert not engine.seen
    step = kit.steps.PrivateSearch(engine, FAR, vectors=SPACE, skip=True)
    found = rows(step.transform(kit.queries("!!", SECRET)))
    assert {row["qid"] for row in found} == {"q1"}


def test_an_engine_must_keep_the_qid(kit: Kit) -> None:
    class Renames(kit.engine):  # type: ignore[misc, name-defined]
        def transform(self, inp: object) -> object:
            found = rows(super().transform(inp))
            return kit.frame([{**row, "qid": "x"} for row in found], columns=list(found[0]))

    step = kit.steps.PrivateSearch(Renames(DOCUMENTS), FAR, vectors=SPACE)
    with pytest.raises(EngineError, match="keep the qid"):
        step.transform(kit.queries(SECRET))
    with pytest.raises(ParameterError, match="'k'"):
        kit.steps.PrivateSearch(Renames(DOCUMENTS), FAR, k=0)


def test_fuse_makes_one_list_of_the_variants(kit: Kit) -> None:
    engine = kit.engine(DOCUMENTS)
    hidden = kit.steps.Obfuscate(NEAR, 3, vectors=SPACE) >> engine >> kit.steps.Fuse()
    found = hidden.transform(kit.queries(SECRET, WORDS[11]))
    assert list(found.columns) == ["qid", "docno", "score", "rank"]
    plain = rows(engine.transform(kit.queries(SECRET, WORDS[11])))
    wanted = [(row["qid"], row["docno"]) for row in plain]
    assert [(row["qid"], row["docno"]) for row in rows(found)] == wanted
    told = kit.steps.Obfuscate(NEAR, 3, vectors=SPACE, original=True) >> engine >> kit.steps.Fuse()
    assert {row["query"] for row in rows(told.transform(kit.queries(SECRET)))} == {SECRET}


def test_fuse_counts_the_best_place_and_the_number_of_lists(kit: Kit) -> None:
    lists = {"q%v0": ["a", "b", "a"], "q%v1": ["b", "c"], "other": ["c"]}
    given = [
        {"qid": name, "docno": docno, "score": -float(i)}
        for name, found in lists.items()
        for i, docno in enumerate(found)
    ]
    frame = kit.frame(given[::-1], columns=["qid", "docno", "score"])  # the score orders
    found = {
        (row["qid"], row["docno"]): row["score"] for row in rows(kit.steps.Fuse().transform(frame))
    }
    assert found["q", "b"] == pytest.approx(1 / 61 + 1 / 62)
    assert found["q", "a"] == pytest.approx(1 / 61)
    assert found["q", "c"] == pytest.approx(1 / 62)
    assert found["other", "c"] == pytest.approx(1 / 61)
