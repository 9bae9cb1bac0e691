"""Drawings of a table before and after: shares that add up, and names that are escaped."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from veil import tables
from veil.drawing.bars import BarPair, draw_pairs
from veil.tables.measures.pair import Pair
from veil.tables.pictures import compare_shares, compare_sizes
from veil.tables.table import Table

ROW = re.compile(r"<title>([^<]*): original ([\d.]+) %(?:, released ([\d.]+) %)?</title>")


def rows_of(svg: str) -> dict[str, list[float]]:
    ET.fromstring(svg)  # noqa: S314 - our own: it must be XML
    return {
        label: [float(share) for share in (before, after) if share]
        for label, before, after in ROW.findall(svg)
    }


def town(**columns: object) -> Table:
    return tables.load(columns, qi=list(columns))


def test_records_are_counted_by_how_many_look_alike() -> None:
    before = town(age=[1, 2, 3, 3, 4, 4, 4, 4, 4, 4])
    after = town(age=[1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    rows = rows_of(compare_sizes(before, after))
    assert rows["alone"] == [20, 0]
    assert rows["2"] == [20, 0]
    assert rows["5–9"] == [60, 0]
    assert rows["10–19"] == [0, 100]
    assert rows_of(compare_sizes(before))["alone"] == [20]


def test_few_values_have_a_row_each() -> None:
    before = town(sex=["F", "F", "M", None])
    rows = rows_of(compare_shares(Pair.of(before, town(sex=["F", "M", "M", None])), "sex"))
    assert rows == {"F": [50, 25], "M": [25, 50], "missing": [25, 25]}


def test_many_numbers_are_cut_and_labels_are_spread() -> None:
    ages = np.arange(20, 60)
    after = town(age=["[20-39]"] * 20 + ["[40-59]"] * 20)
    rows = rows_of(compare_shares(Pair.of(town(age=ages), after), "age"))
    assert next(iter(rows)) == "below 23.9"
    assert list(rows)[-1] == "55.1 and more"
    assert all(before == after == 10 for before, after in rows.values())


def test_rare_values_are_together_and_new_ones_are_told() -> None:
    names = [f"v{i // 2}" for i in range(26)]
    rows = rows_of(compare_shares(Pair.of(town(job=names), town(job=["new", *names[1:]])), "job"))
    assert len(rows) == 12
    assert rows["all others"][0] == 23
    assert rows["new values"] == [0, 3.8]
    assert sum(before for before, _ in rows.values()) == pytest.approx(100, abs=0.7)


def test_names_are_text_and_cut_to_fit() -> None:
    rows = [BarPair("</svg>" + "x" * 40, 0.5, 0.25), BarPair("none", 0.0, 0.0)]
    svg = draw_pairs("<b>", "a & b", rows)
    ET.fromstring(svg)  # noqa: S314 - our own: it must be XML
    assert "</svg>x" not in svg
    assert "&lt;/svg&gt;xxxxxxxx…" in svg
