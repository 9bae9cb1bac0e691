"""The figures of a small study are those that they have always been."""

import csv
from pathlib import Path

import pytest

from veil.search.study.study import SearchStudy
from veil.studies.export import export
from veil.studies.sweep import sweep

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def lines(file: Path) -> list[list[str | float]]:
    """Return the fields of a table, numbers as numbers: processors may round the last digit."""
    with file.open(newline="") as opened:
        return [[_value(field) for field in line] for line in csv.reader(opened)]


def _value(field: str) -> str | float:
    try:
        return float(field)
    except ValueError:
        return field


@pytest.mark.parametrize("table", ["results", "scores"])
def test_the_tables_are_those_before_the_house(
    table: str, study: SearchStudy, folder: Path
) -> None:
    export(sweep(study, folder / "out", workers=0), folder / "out")
    found, wanted = lines(folder / "out" / f"{table}.csv"), lines(GOLDEN / f"study-{table}.csv")
    assert found[0] == wanted[0]
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one == [pytest.approx(x) if isinstance(x, float) else x for x in other]
