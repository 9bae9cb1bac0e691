"""What labels cover."""

import math

import numpy as np
import pytest

from veil import tables
from veil.tables.column import Column
from veil.tables.hierarchy import Hierarchy
from veil.tables.labels import UNCOVERED, Cover, Sets, Span, members, read_span, read_spans

TOWNS = Hierarchy.of_rows(
    [
        ["a", "AB", "west", "*"],
        ["b", "AB", "west", "*"],
        ["c", "C", "west", "*"],
        ["d", "west", "east", "*"],
    ],
    "town",
)


def covered(label: str, values: list[object], hierarchy: Hierarchy | None = None) -> list[object]:
    labels, column = Column.of([label, "another"]), Column.of(values)
    cover = Cover(labels, column, hierarchy)
    code = labels.categories.index(label)
    columns = cover.between(np.array(code), np.arange(len(column.categories)))
    return [name for name, present in zip(column.categories, columns, strict=True) if present]


@pytest.mark.parametrize(
    ("label", "span"),
    [
        ("[20-29]", Span(20, 29)),
        ("20-29", Span(20, 29)),
        ("[-5--1]", Span(-5, -1)),
        ("[1e-05-2.5]", Span(1e-5, 2.5)),
        ("[20, 30[", Span(20, 30, to_high=False)),
        ("(20,30]", Span(20, 30, from_low=False)),
        (">65", Span(65, math.inf, from_low=False)),
        (">=65", Span(65, math.inf)),
        ("<18.5", Span(-math.inf, 18.5, to_high=False)),
        ("39", Span(39, 39)),
        ("[30-20]", None),
        ("[20-30", None),
        ("flu", None),
        (">50K", None),
        ("*", None),
        ("", None),
    ],
)
def test_a_label_stands_for_numbers(label: str, span: Span | None) -> None:
    assert read_span(label) == span


def test_intervals_of_reals_that_touch_are_open_above() -> None:
    assert [span and span.to_high for span in read_spans(["[0-10]", "[10-20]", "x"])] == [
        False,
        False,
        None,
    ]
    assert all(span and span.to_high for span in read_spans(["[0-9]", "[10-19]"]))  # whole numbers
    assert all(span and span.to_high for span in read_spans(["[0-3]", "[3-10]"]))  # of groups
    assert all(span and span.to_high for span in read_spans(["[0-10]", "[5-15]"]))
    assert covered("[0-10]", [0, 9.5, 10]) == ["0", "9.5", "10"]


def test_members_of_a_set() -> None:
    assert members("{a, b}") == ("a", "b")
    assert members("a") is None
    assert covered("{a, c}", ["a", "b", "c"]) == ["a", "c"]
    assert covered("{1, 3}", [1, 2, 3]) == ["1", "3"]


def test_members_may_have_commas_themselves() -> None:
    jobs: list[object] = ["clerk", "clerk, senior", "nurse", "nurse, night"]
    assert covered("{clerk, senior, nurse}", jobs) == ["clerk", "clerk, senior", "nurse"]
    assert covered("{nurse, nurse, night}", jobs) == ["nurse", "nurse, night"]
    assert Sets({"a": 0}).of("{a, b}") == ([0], False)
    columns = {"job": jobs * 3}
    baseline = {"job": ["a", "b", "c", "d"] * 3}
    figures = []
    for data in (columns, baseline):  # a comma changes no figure
        t = tables.load(data, qi=["job"])
        r = tables.protect(t, "mondrian(k=6)")
        risk = tables.attack(t, r, "exact").risk
        figures.append((risk, tables.utility(t, r), tables.quality(t, r)))
    assert figures[0] == figures[1]
    assert figures[0][0] == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("a", ["a"]),
        ("AB", ["a", "b"]),
        ("C", ["c"]),
        ("west", ["a", "b", "c", "d"]),  # also a label of a lower level: it may be either
        ("east", ["d"]),
        ("*", ["a", "b", "c", "d"]),
        ("nowhere", []),
    ],
)
def test_a_label_covers_what_is_below_it(label: str, values: list[str]) -> None:
    assert covered(label, ["a", "b", "c", "d"], TOWNS) == values


def test_the_level_of_a_column_tells_which_label_is_meant() -> None:
    labels, values = Column.of(["west"]), Column.of(["a", "b", "c", "d"])
    by_level = {level: Cover(labels, values, TOWNS, level) for level in (1, 2)}
    columns = {
        level: entry.between(np.array(0), np.arange(4)).tolist()
        for level, entry in by_level.items()
    }
    assert columns == {1: [False, False, False, True], 2: [True, True, True, False]}


def test_codes_that_are_cut() -> None:
    assert covered("12**", ["1234", "1299", "1345", "12"]) == ["12", "1234", "1299"]
    assert covered("[20-29]", ["20", "a"]) == []  # of texts it is no interval
    assert covered(">50K", ["<=50K", ">50K"]) == [">50K"]


def test_numbers_are_equal_as_numbers() -> None:
    cover = Cover(Column.of_texts(["39.0", "7"]), Column.of_texts(["39", "40"]))
    assert cover.between(np.array([[0], [1]]), np.arange(2)).tolist() == [
        [False, False],
        [True, False],
    ]


def test_what_is_missing() -> None:
    labels, values = Column.of(["a", None]), Column.of(["a", "b", None])
    grid = np.arange(2)[:, None], np.arange(3)[None, :]
    columns = {
        how: Cover(labels, values, missing=how).between(*grid).astype(int).tolist()
        for how in ("star", "equal", "any", "never")
    }
    assert columns == {
        "star": [[1, 0, 0], [1, 1, 1]],
        "equal": [[1, 0, 0], [0, 0, 1]],
        "any": [[1, 0, 1], [1, 1, 1]],
        "never": [[1, 0, 0], [0, 0, 0]],
    }


def test_values_with_one_label_each() -> None:
    labels, values = Column.of(["AB", "c"]), Column.of(["a", "b", "c", "d"])
    cover = Cover(labels, values, TOWNS)
    single = cover.sole_labels(np.array([0, 1]))
    assert single is not None
    assert single.tolist() == [0, 0, 1, UNCOVERED, UNCOVERED]
    assert cover.sole_labels(np.array([0, 1, 2])) is None  # a star covers everything
    assert Cover(labels, values, TOWNS, missing="any").sole_labels(np.array([0])) is None
    assert cover.sums(np.array([1.0, 2.0, 3.0, 4.0, 5.0])).tolist() == [3, 3, 15]
