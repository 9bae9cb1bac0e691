"""What is written reads back equal, or is not written at all."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from veil.core.errors import InputError
from veil.data.records import Columns, Record, read_records
from veil.data.releases import WRITABLE, CsvWriter, open_writer

COLUMNS = ("id", "text", "variant", "released", "mechanism", "seeded")
NASTY = [
    "plain",
    'quotes "inside", and a comma',
    '"',
    "tab\there",
    "line\nbreak",
    "lone\rreturn",
    "return\rcarriage\r\nboth",
    " blanks ",
    "naïve 日本 😀",
    "\u2028 line separator",
    "",
]


def rows(seeded: bool | None) -> list[list[object]]:
    return [
        [f"q{i}", text.upper(), 1 + i % 2, text, "cmp(epsilon=1.0)", seeded]
        for i, text in enumerate(NASTY)
    ]


def release(
    path: Path, parts: Sequence[Sequence[Sequence[object]]], *, private: bool = False
) -> None:
    with open_writer(path, COLUMNS, "released", private=private) as writer:
        for part in parts:
            writer.write(part)


@pytest.mark.parametrize("seeded", [None, True])
def test_commas_round_trip(tmp_path: Path, seeded: bool | None) -> None:
    path = tmp_path / "a.csv"
    release(path, [rows(seeded)[:3], [], rows(seeded)[3:]])
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.reader(file, strict=True))
    assert found[0] == list(COLUMNS)
    wanted = [["" if value is None else str(value) for value in row] for row in rows(seeded)]
    assert found[1:] == wanted


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_release_can_be_read_by_our_own_reader(tmp_path: Path, suffix: str) -> None:
    """TSV has no quotes: a tab or a line break inside a field becomes a space."""
    path = tmp_path / f"a{suffix}"
    release(path, [rows(None)])
    found = list(read_records(path, Columns("released", "id")))
    texts = [re.sub(r"[\t\r\n]+", " ", text) if suffix == ".tsv" else text for text in NASTY]
    assert found == [Record(f"q{i}", text) for i, text in enumerate(texts)]


def test_plain_cells_stay_unquoted(tmp_path: Path) -> None:
    release(tmp_path / "a.csv", [rows(True)[:1]])
    assert (tmp_path / "a.csv").read_text().splitlines()[
        1
    ] == "q0,PLAIN,1,plain,cmp(epsilon=1.0),True"


def test_jsonl_round_trip(tmp_path: Path) -> None:
    release(tmp_path / "a.jsonl", [rows(True), rows(None)])
    lines = (tmp_path / "a.jsonl").read_bytes().decode().removesuffix("\n").split("\n")
    found = [json.loads(line) for line in lines]
    assert found == [dict(zip(COLUMNS, row, strict=True)) for row in rows(True) + rows(None)]
    assert "日本" in "".join(lines)


def test_parquet_round_trip_and_types(tmp_path: Path) -> None:
    release(tmp_path / "a.parquet", [rows(True)[:3], [], rows(None)[3:]])
    table = pq.read_table(tmp_path / "a.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == dict.fromkeys(COLUMNS, "string") | {"variant": "int32", "seeded": "bool"}
    found = [list(row.values()) for row in table.to_pylist()]
    assert found == rows(True)[:3] + rows(None)[3:]


def test_text_has_one_line_per_variant(tmp_path: Path) -> None:
    release(tmp_path / "a.txt", [rows(True)])
    lines = (tmp_path / "a.txt").read_bytes().decode().removesuffix("\n").split("\n")
    assert lines == [" ".join(text.splitlines()) for text in NASTY]
    assert all(len(line.splitlines()) <= 1 for line in lines)


@pytest.mark.parametrize("suffix", WRITABLE)
@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_failure_midway_leaves_no_file_and_keeps_the_old(
    tmp_path: Path, suffix: str, failure: type[BaseException]
) -> None:
    path = tmp_path / f"a{suffix}"

    def write() -> None:
        with open_writer(path, COLUMNS, "released", private=False) as writer:
            writer.write(rows(True))
            raise failure

    with pytest.raises(failure):
        write()
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"old")
    with pytest.raises(failure):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", WRITABLE)
def test_old_file_is_there_until_the_new_is_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"old")
    with open_writer(path, COLUMNS, "released", private=False) as writer:
        writer.write(rows(True))
        assert path.read_bytes() == b"old"
    assert path.read_bytes() != b"old"


@pytest.mark.parametrize("suffix", WRITABLE)
def test_private_release(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    release(path, [rows(True)], private=True)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["a", "a.xlsx", "a.csv.gz"])
def test_unknown_format(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"must end in one of \.csv, \.tsv"):
        release(tmp_path / name, [rows(True)])
    assert list(tmp_path.iterdir()) == []


def test_fields_with_line_breaks_are_quoted() -> None:
    file = io.StringIO(newline="")
    writer = CsvWriter(file)
    writer.writerow(["a", 'say "b"'])
    writer.writerows([["lone\rreturn", "line\nbreak"], [""], ["end\r", None]])
    assert file.getvalue() == ('a,"say ""b"""\n"lone\rreturn","line\nbreak"\n""\n"end\r",\n')
