"""Popularity that is estimated: the law of a weight, wider groups, and what an engine gains."""

import gzip
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids
from veil.cover import Table, Universe, build, exact_risk, load, read_universe
from veil.cover import catalogue as tables
from veil.cover.builder import WIDE, _groups, banded
from veil.cover.popularity import as_counts, estimate_counts, geometric_weight, words_in
from veil.cover.universe import names_of
from veil.data.fetch import no_progress
from veil.text.mechanisms.queries.cover import describe_table


def test_a_weight_is_a_geometric_mean_halved_for_each_word_beyond_two() -> None:
    frequencies = {"a": 2.0, "b": 8.0, "c": 4.0}
    assert geometric_weight(["a"], frequencies, 1) == 2
    assert geometric_weight(["a", "b"], frequencies, 1) == pytest.approx(4)
    assert geometric_weight(["a", "b", "c"], frequencies, 1) == pytest.approx(2)
    assert geometric_weight(["a", "b", "c", "c"], frequencies, 1) == pytest.approx(1)
    assert geometric_weight(["b", "unknown"], frequencies, 0.5) == pytest.approx(2)
    assert geometric_weight([], frequencies, 1) == 0
    assert as_counts(np.array([0.0, 1.0, 2.0])).tolist() == [1, 5 * 10**8, 10**9]
    assert as_counts(np.zeros(2)).tolist() == [1, 1]


def test_common_words_and_short_texts_are_popular() -> None:
    texts = ["skin cancer", "skin cancer of the lower left leg", "xanthogranuloma", "12.5", "B"]
    short, long, rare, none, letter = estimate_counts([text] for text in texts).tolist()
    assert short > long > none
    assert letter > short > rare > none == 1
    assert words_in("Ménière's disease 2") == ["ménière", "s", "disease"]
    by_name = estimate_counts([names_of("cutis, skin: the natural outer covering of a body")])
    assert names_of("cutis, skin: a thing: covered") == ["cutis", "skin"]
    assert by_name.tolist() == [10**9]


def test_counts_are_estimated_in_place_of_those_that_there_are() -> None:
    universe = Universe.of({"the skin": 1, "xanthogranuloma juvenile": 9}, "x")
    estimated = universe.estimated()
    assert universe.popularity == "counts"
    assert estimated.popularity == estimated.sampled(0.5).popularity == "words"
    assert estimated.counts[0] > estimated.counts[1]
    assert len(estimated.sampled(0.5).counts) == 1
    with pytest.raises(ParameterError, match="counts, words"):
        read_universe("icd10cm", popularity="many")  # type: ignore[arg-type]


def test_a_file_has_its_counts_unless_words_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "log.tsv").write_text("the skin\t1\nxanthogranuloma\t7\n")
    assert read_universe(tmp_path / "log.tsv").counts.tolist() == [1, 7]
    universe = read_universe(tmp_path / "log.tsv", popularity="words")
    assert (universe.popularity, bool(universe.counts[0] > universe.counts[1])) == ("words", True)


def test_the_tables_that_are_built_in_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    universe = read_universe("icd10cm")
    assert universe.popularity == "words"
    assert (universe.counts > 1).mean() > 0.99
    assert read_universe("icd10cm", "titles").popularity == "counts"
    assert (read_universe("icd10cm", popularity="counts").counts <= 2).all()
    glosses = ["skin, cutis: a rare xanthogranuloma of the", "xanthogranuloma: the skin of a man"]
    monkeypatch.setattr("veil.cover.universe.glosses", lambda report: iter(glosses))
    nouns = read_universe("wordnet")
    assert nouns.popularity == "words"
    assert nouns.counts[0] > nouns.counts[1]  # by the names alone


