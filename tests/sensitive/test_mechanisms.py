"""Strategies: what they never show, how they order, and what they have not seen."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.sensitive.office import N, office, written

from veil import sensitive
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.core.registry import read_spec
from veil.core.types import Released
from veil.search.engines import ENGINES
from veil.sensitive.candidates import Candidates
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import copies
from veil.sensitive.mechanism import Scene
from veil.sensitive.mechanisms import MECHANISMS, learnt
from veil.sensitive.mechanisms.learnt import Examples, Scorer

PLAIN = (
    "relevance()",
    "prefilter(threshold=0.5)",
    "postfilter(threshold=0.5)",
    "postfilter(threshold=0.5, refill=false)",
    "demoted(beta=1)",
)
LEARNT = ("demoted(trained=true, encoder='')", "joint(encoder='')", "optimum(encoder='', cost=1)")


@pytest.fixture(scope="module")
def col(tmp_path_factory: pytest.TempPathFactory) -> SensitiveCollection:
    return office(tmp_path_factory.mktemp("office"))


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn quickly: what is tested is what models see and show, not how good they are."""
    monkeypatch.setattr(learnt, "TREES", 10)


@pytest.fixture(scope="module")
def p() -> np.ndarray:
    """Draw probabilities that say little."""
    return np.random.default_rng(0).uniform(0.05, 0.95, N)


def test_every_strategy_is_tested_here() -> None:
    tested = {spec.partition("(")[0] for spec in (*PLAIN, *LEARNT)}
    assert tested == set(MECHANISMS.builtin)


def test_relevance_is_the_order_of_the_engine(col: SensitiveCollection) -> None:
    actual = sensitive.rank(col, "relevance()", None, k=7)
    engine = ENGINES.parse("bm25").open(col)
    expected = engine.search([Released(text) for text in col.queries.values()], 7)
    assert [actual.list(row) for row in range(len(actual))] == [
        expected.list(row) for row in range(len(actual))
    ]


@pytest.mark.parametrize("spec", [*PLAIN, *LEARNT])
def test_what_is_labelled_or_not_known_is_never_shown(
    col: SensitiveCollection, p: np.ndarray, spec: str
) -> None:
    if spec in LEARNT:
        pytest.importorskip("lightgbm")
    certain = p.copy()
    certain[::3], certain[1::3] = 1.0, np.nan
    shown = {col.places[name] for name in sensitive.rank(col, spec, certain).items}
    assert shown
    assert shown <= set(range(2, N, 3))


@pytest.mark.parametrize("spec", PLAIN)
def test_totals_count_only_what_may_be_shown(
    col: SensitiveCollection, p: np.ndarray, spec: str
) -> None:
    certain = p.copy()
    certain[::2] = 1.0
    answer = MECHANISMS.parse(spec).open(Scene(col, certain)).answer("contract", N)
    matching = [i for i, text in enumerate(col.documents.passages) if "contract" in text.split()]
    visible = [i for i in matching if certain[i] < (0.5 if "threshold" in spec else 1)]
    assert answer.total == len(visible)
    assert not visible or set(answer.positions.tolist()) <= set(visible)


def test_prefilter_answers_as_if_the_rest_had_never_been(
    col: SensitiveCollection, p: np.ndarray, tmp_path: Path
) -> None:
    retained = p < 0.5
    lines = (written(tmp_path) / "docs.jsonl").read_text().split("\n")
    rest = [line for line, keep in zip(lines, retained, strict=True) if keep]
    labels = (tmp_path / "sensitivity.tsv").read_text().split("\n")
    ids = {json.loads(line)["id"] for line in rest}
    (tmp_path / "docs.jsonl").write_text("\n".join(rest))
    (tmp_path / "sensitivity.tsv").write_text(
        "\n".join([labels[0], *(entry for entry in labels[1:] if entry.split("\t")[0] in ids)])
    )
    small = sensitive.load(tmp_path)
    spec = MECHANISMS.parse("prefilter(threshold=0.5)")
    with_rest, without = spec.open(Scene(col, p)), spec.open(Scene(small, p[retained]))
    for query in (*col.queries.values(), "secret hug contract", "nothing"):
        entry, other = with_rest.answer(query, 20), without.answer(query, 20)
        assert [col.documents.ids[i] for i in entry.positions] == [
            small.documents.ids[i] for i in other.positions
        ]
        assert entry.scores.tobytes() == other.scores.tobytes()
        assert entry.total == other.total


