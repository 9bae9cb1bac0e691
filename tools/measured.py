"""Make the table of figures that ships with the search page: a development-time script.

    veil audit
    veil audit studies/slider.toml --out slider
    veil audit studies/cover.toml --out cover
    python tools/measured.py veil-report slider cover

reads ``results.csv`` of audits that have collection, queries and log in common, and writes
``src/veil/proxy/measured.csv``: what the slider and the page "Plane" need until the user has an
audit of their own. Kept are the nDCG@10, the risks by first guess, ten guesses and rank, the
share of queries that a first guess names or restores as a whole, by attacker, and the share of
queries one of whose variants is the query itself. Mechanisms whose
spec names a file are left out: it would be a file of the machine that made the audit. So are
tables that only a study has (half of its log), and attackers that are asked something else.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from veil.search.study.study import IN_CLEAR
from veil.studies.export import read_csv, write_csv
from veil.studies.results import Results, Row

TARGET = Path(__file__).resolve().parents[1] / "src" / "veil" / "proxy" / "measured.csv"
KEPT = {
    "utility": ("nDCG@10",),
    "risk": ("lazy", "active", "motivated"),
    "recovery": ("queries",),
    "similarity": (IN_CLEAR,),
}
APART = ("session", "shortlist", "topic")  # they are asked something else
_FILE = re.compile(r"[/\\~]")


def trimmed(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows that ship; recovery only at the sizes that have a utility."""
    found = [
        row
        for row in rows
        if row.measure in KEPT.get(row.kind, ())
        and not any(map(_FILE.search, (row.spec, row.task, row.attacker, row.data)))
        and row.attacker.partition("(")[0] not in APART
        and "table='half'" not in row.spec
    ]
    sized = {(row.spec, row.size) for row in found if row.kind == "utility"}
    return tuple(row for row in found if (row.spec, row.size) in sized)


def joined(tables: Iterable[Iterable[Row]]) -> tuple[Row, ...]:
    """Return the rows of all tables; of a risk that was measured twice, the higher.

    The first few of many variants are a second look at a smaller size. Stops are those that look
    best, some of them by luck, and a second look is what shows it.
    """
    found: dict[tuple[object, ...], Row] = {}
    for rows in tables:
        for row in rows:
            figure = (row.data, row.task, row.spec, row.size, row.kind, row.measure)
            known = found.setdefault((*figure, row.attacker), row)
            if row.kind == "recovery" and row.score > known.score:
                found[*figure, row.attacker] = row
    return tuple(found.values())


def main(*folders: str) -> None:
    """Write the table."""
    rows = joined(read_csv(Path(folder) / "results.csv") for folder in folders)
    write_csv(Results("measured", trimmed(rows)), TARGET)


if __name__ == "__main__":
    main(*sys.argv[1:])