@pytest.mark.parametrize(("n", "group"), [(18_017, 200), (40_000, 200), (4_000, 200), (450, 200)])
def test_the_popular_half_has_wider_groups(n: int, group: int) -> None:
    counts = np.random.default_rng(n).permutation(np.arange(1, n + 1))
    universe = replace(Universe.of([f"text {i}" for i in range(n)]), counts=counts)
    result = banded(replace(universe, popularity="words"), group)
    assert sorted(np.concatenate([band for band, _ in result]).tolist()) == list(range(n))
    assert all(len(band) // groups >= group for band, groups in result)
    *popular, (rest, groups) = result
    assert groups == (n - n // 2) // group
    assert counts[rest].max() <= min(counts[band].min() for band, _ in popular)
    assert sum(len(band) for band, _ in popular) == n // 2
    if n // 2 >= WIDE * group:
        assert all(len(band) // number >= WIDE * group for band, number in popular)
    assert [len(band) for band, _ in banded(universe, group)] != [len(band) for band, _ in result]


def test_a_universe_that_is_too_small_for_two_bands_has_one(texts: list[str]) -> None:
    universe = Universe.of(texts).estimated()
    assert [(len(band), groups) for band, groups in banded(universe, 70)] == [(128, 1)]
    assert build(universe, tracks=4, cell=32).L == 1


def test_what_is_proved_of_a_table_stays(texts: list[str]) -> None:
    """All k texts in each group, and a gain of L at most whatever is believed before."""
    table = build(Universe.of(texts).estimated(), tracks=4, cell=2)
    assert table.popularity == "words"
    assert table.L == 1 + 64 // 8
    sizes = np.bincount(table.addresses * table.k + table.tracks, minlength=table.L * table.k)
    assert sizes.min() >= table.cell
    assert all(len(table.group(address)) == table.k for address in range(table.L))
    rng = np.random.default_rng(3)
    nowhere = np.zeros(len(table), dtype=np.int64)
    for power in (0.0, 1.0, 3.0, 10.0):
        weights: Floats = rng.random(len(table)) ** power
        for guesses in (1, 3, 10):
            after, before = (exact_risk(at, guesses, weights) for at in (table.addresses, nowhere))
            assert before - 1e-12 <= after <= table.L * before + 1e-12


def test_a_risk_names_its_prior(texts: list[str]) -> None:
    universe = Universe.of(texts).estimated()
    table = build(universe, tracks=4, cell=2)
    uniform, counts = np.ones(len(texts)), universe.counts.astype(float)
    assert table.weighed
    assert table.usual == "equal"
    for guesses in (1, 10):
        equal, popular = (
            exact_risk(table.addresses, guesses, value) for value in (uniform, counts)
        )
        assert table.risk(guesses=guesses) == table.risk(guesses=guesses, prior="equal") == equal
        assert table.risk(guesses=guesses, prior="popular") == popular != equal
        best = np.sort(counts)[::-1][:guesses].sum() / counts.sum()
        assert table.blind(guesses, "popular") == pytest.approx(best)
        assert table.blind(guesses) == guesses / len(texts)
    members = table.members(0)
    assert table.risk_of(members, 1) == 1 / len(members)
    own = table.counts[members]
    assert table.risk_of(members, 1, "popular") == pytest.approx(own.max() / own.sum())
    logged = build(dict(zip(texts, counts.astype(int).tolist(), strict=True)), tracks=4, cell=2)
    assert logged.usual == "popular"
    assert logged.risk() == logged.risk(prior="popular")
    low, high = table.track_odds
    assert low <= 1 / 4 <= high < 1.5 / 4  # all texts equally likely: an estimate is no count


def test_both_priors_are_told(texts: list[str]) -> None:
    table = build(Universe.of(texts).estimated(), tracks=4, cell=2)
    odds = table.odds()
    assert (odds.texts, odds.equal) == (128, table.risk(prior="equal"))
    assert (odds.popular, odds.blind) == (table.risk(prior="popular"), table.blind(10, "popular"))
    message = str(odds)
    assert "if all 128 texts of the table are equally likely, and in" in message
    assert "by public frequencies of words" in message
    assert f"({100 * table.blind(10, 'popular'):.3g} % before anything is sent)" in message
    members = table.members(2)
    assert table.odds(members).equal == table.risk_of(members, prior="equal")
    assert table.odds(members).popular == table.risk_of(members, prior="popular")
    flat = build(texts, tracks=4, cell=2).odds()
    assert (flat.popular, flat.blind) == (None, None)
    assert str(flat).endswith("their popularity is unknown.")
    counted = build(dict.fromkeys(texts[:64], 5) | dict.fromkeys(texts[64:], 1), 4, 2)
    assert ", by counts (" in str(counted.odds())


def test_the_popularity_is_saved(texts: list[str], tmp_path: Path) -> None:
    build(Universe.of(texts[:125]).estimated(), tracks=4, cell=3).save(tmp_path / "t")
    table = load(tmp_path / "t")
    assert table.popularity == "words"
    low, high = table.track_odds
    assert low < high
    assert (
        "If all texts are equally likely, each of the 4 tracks is right with probability"
        f" {low:.3f} to {high:.3f}," in describe_table(table)
    )


def test_a_table_of_before_is_opened_as_it_was(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that a user named is not lost; one in the cache is made anew."""
    facts = table._facts()
    del facts["popularity"]
    monkeypatch.setattr(Table, "_facts", lambda self: facts)
    table.save(tmp_path / "t")
    assert "popularity" not in json.loads((tmp_path / "t" / "meta.json").read_text())["facts"]
    assert load(tmp_path / "t").popularity == "counts"
    new = tables._folder("icd10cm", 20, 10, 24)
    monkeypatch.setattr(tables, "BUILD", 1)
    assert tables._folder("icd10cm", 20, 10, 24) != new


def _web_weights(shared: Path, texts: list[str]) -> Floats:
    with gzip.open(shared / "logs" / "web-queries.txt.gz", "rt", encoding="utf-8") as log:
        view = Counter(word for query in log for word in words_in(query))
    weights = []
    for text in texts:
        logs = [math.log(view.get(word, 0) + 0.5) for word in words_in(text)]
        mean = math.exp(sum(logs) / len(logs)) if logs else 0.0
        weights.append(mean * 0.5 ** max(0, len(logs) - 2))
    return np.array(weights)


def test_popular_queries_are_not_found_much_better_than_blindly(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default table against real web queries; with any tracks, as vectors take a minute."""
    monkeypatch.setattr("veil.cover.builder._ROUNDS", 1)
    monkeypatch.setattr("veil.cover.builder._PRICED", 3)
    universe = read_universe("icd10cm")
    weights = _web_weights(shared, list(universe.texts))
    vectors = np.random.default_rng(0).normal(size=(len(universe), 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def groups(result: Universe) -> Ids:
        return _groups(result, vectors, 20, 10, 0, no_progress)[1]

    nowhere = np.zeros(len(universe), dtype=np.int64)
    blind = exact_risk(nowhere, 10, weights)
    assert blind == pytest.approx(0.039, abs=0.001)
    result = groups(universe)
    assert result.max() + 1 >= 50
    assert exact_risk(result, 10, weights) <= 2.5 * blind
    assert exact_risk(result, 1, weights) <= 2.5 * exact_risk(nowhere, 1, weights)
    flat = replace(universe, counts=np.ones_like(universe.counts), popularity="counts")
    assert exact_risk(groups(flat), 10, weights) > 8 * blind