def test_prefilter_of_everything_shows_nothing(col: SensitiveCollection, p: np.ndarray) -> None:
    assert sensitive.rank(col, "prefilter(threshold=0)", p).items == ()


def test_other_strategies_show_ranks_and_no_scores(
    col: SensitiveCollection, p: np.ndarray
) -> None:
    actual = sensitive.rank(col, "postfilter(threshold=0.5)", p, k=3)
    assert actual.scores[0].tolist() == pytest.approx([1, 1 / 2, 1 / 3])


def test_postfilter_fills_the_gaps_or_leaves_them(col: SensitiveCollection, p: np.ndarray) -> None:
    unprotected = sensitive.rank(col, "relevance()", p, k=10)
    gaps = sensitive.rank(col, "postfilter(threshold=0.5, refill=false)", p, k=10)
    full = sensitive.rank(col, "postfilter(threshold=0.5)", p, k=10)
    low = {name for name, place in col.places.items() if p[place] < 0.5}
    for row in range(len(unprotected)):
        assert gaps.list(row) == tuple(name for name in unprotected.list(row) if name in low)
        assert full.list(row)[: len(gaps.list(row))] == gaps.list(row)
        assert set(full.list(row)) <= low
    assert sum(len(full.list(row)) for row in range(len(full))) > sum(
        len(gaps.list(row)) for row in range(len(gaps))
    )


def test_depth_bounds_how_far_postfilter_looks(col: SensitiveCollection, p: np.ndarray) -> None:
    shallow = sensitive.rank(col, "postfilter(threshold=0.5, depth=10)", p, k=10)
    gaps = sensitive.rank(col, "postfilter(threshold=0.5, refill=false)", p, k=10)
    assert all(shallow.list(row) == gaps.list(row) for row in range(len(gaps)))


def test_demotion_orders_by_score_times_the_rest_of_p(col: SensitiveCollection) -> None:
    same = sensitive.rank(col, "demoted(beta=0)", np.full(N, 0.5))
    unprotected = sensitive.rank(col, "relevance()", None)
    assert (same.index == unprotected.index).all()
    p = np.where(col.sensitive == 1, 0.99, 0.0)
    actual = sensitive.rank(col, "demoted(beta=3)", p, k=5)
    hot = {name for name, label in col.labels.items() if label}
    assert any(set(unprotected.list(row)[:5]) & hot for row in range(len(unprotected)))
    assert not any(set(actual.list(row)) & hot for row in range(len(actual)))


@pytest.mark.parametrize("spec", [PLAIN[2], LEARNT[1]])
def test_the_same_lists_every_time(col: SensitiveCollection, p: np.ndarray, spec: str) -> None:
    if spec in LEARNT:
        pytest.importorskip("lightgbm")
    first, second = (sensitive.rank(col, spec, p) for _ in range(2))
    assert first.items == second.items
    assert (first.index == second.index).all()


@pytest.mark.parametrize("spec", LEARNT)
def test_strategies_that_learn_say_how(col: SensitiveCollection, p: np.ndarray, spec: str) -> None:
    pytest.importorskip("lightgbm")
    actual = sensitive.rank(col, spec, p, k=5)
    assert "both ways" in actual.notes[0]
    assert actual.cost.kind == "none"
    assert "depend on withheld documents" in actual.cost.caveat


def test_a_good_p_lets_the_joint_model_spare_sensitive_documents(col: SensitiveCollection) -> None:
    pytest.importorskip("lightgbm")
    p = np.where(col.sensitive == 1, 0.9, 0.1)
    shown, unprotected = (
        sensitive.rank(col, spec, p, k=5).run(list(col.queries))
        for spec in ("joint(encoder='')", "relevance()")
    )
    actual, expected = (
        sum(col.labels[name] for names in run.values() for name in names)
        for run in (shown, unprotected)
    )
    assert actual < expected / 2


