"""Blind: the same texts whatever the query, and an attacker has nothing but chance."""

import os
from pathlib import Path

import numpy as np
import pytest

import veil
from veil.core.errors import InputError, ParameterError, VeilError
from veil.measures.risk import chance, successes
from veil.text.attack import attack
from veil.text.mechanisms.queries.blind import Blind

UNIVERSE = [f"public text {i}" for i in range(50)]
QUERIES = ["skin cancer", "PUBLIC text 0", "x"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "universe.txt"
    made.write_text("\n".join(UNIVERSE) + "\n")
    return made


@pytest.fixture
def blind(file: Path) -> Blind:
    return Blind(source=str(file), count=5)


def test_the_texts_do_not_depend_on_the_query(blind: Blind) -> None:
    made = veil.protect(QUERIES, blind)
    assert set(made.rows) == {tuple(f"public text {i}" for i in (0, 10, 20, 30, 40))}
    assert made.kept == ((), (), ())  # also where the query is one of them
    assert not made.seeded
    bound = blind.bind()
    assert bound.address(QUERIES).tolist() == [0, 0, 0]
    assert bound.group(0) == made.rows[0]


def test_nothing_is_told(blind: Blind) -> None:
    assert (blind.guarantee.kind, blind.guarantee.bits) == ("leakage", 0)
    cost = veil.protect(QUERIES, blind).cost
    assert (cost.kind, cost.bits) == ("leakage", 0)
    assert "learns only that a search was made" in cost.caveat


@pytest.mark.parametrize("size", [1, 4, 6])
def test_all_of_them_or_none(blind: Blind, size: int) -> None:
    with pytest.raises(ParameterError, match="sends all 5 texts of a group or none"):
        veil.protect(QUERIES, blind, None, size=size)
    assert len(veil.protect(QUERIES, blind, None, size=5)[0]) == 5
    assert blind.size == 5


def test_a_universe_that_is_too_small(file: Path) -> None:
    every = Blind(source=str(file), count=50)
    assert list(veil.protect(["x"], every)[0]) == UNIVERSE
    with pytest.raises(InputError, match="number of distinct texts, 50. Got 51 instead"):
        veil.protect(["x"], Blind(source=str(file), count=51))
    with pytest.raises(VeilError, match="not a known name, folder or file"):
        veil.protect(["x"], Blind(source=str(file) + "x"))
    for bad in ("blind(count=0)", "blind(source='')", "blind(size=3)"):
        with pytest.raises(ParameterError):
            veil.mechanism(bad)


def test_a_file_that_changed_is_read_again(blind: Blind, file: Path) -> None:
    before = veil.protect(["x"], blind).rows
    file.write_text("\n".join(f"other {i}" for i in range(5)) + "\n")
    os.utime(file, ns=(1, 1))
    after = veil.protect(["x"], blind).rows
    assert after != before
    assert after[0] == tuple(f"other {i}" for i in range(5))


@pytest.mark.parametrize("who", ["lazy", "active", "motivated", "persistent"])
def test_who_knows_it_has_exactly_chance(blind: Blind, who: str) -> None:
    log = [f"query {i}" for i in range(40)]
    texts = log[:7]
    made = veil.protect(texts, blind)
    result = attack(made.rows, texts, log, "bayes", mechanism=blind)
    assert result.ties is not None
    assert result.ties.tolist() == [40] * 7
    won = successes(result.ranks, who, candidates=result.candidates, ties=result.ties)  # type: ignore[arg-type]
    np.testing.assert_allclose(won, chance(40, who))  # type: ignore[arg-type]
