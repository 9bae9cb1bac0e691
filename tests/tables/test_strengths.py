"""Strengths of methods: each a spec that can be used, from weak to strong."""

import numpy as np
import pytest

from veil import tables
from veil.tables.mechanism import GROUPS
from veil.tables.mechanisms import MECHANISMS, mechanism
from veil.tables.mechanisms.coding import round_number
from veil.tables.presets import strengths, unfit
from veil.tables.table import Table


def make(n: int = 500, **more: object) -> Table:
    rng = np.random.default_rng(3)
    columns = {"age": rng.integers(18, 90, n), "pay": rng.lognormal(8, 1, n)}
    return tables.load(columns | more, qi=[*columns, *more])


OFFERED = [name for name in MECHANISMS.names() if MECHANISMS.get(name).presets]


@pytest.mark.parametrize("name", OFFERED)
def test_every_spec_is_a_method_and_masks_a_table(name: str) -> None:
    specs = strengths(name, make())
    assert len(set(specs)) == len(specs) > 2
    numbers = [next(iter(dict(mechanism(spec)).values())) for spec in specs]
    assert numbers == sorted(numbers, reverse=name == "sample")
    assert unfit(name, make()) == ""


def test_groups_have_room_in_the_table() -> None:
    assert strengths("mondrian", make(500)) == [f"mondrian(k={k})" for k in GROUPS]
    assert strengths("mondrian", make(24)) == [f"mondrian(k={k})" for k in (2, 3, 5)]
    assert strengths("mondrian", make(3)) == ["mondrian(k=2)"]
    assert strengths("sample", make(3))[-1] == "sample(rate=0.5)"


def test_bases_fit_the_columns() -> None:
    small = tables.load({"x": np.linspace(0, 0.01, 50)}, qi=["x"])
    large = tables.load({"x": np.linspace(0, 1e6, 50)}, qi=["x"])
    assert strengths("rounding", small)[-1] == "rounding(base=0.005)"
    assert strengths("rounding", large)[-1] == "rounding(base=500000)"


@pytest.mark.parametrize("values", [[1.0] * 9, ["a"] * 9, [None] * 9])
def test_there_is_a_base_whatever_the_columns(values: list[object]) -> None:
    assert strengths("rounding", tables.load({"x": values}, qi=["x"])) == ["rounding(base=1)"]


def test_what_does_not_fit_says_why() -> None:
    texts = tables.load({"sex": ["F", "M"] * 9}, qi=["sex"])
    assert "numeric" in unfit("mdav", texts)
    assert unfit("mondrian", texts) == ""
    assert "too few rows" in unfit("sample", texts.take(np.array([0])))


def test_round_numbers_are_near() -> None:
    values = np.geomspace(1e-9, 1e9, 200)
    ratios = [round_number(value) / value for value in values.tolist()]
    assert 0.6 < min(ratios) <= max(ratios) < 1.6
