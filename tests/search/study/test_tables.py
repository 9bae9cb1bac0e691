"""Universes that a study makes of its own log or collection, and the blind row."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.cover.conftest import Bag
from tests.cover.conftest import bag as bag
from tests.search.study.material import STUDY, load

from veil.core.errors import InputError
from veil.corpus.tokens import fold_text
from veil.cover import load as load_table
from veil.data.fetch import no_progress
from veil.search.study.material import StudyMaterial, StudyTables, with_universe
from veil.search.study.steps import cells
from veil.search.study.study import SearchStudy
from veil.studies.sweep import sweep
from veil.text.mechanisms.queries.blind import Blind
from veil.text.mechanisms.queries.cover import Cover
from veil.text.mechanisms.words.cmp import CMP

COVER = '\n[[mechanism]]\nspec = "cover(cell=2, words=3)"\n'
CMP_ALONE = STUDY.partition("[[mechanism]]")[0]


@pytest.fixture
def bench(study: SearchStudy) -> StudyMaterial:
    return StudyMaterial(study)


@pytest.fixture
def tables(bench: StudyMaterial) -> StudyTables:
    return bench.tables


def universe(tables: StudyTables, name: str) -> list[str]:
    return list(tables._universe(name).texts)


def other(folder: Path, *lines: str, mechanisms: str = COVER) -> SearchStudy:
    """The tiny study with other keys and mechanisms."""
    text = CMP_ALONE.replace("blind = false", "\n".join(lines)) + mechanisms
    (folder / "other.toml").write_text(text)
    return load(folder / "other.toml")


def test_half_is_every_second_query_without_those_of_the_study(
    bench: StudyMaterial, tables: StudyTables
) -> None:
    whole, half = universe(tables, "log"), universe(tables, "half")
    asked = set(map(fold_text, bench.texts))
    assert asked <= set(map(fold_text, whole))  # they were added to the log
    assert asked.isdisjoint(map(fold_text, half))
    assert half == [text for text in whole if fold_text(text) not in asked][::2]
    assert len(half) == 15


def test_queries_are_held_out_however_they_are_spelt(bench: StudyMaterial) -> None:
    first, second, *_ = bench.log.texts
    shouted = (f"  {first.upper()} ",)
    found = universe(StudyTables(bench.collection, bench.log, shouted, no_progress), "half")
    assert first not in found
    assert found[0] == second


def test_passages_and_titles_of_the_collection(bench: StudyMaterial, tables: StudyTables) -> None:
    assert universe(tables, "passages") == list(bench.collection.documents.passages)
    assert len(universe(tables, "titles")) == 40
    without = StudyTables(bench.collection, None, bench.texts, no_progress)
    assert universe(without, "passages") == universe(tables, "passages")
    for name in ("half", "log"):
        with pytest.raises(InputError, match=f"cover table '{name}' needs a query log"):
            universe(without, name)


def test_a_mechanism_is_given_its_table(tables: StudyTables) -> None:
    made = tables.settled(Cover(table="half", cell=2, words=3, stay=0.5), 4)
    assert isinstance(made, Cover)
    table = load_table(made.table)
    assert (table.k, table.cell, table.words, table.L) == (4, 2, 3, 1)
    assert list(table.texts) == universe(tables, "half")
    assert (made.cell, made.tracks, made.words, made.stay) == (None, None, None, 0.5)
    assert made.size == 4
    again = tables.settled(Cover(table="half", cell=2, words=3), 4)
    assert again.table == made.table  # type: ignore[attr-defined]
    wider = tables.settled(Cover(table="half", cell=1, words=3), 4)
    assert wider.table != made.table  # type: ignore[attr-defined]


def test_a_table_that_is_torn_is_made_anew(tables: StudyTables) -> None:
    made = tables.settled(Cover(table="half", cell=2), 4)
    assert isinstance(made, Cover)
    before = load_table(made.table).digest
    (Path(made.table) / "tracks.npy").write_bytes(b"torn")
    again = tables.settled(Cover(table="half", cell=2), 4)
    assert again == made
    assert load_table(made.table).digest == before


def test_blind_texts_are_of_the_study(tables: StudyTables) -> None:
    made = tables.settled(Blind(source="half", count=20), 4)
    assert isinstance(made, Blind)
    assert made.size == 4
    half = universe(tables, "half")
    assert made.bind().group(0) == tuple(half[i * len(half) // 4] for i in range(4))
    assert (tables.source(15), tables.source(16), tables.source(41)) == ("half", "titles", "")


def test_others_stay_as_they_are(tables: StudyTables, tmp_path: Path) -> None:
    for mechanism in (CMP(epsilon=2), Blind(), Blind(source="x.txt"), Cover(table=str(tmp_path))):
        assert tables.settled(mechanism, 4) is mechanism
    assert tables.content_key(CMP(epsilon=2), 4) == ""
    assert tables.content_key(Blind(source="x.txt"), 4) == ""


def test_a_universe_is_named_by_what_is_in_it(bench: StudyMaterial, tables: StudyTables) -> None:
    named = tables.content_key(Cover(table="half"), 4)
    assert named == tables.content_key(Blind(source="half"), 4)
    assert named not in ("", tables.content_key(Cover(table="log"), 4))
    assert named != tables.content_key(Cover(table="half"), 5)
    fewer = StudyTables(bench.collection, bench.log, bench.texts[1:], no_progress)
    assert fewer.content_key(Cover(table="half"), 4) != named
    made = tables.settled(Cover(table="half", cell=2), 4)
    assert isinstance(made, Cover)
    assert tables.content_key(made, 4) == made.open().digest


def test_the_universe_of_a_study_is_that_of_its_tables(folder: Path) -> None:
    bench = StudyMaterial(other(folder, 'universe = "half"'))
    assert bench.mechanism("cover(cell=2)", 4) == bench.mechanism("cover(table=half, cell=2)", 4)
    assert with_universe(Cover(), "log").table == "log"
    assert with_universe(Cover(table="titles"), "log").table == "titles"
    assert with_universe(Cover(), "").table == "icd10cm"


@pytest.mark.parametrize(
    ("line", "mechanism"),
    [('universe = "made"', COVER), ("", "cover(table=made)")],
    ids=["universe", "spec"],
)
def test_a_table_lies_beside_the_file(
    folder: Path, tables: StudyTables, line: str, mechanism: str
) -> None:
    made = tables.settled(Cover(table="half", cell=2), 4)
    shutil.copytree(made.table, folder / "made")  # type: ignore[attr-defined]
    grid = mechanism if line else f'[[mechanism]]\nspec = "{mechanism}"\n'
    study = other(folder, line, mechanisms=grid)
    bench = StudyMaterial(study)
    spec = "cover" if line else study.mechanism[0].spec
    found = bench.mechanism(spec, 4)
    assert isinstance(found, Cover)
    assert found.table == str(folder / "made")
    assert found.open().k == 4


@pytest.mark.parametrize("key", ["universe", "table"])
def test_a_table_that_is_not_there(folder: Path, key: str) -> None:
    line = 'universe = "irds:x"' if key == "universe" else ""
    grid = COVER if line else '[[mechanism]]\nspec = "cover(table=maed)"\n'
    with pytest.raises(InputError, match=f"'{key}' of .* must be one of half, log, passages"):
        other(folder, line, mechanisms=grid)


def blind_specs(study: SearchStudy) -> list[str]:
    return [
        str(c.mechanism) for c in cells(StudyMaterial(study)) if isinstance(c.mechanism, Blind)
    ]


def test_every_study_has_a_blind_row(folder: Path) -> None:
    one = '[[mechanism]]\nspec = "cmp(epsilon=2)"\n'
    found = cells(StudyMaterial(other(folder, mechanisms=one)))
    assert [str(c.mechanism) for c in found] == [
        "cmp(epsilon=2.0)",
        "blind(source='half', count=4)",
    ]
    assert {step.by for step in found[1].steps if step.kind == "attack"} == {"bayes"}
    assert blind_specs(other(folder, "blind = false", mechanisms=one)) == []
    own = one + '[[mechanism]]\nspec = "blind(source=log, count=4)"\n'
    assert blind_specs(other(folder, mechanisms=own)) == ["blind(source='log', count=4)"]
    several = CMP_ALONE.replace("[4]", "[4, 16]").replace("blind = false", "") + one
    (folder / "several.toml").write_text(several)
    assert blind_specs(load(folder / "several.toml")) == [
        "blind(source='half', count=4)",
        "blind(source='titles', count=16)",  # half of the log has too few
    ]


def test_a_group_is_not_attacked_in_parts(folder: Path) -> None:
    both = f"{COVER}\n[[mechanism]]\nspec = 'tem(epsilon=2)'\n"
    study = other(folder, 'universe = "half"', mechanisms=both)
    counts = {
        cell.mechanism.name: [s.count for s in cell.steps if s.by == "bayes"]
        for cell in cells(StudyMaterial(study))
    }
    assert counts == {"cover": [4], "tem": [1, 2, 4], "blind": [4]}


def test_a_study_with_cover_from_end_to_end(folder: Path) -> None:
    study = other(folder, 'universe = "half"', mechanisms=COVER.replace("cell=2", "cell=1"))
    found = sweep(study, folder / "out", workers=0)
    rows = {(row.mechanism, row.measure): row for row in found.rows if row.attacker == "bayes"}
    table = load_table(next((folder / "cache" / "cover").glob("study-*/")))
    assert (table.k, table.L, len(table), table.encoder[:6]) == (4, 3, 15, "minilm")
    assert table.key == Bag.key
    log = StudyMaterial(study).log
    blind = rows["blind", "lazy"].score
    assert blind == pytest.approx(1 / len(log))
    assert blind == pytest.approx(rows["blind", "lazy"].chance)
    sizes = Counter(table.address(list(log.texts)).tolist())
    asked = table.address(list(StudyMaterial(study).texts)).tolist()
    exact = sum(1 / sizes[address] for address in asked) / len(asked)
    assert rows["cover", "lazy"].score == pytest.approx(exact)
    kinds = {(row.mechanism, row.kind) for row in found.rows}
    assert ("cover", "utility") in kinds
    assert {row.size for row in found.rows if row.kind == "recovery"} == {4}  # no part of a group
    totals = {card.spec.partition("(")[0]: card.total for card in found.cards}
    assert totals["cover"].startswith("leakage: 1.585 bits")
    assert totals["blind"].startswith("leakage: 0 bits")
