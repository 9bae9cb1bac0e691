"""Cover: the whole group of a query or nothing, and what is said about it."""

import math
from pathlib import Path

import pytest
from tests.cover.conftest import bag as bag
from tests.cover.conftest import table as table
from tests.cover.conftest import texts as texts

import veil
from veil.core.errors import InputError, ParameterError
from veil.cover import Table
from veil.text.mechanisms.queries.cover import Cover


@pytest.fixture
def cover(table: Table, tmp_path: Path) -> Cover:
    table.save(tmp_path / "t")
    return Cover(table=str(tmp_path / "t"))


def test_the_release_is_the_group_of_the_address(cover: Cover, table: Table) -> None:
    queries = ["skin rare tumour treatment", "Heart  ACUTE pain", "x"]
    made = veil.protect(queries, cover, None, size=None)
    for row, address in zip(made.rows, table.address(queries), strict=True):
        assert row == table.group(int(address))
    assert veil.protect(queries, cover, None, size=4).rows == made.rows
    assert made.kept == ((), (), ())
    assert not made.seeded


def test_it_is_whole_even_where_a_text_is_the_query(texts: list[str], tmp_path: Path) -> None:
    veil.cover.build(texts, tracks=4, cell=1).save(tmp_path / "one")
    made = veil.protect([texts[7]], Cover(table=str(tmp_path / "one")))
    assert len(made[0]) == 4
    assert texts[7] in made[0]


def test_cost(cover: Cover, table: Table) -> None:
    assert cover.guarantee.kind == "leakage"
    assert cover.guarantee.bits == table.bits == math.log2(table.L) == 3
    said = cover.guarantee.caveat
    assert "one of 8 addresses and nothing else" in said
    assert "at most 8-fold" in said
    assert "The same query again adds nothing. Each other query adds 3 bits" in said
    assert "each of the 4 tracks is equally likely, too, for one query" in said
    assert "not differential privacy" in said
    made = veil.protect(["a b c", "d"], cover)
    assert (made.cost.kind, made.cost.bits, made.cost.unit) == ("leakage", 6, "release (2 texts)")
    assert str(made.cost) == "leakage: 6 bits, per release (2 texts)"


def test_tracks_are_told_only_where_they_are_level(texts: list[str], tmp_path: Path) -> None:
    counts = {text: 1 + i for i, text in enumerate(texts)}
    banded = veil.cover.build(counts, tracks=4, cell=4)
    assert banded.bands > 1
    banded.save(tmp_path / "banded")
    assert "tracks is" not in Cover(table=str(tmp_path / "banded")).guarantee.caveat


@pytest.mark.parametrize("size", [1, 3, 5, 40])
def test_no_other_size(cover: Cover, size: int) -> None:
    with pytest.raises(ParameterError, match="sends all 4 texts of a group or none"):
        veil.protect(["skin"], cover, None, size=size)


def test_nothing_of_a_query_is_in_the_folder_of_the_table(cover: Cover) -> None:
    folder = Path(cover.table)
    before = {file: file.read_bytes() for file in folder.iterdir()}
    veil.protect(["zzyzzx of the skin"], cover)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_a_query_far_from_everything_is_refused_on_request(cover: Cover) -> None:
    assert len(veil.protect(["hautkrebs behandeln"], cover)[0]) == 4
    strict = cover.model_copy(update={"near": 0.9})
    with pytest.raises(InputError, match="Nothing was sent") as told:
        veil.protect(["hautkrebs behandeln"], strict)
    assert "hautkrebs" not in str(told.value)
    assert veil.protect(["skin rare tumour"], strict)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    missing = Cover(table=str(tmp_path / "none"))
    assert missing.guarantee.bits == math.inf
    assert "not known yet" in str(missing.guarantee)
    with pytest.raises(InputError, match="does not exist"):
        veil.protect(["skin"], missing)


def test_a_spec_comes_back(cover: Cover) -> None:
    assert veil.mechanism(str(cover)) == cover
    assert str(veil.mechanism("cover").brief) == "cover"
    for bad in ("cover(cell=0)", "cover(stay=2)", "cover(tracks=x)", "cover(depth=1)"):
        with pytest.raises(ParameterError):
            veil.mechanism(bad)


def test_words_cannot_be_chosen(cover: Cover) -> None:
    with pytest.raises(ParameterError, match="rewrites whole queries"):
        veil.protect(["skin"], cover, select=["skin"])


def test_groups_ahead_tell_less(cover: Cover, table: Table) -> None:
    wide = cover.model_copy(update={"ahead": 4})
    assert (wide.size, wide.guarantee.bits) == (16, 1)
    made = veil.protect(["skin rare tumour"], wide)
    assert set(table.group(int(table.address(["skin rare tumour"])[0]))) <= set(made[0])
    assert "one of 2 addresses" in made.cost.caveat
