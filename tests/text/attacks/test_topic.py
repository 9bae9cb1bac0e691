"""Labels, against sums by hand."""

from pathlib import Path

import numpy as np
import pytest

from veil.core.errors import InputError, ParameterError
from veil.corpus.logs import read_labels
from veil.measures.risk import chance
from veil.search.study.experiment import WORDS
from veil.studies.figures import ranked
from veil.testing.text import Grouped, GroupTable
from veil.text.attack import Scene
from veil.text.attacks.likelihood import likelihood
from veil.text.attacks.posterior import ShapedLog
from veil.text.attacks.shapes import reader
from veil.text.attacks.topic import Topic
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings

TABLE = GroupTable()
TEXTS = [f"query {i} {'abc'[min(2, i % 4)]}" for i in range(300)]
ADDRESSES = TABLE.address(TEXTS)


def test_labels_stand_by_their_share_of_the_group() -> None:
    originals = tuple(TEXTS[:40])
    rows = tuple(TABLE.group(int(a)) for a in TABLE.address(originals))
    outcome = Topic().run(Scene(rows, originals, QueryLog.of(TEXTS), Grouped()))
    heads = np.array([text[-1] for text in TEXTS])
    for i, own in enumerate(heads[:40]):
        group = heads[ADDRESSES[i] == ADDRESSES].tolist()
        counts = {label: group.count(label) for label in "abc"}
        assert outcome.ranks[i] == 1 + sum(one > counts[own] for one in counts.values())
        assert outcome.ties is not None
        assert outcome.ties[i] == sum(one == counts[own] for one in counts.values())
    assert (outcome.unit, set(outcome.candidates.tolist())) == ("label", {3})
    assert outcome.prior is not None
    assert outcome.prior.tolist() == [1 if own == "c" else 2 for own in heads[:40]]
    assert outcome.prior_ties is not None
    assert outcome.prior_ties.tolist() == [1 if own == "c" else 2 for own in heads[:40]]
    blind = chance(outcome.candidates, "lazy", prior=outcome.prior, prior_ties=outcome.prior_ties)
    assert blind == 0.5


def test_the_posterior_of_words_is_summed(words: Embeddings, queries: list[str]) -> None:
    made = mechanism("custext(epsilon=2, k=8)")
    assert isinstance(made, WordMechanism)
    originals = tuple(queries[:10])
    rows = protect_words(originals, made, words, 1, rng=5, select="all").rows
    log = QueryLog.of(queries)
    outcome = Topic(select="all").run(Scene(rows, originals, log, made, words))
    shaped, law = ShapedLog.of(log, reader(made, words, "all")), likelihood(made, words)
    heads = [query.split()[-1] for query in queries]
    for i, row in enumerate(rows):
        weights = np.exp(shaped.scores(row, law))
        sums = dict.fromkeys(heads, 0.0)
        for head, weight in zip(heads, weights.tolist(), strict=True):
            sums[head] += weight
        own = sums[heads[i]]
        assert outcome.ranks[i] == 1 + sum(one > own * (1 + 1e-9) for one in sums.values())


def test_a_file_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("Query  0 a\teven\nquery 1 b\todd\n\nquery 2 c\teven\n", "utf-8")
    assert read_labels(path)["query 0 a"] == "even"
    originals = (TEXTS[0], TEXTS[3], TEXTS[1])
    rows = tuple(TABLE.group(int(a)) for a in TABLE.address(originals))
    attacker = Topic(labels=str(path))
    outcome = attacker.run(Scene(rows, originals, QueryLog.of(TEXTS[:4]), Grouped()))
    assert outcome.subjects.tolist() == [0, 2]  # the other has no label
    assert outcome.candidates.tolist() == [2, 2]
    assert outcome.prior is not None
    assert outcome.prior.tolist() == [1, 2]
    before = attacker.reads
    path.write_text("query 0 a\tone\n", "utf-8")
    assert attacker.reads != before
    with pytest.raises(InputError, match="do not fit these queries"):
        attacker.run(Scene(rows, originals, QueryLog.of(TEXTS[:4]), Grouped()))
    path.write_text("query 0 a\nsecret", "utf-8")
    with pytest.raises(InputError, match=r"Line 1 of labels.tsv must be a query") as caught:
        attacker.run(Scene(rows, originals, QueryLog.of(TEXTS[:4]), Grouped()))
    assert "query 0" not in str(caught.value)
    with pytest.raises(InputError, match="or a readable file"):
        read_labels(tmp_path / "none.tsv")
    (tmp_path / "odd.tsv").write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(InputError, match="UTF-8"):
        read_labels(tmp_path / "odd.tsv")


def test_tracks_are_those_of_a_table() -> None:
    scene = Scene((TABLE.group(0),), (TEXTS[0],), QueryLog.of(TEXTS), Grouped())
    with pytest.raises(ParameterError, match="Only a cover table has tracks"):
        Topic(labels="tracks").run(scene)


def test_a_label_is_no_query() -> None:
    originals = tuple(TEXTS[:4])
    rows = tuple(TABLE.group(int(a)) for a in TABLE.address(originals))
    outcome = Topic().run(Scene(rows, originals, QueryLog.of(TEXTS), Grouped()))
    (figure,) = ranked(outcome, "topic", WORDS)
    assert (figure.kind, figure.measure) == ("recovery", "labels")
