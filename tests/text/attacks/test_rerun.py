"""Running a mechanism again, against counting by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.corpus.collection import Collection, Document, Documents
from veil.text.attack import Scene
from veil.text.attacks.rerun import Rerun, TargetDocuments
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease

RUN: list[str] = []  # texts that the mechanism was run on


class Rules(QueryMechanism):
    """Send each word of a query with those before it, without the last letter of any."""

    name: ClassVar[str] = "rules"
    index: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit="query", caveat="A test.")

    def bind(self) -> "Rules":
        return self

    def scramble(self, text: str, size: int) -> QueryRelease:
        RUN.append(text)
        words = [word[:-1] for word in text.lower().split()]
        queries = [" ".join(words[:end]) for end in range(1, len(words) + 1)]
        return QueryRelease(tuple(queries[:size]), (), len(words))


LOG = QueryLog.of(["bone pain", "bone path", "bone pair of all", "skin rash", "skin"])


def rows(texts: Sequence[str], size: int) -> tuple[tuple[str, ...], ...]:
    return tuple(Rules().scramble(text, size).queries for text in texts)


def test_queries_stand_by_how_much_of_the_release_they_give() -> None:
    texts = ("bone pain", "skin rash", "Bone  Pair of all", "measles")
    outcome = Rerun().run(Scene(rows(texts, 4), texts, LOG, Rules()))
    # "bon", "bon pai" is given by "bone pain" alone: "bone pair of all" gives two more
    assert outcome.ranks.tolist() == [1, 1, 1, 6]
    assert outcome.ties is not None
    assert outcome.ties.tolist() == [1, 1, 1, 1]
    seen = (("bon",), ("bon pat", "ski"), ())
    scores = Rerun().run(Scene(seen, ("bone path", "bone path", "skin"), LOG, Rules()))
    # of two sent: 1 of 2 ("bone path" and its like), then 1 of 3; 1 of 2 for "skin" stands first
    assert scores.ranks.tolist() == [1, 2, 1]
    assert scores.ties is not None
    assert scores.ties.tolist() == [3, 2, 5]


def test_equal_releases_share_the_first_place() -> None:
    log = QueryLog.of(["bones", "bonet", "boned", "skin"])
    outcome = Rerun().run(Scene((("bone",),), ("boned",), log, Rules()))
    assert outcome.ranks.tolist() == [1]
    assert outcome.ties is not None
    assert outcome.ties.tolist() == [3]


def test_each_query_of_the_log_is_run_once_for_all_texts() -> None:
    log = QueryLog.of(list(LOG.texts))
    texts = ("bone pain", "skin rash")
    seen = rows(texts, 4)
    RUN.clear()
    Rerun().run(Scene(seen, texts, log, Rules()))
    assert sorted(RUN) == sorted(LOG.texts)


def public(folder: Path) -> str:
    titles = ["bone pain", "bone path", "skin rash", "skin cancer", "flu"]
    made = Documents.of(Document(f"d{i}", title, title[:-1]) for i, title in enumerate(titles))
    Collection("public", made).save(folder)
    return str(folder)


def test_with_a_collection_the_most_promising_are_run_until_one_is_the_same(
    tmp_path: Path,
) -> None:
    index = public(tmp_path / "public")
    texts = ("skin cancer", "flu")
    log = QueryLog.of(["bone pain", "bone path", "flu", "skin rash", "skin cancer"])
    seen = (("skin", "skin cance"), ("flu",))
    RUN.clear()
    outcome = Rerun(best=2).run(Scene(seen, texts, log, Rules(index=index)))
    assert set(RUN) == {"skin cancer", "skin rash", "flu", "bone pain"}  # best two of each
    assert outcome.ranks.tolist() == [1, 1]
    RUN.clear()
    again = QueryLog.of(list(log.texts))
    Rerun(best=2).run(Scene((("ski", "ski cance"),), texts[:1], again, Rules(index=index)))
    assert "bone pain" not in RUN
    full = QueryLog.of(list(log.texts))
    RUN.clear()
    Rerun(best=0).run(Scene(seen[:1], texts[:1], full, Rules(index=index)))
    assert sorted(RUN) == sorted(log.texts)


def test_a_query_is_worth_what_its_documents_gain(tmp_path: Path) -> None:
    from veil.corpus.collection import open_collection

    collection = open_collection(Path(public(tmp_path / "public")))
    log = QueryLog.of(["bone pain", "skin", "measles"])
    worth = TargetDocuments.of(log, collection).gains(["skin rash", "flu"])
    # "skin rash" finds d2 then d3, which are the documents of "skin"
    np.testing.assert_allclose(worth, [0, 1 + 1 / np.log2(3), 0])


def test_mechanisms_that_draw_are_refused() -> None:
    for known, said in ((mechanism("cmp(epsilon=5)"), "cmp is random"), (None, "give mechanism=")):
        with pytest.raises(ParameterError, match=said):
            Rerun().run(Scene((("a",),), ("a",), LOG, known))
