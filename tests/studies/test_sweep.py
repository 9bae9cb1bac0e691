"""A study gives the same results however it is run, and computes no step twice."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.search.study.material import STUDY, Variant

from veil.core.errors import InputError, ParameterError
from veil.data.fetch import no_progress
from veil.search.engines.local.lexical import LexicalEngine
from veil.studies import domains
from veil.studies import sweep as sweep_module
from veil.studies.domains import domain, load_study
from veil.studies.experiment import Step
from veil.studies.figures import results
from veil.studies.results import Results, Row
from veil.studies.store import Result, Store
from veil.studies.study import Study
from veil.studies.sweep import sweep


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the steps that are computed in this process, by kind."""
    counted: Counter[str] = Counter()

    def counting(study: Study, step: Step, of: Result | None) -> Result:
        counted[step.kind] += 1
        return domains.compute(study, step, of)

    monkeypatch.setattr(sweep_module, "compute", counting)
    return counted


def _ordered(found: Results) -> list[Row]:
    return sorted(found.rows, key=repr)


def test_the_table_has_a_row_for_every_figure(study: Study, folder: Path) -> None:
    found = sweep(study, folder / "out", workers=0)
    measured = Counter((row.kind, row.measure) for row in found.rows)
    for measure in ("nDCG@10", "recall@100", "pooled recall"):
        assert measured["utility", measure] == 4  # three configurations, and no protection
    for measure in ("lazy", "active", "motivated", "persistent"):
        assert measured["risk", measure] == 3
    for measure in ("jaccard", "bleu", "meteor", "N_w", "S_w"):
        assert measured["similarity", measure] == 3
    assert measured["similarity", "cosine"] == 0  # there is no encoder
    for row in found.rows:
        assert row.low <= row.score <= row.high
        assert row.n == 6
        assert (row.chance is None) == (row.kind in ("utility", "similarity"))
    assert {row.task for row in found.rows} == {"bm25", ""}
    assert len(found.cards) == 3
    assert found.cards[0].total == "metric-dp: 12 * euclidean, per query (3 words x 4 variants)"
    assert len(found.examples) == 9
    assert dict(found.facts)["seed"] == "7"
    assert "6 of the queries were not in the log and were added to it." in found.notes


def test_more_budget_gives_more_utility_and_more_risk(study: Study, folder: Path) -> None:
    found = sweep(study, folder / "out", workers=0)
    score = {(row.spec, row.measure): row.score for row in found.rows}
    for measure in ("nDCG@10", "jaccard", "motivated"):
        assert score["cmp(epsilon=1.0)", measure] < score["cmp(epsilon=5.0)", measure]
    assert score["plain", "nDCG@10"] > score["cmp(epsilon=1.0)", "nDCG@10"]


def test_a_second_run_computes_nothing(study: Study, folder: Path, computed: Counter[str]) -> None:
    first = sweep(study, folder / "out", workers=0)
    assert computed == {"plain": 1, "protect": 3, "search": 3, "similarity": 3, "attack": 9}
    computed.clear()
    again = sweep(study, folder / "out", workers=0)
    assert not computed
    assert again.rows == first.rows
    assert again.examples == first.examples
    with Store(folder / "out") as store:
        assert results(study, store).rows == first.rows


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ('["bayes"]', '["bayes", "bayes(prior=frequency)"]', {"attack": 9}),
        ('["bayes"]', '["bayes", "bayes()"]', {}),  # the same one, written otherwise
        ('["bayes"]', '["reconstruct"]', {"attack": 9}),  # after 1, 2 and 4 variants
        ("k = 10", "k = 5", {"plain": 1, "search": 3}),
        ("k = 10", 'k = 10\nengine = ["bm25", "tfidf"]', {"plain": 1, "search": 3}),
        ("[1, 5]", "[1, 5, 9]", {"protect": 1, "search": 1, "similarity": 1, "attack": 3}),
        ('["bayes"]', '["bayes"]\nadd_queries_to_log = false', {"attack": 9}),
        ("seed = 7", "seed = 8", {"protect": 3, "search": 3, "similarity": 3, "attack": 9}),
        (
            "sizes = [4]",
            "sizes = [4, 2]",
            {"protect": 3, "search": 3, "similarity": 3, "attack": 3},
        ),
        ("k = 10", "k = 10\nlog_size = 20", {"attack": 9}),
        ('["bayes"]', "[]", {}),
        ('spec = "cmp"', 'spec = "cmp"\nattackers = []', {}),
        ('spec = "cmp"', 'spec = "cmp"\nattackers = "bayes(prior=frequency)"', {"attack": 6}),
        ("sizes", 'name = "another"\nsizes', {}),
    ],
)
def test_a_change_computes_what_depends_on_it_alone(
    old: str,
    new: str,
    wanted: dict[str, int],
    study: Study,
    folder: Path,
    variant: Variant,
    computed: Counter[str],
) -> None:
    sweep(study, folder / "out", workers=0)
    computed.clear()
    sweep(variant(old, new), folder / "out", workers=0)
    assert computed == wanted


