"""The same tables in a DuckDB file, a SQLite file and a PostgreSQL server."""

import csv
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psycopg

ENGINES = ("duckdb", "sqlite", "postgresql")
_TYPES = {
    "duckdb": {"whole": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "time": "TIMESTAMP"},
    "sqlite": {"whole": "INTEGER", "real": "REAL", "text": "TEXT", "time": "TIMESTAMP"},
    "postgresql": {"whole": "bigint", "real": "float8", "text": "text", "time": "timestamp"},
}
Rows = Sequence[Sequence[object]]


class Store:
    """A database that tests write to; Veil reads it by its `url`."""

    def __init__(self, engine: str, folder: Path, server: str = "") -> None:
        self.engine = engine
        self.file = folder / f"data.{engine}"
        self.url = server if engine == "postgresql" else f"{engine}:{self.file}"

    @contextmanager
    def writing(self) -> Iterator[Any]:
        if self.engine == "postgresql":
            with psycopg.connect(self.url, autocommit=True) as made:
                yield made
            return
        other = duckdb.connect(str(self.file)) if self.engine == "duckdb" else None
        made = other if other is not None else sqlite3.connect(self.file)
        yield made
        if other is None:
            made.commit()
        made.close()

    def run(self, *statements: str) -> None:
        with self.writing() as made:
            for statement in statements:
                made.execute(statement)

    def put(self, table: str, columns: dict[str, str], rows: Rows) -> None:
        """Make a table anew, with columns of kinds."""
        self.put_all(columns, {table: rows})

    def put_all(self, columns: dict[str, str], tables: Mapping[str, Rows]) -> None:
        """Make tables of the same columns anew."""
        types = _TYPES[self.engine]
        named = ", ".join(f'"{name}" {types.get(kind, kind)}' for name, kind in columns.items())
        with self.writing() as made:
            for table, rows in tables.items():
                made.execute(f'DROP TABLE IF EXISTS "{table}"')
                made.execute(f'CREATE TABLE "{table}" ({named})')
                if rows:
                    self._fill(made, table, len(columns), rows)

    def _fill(self, made: Any, table: str, width: int, rows: Rows) -> None:  # noqa: ANN401
        if self.engine == "postgresql":
            with made.cursor().copy(f'COPY "{table}" FROM STDIN') as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join(["?"] * width)
        if self.engine == "sqlite":
            made.executemany(" ".join(["INSERT INTO", f'"{table}"', "VALUES", f"({marks})"]), rows)
            return
        columns = [list(column) for column in zip(*rows, strict=True)]
        lists = ", ".join(f"unnest(${i + 1})" for i in range(width))
        made.execute(f'INSERT INTO "{table}" SELECT {lists}', columns)


def read(path: Path) -> tuple[list[str], list[list[object]]]:
    """Read a file of whole numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    return names, [[int(float(cell)) for cell in row] for row in rows]