def test_models_have_seen_neither_the_topic_nor_the_document(col: SensitiveCollection) -> None:
    """Features carry the numbers of topic and document, so that a model can tell what it saw."""
    groups = copies(col.documents.texts)
    topics = {topic: float(number) for number, topic in enumerate(sorted(col.judged_topics))}
    texts = {text: col.topic(query) for query, text in col.queries.items()}
    queries: list[tuple[set[float], set[float], float, set[float]]] = []

    class Numbered:
        def find(self, query: str) -> Candidates:
            places = np.arange(0, N, 2)
            marks = np.full(len(places), topics[texts[query]])
            features = np.stack([marks, groups[places].astype(float)], axis=1)
            return Candidates(places, features, np.ones(N))

    def fit(examples: Examples) -> Scorer:
        observed = set(examples.features[:, 0].tolist()), set(examples.features[:, 1].tolist())

        def score(features: np.ndarray) -> np.ndarray:
            queries.append((*observed, float(features[0, 0]), set(features[:, 1].tolist())))
            return np.zeros(len(features))

        return score

    models = learnt.TwoWay(col, Numbered(), fit)  # type: ignore[arg-type]
    for text, topic in texts.items():
        models.scores(Numbered().find(text), topic)
    assert len(queries) >= len(texts)
    for seen_topics, seen_groups, topic_mark, group_marks in queries:
        assert topic_mark not in seen_topics
        assert not group_marks & seen_groups
        assert seen_topics
        assert seen_groups


def test_learning_needs_judgements_and_labels(col: SensitiveCollection, p: np.ndarray) -> None:
    with pytest.raises(InputError, match="needs judgements"):
        sensitive.rank(replace(col, judgements={}), "joint(encoder='')", p)
    labels = col.sensitive.copy()
    labels[0] = -1
    with pytest.raises(InputError, match="labels of all documents"):
        sensitive.rank(replace(col, sensitive=labels), "joint(encoder='')", p)


def test_the_optimum_says_how_the_lowest_tenth_is_calibrated(col: SensitiveCollection) -> None:
    pytest.importorskip("lightgbm")
    p = np.where(col.sensitive == 1, 0.01, 0.9)  # as wrong as can be
    actual = sensitive.rank(col, "optimum(encoder='')", p)
    assert "the mean p is 0.0100 and the share of sensitive documents is 1.0000" in actual.notes[1]
    nothing = sensitive.rank(col, "optimum(encoder='')", np.full(N, np.nan))
    assert nothing.items == ()
    assert len(nothing.notes) == 1


@pytest.mark.parametrize(
    ("spec", "p", "says"),
    [
        ("postfilter(threshold=0.5)", np.full(N, 1.5), "from 0 to 1"),
        ("postfilter(threshold=0.5)", np.full(N - 1, 0.5), "one probability for each"),
        ("postfilter(threshold=0.5)", None, "needs the probability"),
        ("postfilter(threshold=1.5)", np.full(N, 0.5), "threshold"),
        ("prefilter", np.full(N, 0.5), "threshold"),
        ("joint(cost=-1)", np.full(N, 0.5), "cost"),
    ],
)
def test_bad_input(col: SensitiveCollection, spec: str, p: np.ndarray | None, says: str) -> None:
    with pytest.raises((InputError, ParameterError), match=says):
        sensitive.rank(col, spec, p)


def test_unknown_names_and_depths_are_refused(col: SensitiveCollection) -> None:
    with pytest.raises(UnknownNameError, match="postfilter"):
        sensitive.rank(col, "postfiltre(threshold=0.5)", np.zeros(N))
    with pytest.raises(ParameterError, match="'k' argument"):
        sensitive.rank(col, "relevance", None, k=0)
    with pytest.raises(ParameterError, match="must look like"):
        sensitive.rank(col, 5, None)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must look like"):
        sensitive.attack(col, "relevance", None, 5)  # type: ignore[arg-type]


def test_the_name_in_a_spec_may_have_hyphens_inside() -> None:
    assert read_spec("known-item(terms=5)") == ("known-item", {"terms": 5})
    for spec in ("-item", "known-", "known--item(terms=5)"):
        with pytest.raises(ParameterError, match="must look like"):
            read_spec(spec)