@pytest.mark.parametrize(
    "file", ["log.txt", "vectors.txt", "tiny/docs.jsonl", "tiny/queries.jsonl"]
)
def test_other_material_is_noticed_under_the_same_name(
    file: str, study: Study, folder: Path, computed: Counter[str]
) -> None:
    sweep(study, folder / "out", workers=0)
    computed.clear()
    domains.open_experiment.cache_clear()  # another process would open it anew
    text = (folder / file).read_text()
    (folder / file).write_text(text.replace("bebaba", "zzbaba"))
    sweep(study, folder / "out", workers=0)
    expected = {
        "log.txt": {"attack": 9},
        "tiny/docs.jsonl": {"plain": 1, "search": 3},
        "vectors.txt": {"protect": 3, "search": 3, "similarity": 3, "attack": 9},
    }
    every = {"plain": 1, "protect": 3, "search": 3, "similarity": 3, "attack": 9}
    assert computed == expected.get(file, every)


def test_the_order_of_the_work_does_not_matter(
    study: Study, folder: Path, variant: Variant
) -> None:
    blocks = STUDY.split("[[mechanism]]")
    other = variant(STUDY, "[[mechanism]]".join([blocks[0], *blocks[:0:-1]]))
    one = sweep(study, folder / "one", workers=0)
    two = sweep(other, folder / "two", workers=0)
    assert one.rows != two.rows
    assert _ordered(one) == _ordered(two)


@pytest.mark.slow
def test_the_number_of_workers_does_not_matter(study: Study, folder: Path) -> None:
    here = sweep(study, folder / "out0", workers=0)
    told: list[tuple[str, int, int]] = []
    for workers in (1, 2):
        found = sweep(
            study,
            folder / f"out{workers}",
            workers=workers,
            report=lambda message, done, total: told.append((message, done, total)),
        )
        assert found.rows == here.rows
        assert found.examples == here.examples
    assert [done for message, done, total in told if total == 19][-19:] == list(range(1, 20))
    assert any(message.endswith(" left") for message, _, _ in told)


def test_a_step_that_was_torn_is_computed_again(
    study: Study, folder: Path, computed: Counter[str]
) -> None:
    first = sweep(study, folder / "out", workers=0)
    computed.clear()
    with Store(folder / "out") as store:
        store._db.execute("UPDATE steps SET arrays = x'00' WHERE kind = 'similarity'")
    assert sweep(study, folder / "out", workers=0).rows == first.rows
    assert computed == {"similarity": 3}


def test_a_full_disk_in_the_middle_loses_nothing(
    study: Study, folder: Path, monkeypatch: pytest.MonkeyPatch, computed: Counter[str]
) -> None:
    def full(store: Store, *given: object) -> None:
        if len(store.keys()) == 5:
            store._db.execute("PRAGMA max_page_count = 1")
        put(store, *given)  # type: ignore[arg-type]

    put = Store.put
    with monkeypatch.context() as patch:
        patch.setattr(Store, "put", full)
        with pytest.raises(InputError, match="Its contents are kept"):
            sweep(study, folder / "out", workers=0)
    with Store(folder / "out") as store:
        kept = len(store.keys())
        partial = results(study, store)
    assert kept >= 5
    assert (
        f"{19 - kept} steps are not computed yet, so their figures are missing." in partial.notes
    )
    computed.clear()
    assert len(sweep(study, folder / "out", workers=0).rows) == len(
        sweep(study, folder / "whole", workers=0).rows
    )
    assert computed.total() == 19 - kept + 19


def test_a_log_without_the_queries_is_told_of(folder: Path, variant: Variant) -> None:
    chosen = variant("seed = 7", "seed = 7\nadd_queries_to_log = false")
    found = sweep(chosen, folder / "out", workers=0)
    told = "6 of the queries were not in the log"
    assert any(note.startswith(told) for note in found.notes)
    assert {row.score for row in found.rows if row.kind == "risk"} == {0.0}


def test_material_that_cannot_be_used(folder: Path, variant: Variant) -> None:
    chosen = variant('log = "log.txt"', "")
    with pytest.raises(
        InputError, match=r"The collection tiny has no query log. Set the study's 'log'"
    ):
        sweep(chosen, folder / "out", workers=0)
    (folder / "log.txt").write_text("\n \n")
    with pytest.raises(InputError, match="The log holds no query"):
        sweep(load_study(folder / "tiny.toml"), folder / "out", workers=0)
    (folder / "log.txt").write_bytes(b"one\n\xff\n")
    with pytest.raises(InputError, match=r"log.txt is not UTF-8 text after line 1"):
        sweep(load_study(folder / "tiny.toml"), folder / "out", workers=0)
    (folder / "tiny" / "qrels.txt").write_text("q1 0 d1 0\n")
    with pytest.raises(InputError, match=r"tiny has no query with a relevant document"):
        sweep(load_study(folder / "tiny.toml"), folder / "out", workers=0)


def test_an_engine_on_a_network_is_refused(
    study: Study, folder: Path, variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = variant("k = 10", 'k = 10\nengine = "searxng(url=http://127.0.0.1:9)"')
    with pytest.raises(ParameterError, match="searxng engine searches its own documents"):
        sweep(chosen, folder / "out", workers=0)
    monkeypatch.setattr(LexicalEngine, "network", True)
    with pytest.raises(
        ParameterError, match=r"seeded and not private, so they cannot be sent to bm25"
    ):
        sweep(study, folder / "out", workers=0)


def test_a_number_of_workers_that_is_none(study: Study, folder: Path) -> None:
    with pytest.raises(ParameterError, match="'workers' must be an integer from 0"):
        sweep(study, folder / "out", workers=-1)


def test_progress_never_falls_while_something_is_prepared(
    study: Study, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = domain(study.domain)
    begin, prepare = kind.__init__, kind.prepare

    def opened(self: Any, study: Study, report: Any = no_progress) -> None:  # noqa: ANN401
        report("reading", 49, 100)
        begin(self, study, report)
        self.told = report

    def prepared(self: Any, missing: Sequence[Step]) -> None:  # noqa: ANN401
        self.told("indexing", 0, 7)
        self.told("indexing", 7, 7)
        prepare(self, missing)

    monkeypatch.setattr(kind, "__init__", opened)
    monkeypatch.setattr(kind, "prepare", prepared)
    seen: list[tuple[str, int, int]] = []
    sweep(study, folder / "o", workers=0, report=lambda *given: seen.append(given))
    assert ("preparing: reading (49 %)", 0, 0) in seen
    assert any(one[0] == "preparing: indexing (100 %)" and one[1] == 0 for one in seen)
    shares = [done / total for _, done, total in seen if total]
    assert shares == sorted(shares)
    assert len({total for _, _, total in seen}) == 2  # unknown, then the steps of the sweep
    assert shares[-1] == 1
