"""Texts from files; whatever is wrong with a file, its content stays out of the message."""

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veil.core.errors import InputError, MissingExtraError
from veil.data import records
from veil.data.records import Columns, Record, read_records, suffix_of

Silent = Callable[[BaseException], None]
CANARY = "xanthippe"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path | None, text: str | None = None, key: str | None = None) -> list[Record]:
    return list(read_records(path, Columns(text, key)))


def refused(path: Path | None, text: str | None = None, key: str | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        read(path, text, key)
    return caught.value


def test_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,text,more\nq1,"a, ""b""\nc",x\n\nq2,ü,y\n')
    assert read(path) == [("q1", 'a, "b"\nc'), ("q2", "ü")]


def test_csv_without_ids_numbers_its_rows(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.csv", "query\na\nb\n")) == [("1", "a"), ("2", "b")]


def test_columns_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text,name,note\n1,a,n,b\n")
    assert read(path, "note", "name") == [("n", "b")]


@pytest.mark.parametrize("key", ["id", "qid", "query_id"])
@pytest.mark.parametrize("text", ["text", "query"])
def test_usual_names_of_columns(tmp_path: Path, key: str, text: str) -> None:
    assert read(write(tmp_path / "a.csv", f"{text},{key}\nx,7\n")) == [("7", "x")]


def test_quotes_in_a_tsv_are_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", '7\t"flu" and more\n8\tsay "no\n')
    assert [record.text for record in read(path)] == ['"flu" and more', 'say "no']


def test_tsv_with_and_without_header(tmp_path: Path) -> None:
    wanted = [("7", "a, b"), ("8", "c")]
    assert read(write(tmp_path / "a.tsv", "7\ta, b\n8\tc\n")) == wanted
    assert read(write(tmp_path / "b.tsv", "id\ttext\n7\ta, b\n8\tc\n")) == wanted
    assert read(write(tmp_path / "c.tsv", "text\tqid\tx\na, b\t7\t\nc\t8\t\n")) == wanted


def test_named_column_means_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "key\tnote\n7\ta\n")
    assert read(path, "note") == [("1", "a")]
    refused(path, "text")


def test_jsonl(tmp_path: Path) -> None:
    lines = ['{"id": 5, "text": "a\\nb", "x": [1]}', "", '"alone"', '{"query": "ü"}']
    for name in ("a.jsonl", "a.ndjson"):
        path = write(tmp_path / name, "\n".join(lines))
        assert read(path) == [("5", "a\nb"), ("3", "alone"), ("4", "ü")]


def test_parquet(tmp_path: Path) -> None:
    rows = 5000  # more than one batch
    table = pa.table({"text": [f"t{i}" for i in range(rows)], "id": range(rows)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [(str(i), f"t{i}") for i in range(rows)]
    pq.write_table(table.drop_columns(["id"]), tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet")[-1] == ("5000", "t4999")
    pq.write_table(pa.table({"a.b": ["x"], "c": ["y"]}), tmp_path / "c.parquet")
    assert read(tmp_path / "c.parquet", "a.b", "c") == [("y", "x")]


def test_plain_text(tmp_path: Path) -> None:
    for name in ("a.txt", "a.text"):
        path = write(tmp_path / name, "one, two\r\n\n  three\x0bfour ")
        assert read(path) == [("1", "one, two"), ("2", ""), ("3", "  three\x0bfour ")]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", "text\na\n"), ("a.tsv", "1\ta\n"), ("a.jsonl", '"a"\n'), ("a.txt", "a\n")],
)
def test_gzip_and_byte_order_mark(tmp_path: Path, name: str, content: str) -> None:
    marked = b"\xef\xbb\xbf" + content.encode()
    assert read(write(tmp_path / name, marked)) == [("1", "a")]
    path = write(tmp_path / f"{name}.gz", gzip.compress(marked, mtime=0))
    assert suffix_of(path) == Path(name).suffix
    assert read(path) == [("1", "a")]


def test_byte_order_mark_is_a_character_elsewhere(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.txt", "a\n\ufeffb\n"))[1].text == "\ufeffb"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a,b\nü\n".encode())))
    assert read(None) == [("1", "a,b"), ("2", "ü")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n")))
    assert "standard input is not UTF-8" in str(refused(None))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert "standard input holds no texts" in str(refused(None))


def test_long_csv_fields_are_read(tmp_path: Path) -> None:
    csv.field_size_limit(131_072)  # Python's own limit
    long = "a" * 200_000
    assert read(write(tmp_path / "a.csv", f"text\n{long}\n"))[0].text == long


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "word\n" * 5000)
    seen: list[int] = []
    list(read_records(path, Columns(), seen.append))
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= path.stat().st_size


@pytest.mark.parametrize(
    ("name", "content", "column", "key"),
    [
        ("a.csv", f"{CANARY} has flu,{CANARY}\na,b\n", None, None),  # no header: a private text
        ("a.csv", f"{CANARY} has flu\n{CANARY}\n", None, None),
        ("a.csv", f"id,text\n1,{CANARY}\n", "note", None),
        ("a.csv", f"id,text\n1,{CANARY}\n", None, "key"),
        ("a.tsv", f"1\t{CANARY}\t3\n", None, None),
        ("a.tsv", f"1\t{CANARY}\n", "note", None),
        ("a.jsonl", json.dumps({CANARY: CANARY}), None, None),
        ("a.jsonl", json.dumps({"text": CANARY, CANARY: 1}), None, "key"),
    ],
)
def test_missing_column_quotes_nothing_of_the_file(
    tmp_path: Path, name: str, content: str, column: str | None, key: str | None, silent: Silent
) -> None:
    error = refused(write(tmp_path / name, content), column, key)
    silent(error)
    assert "no column" in str(error)
    assert name in str(error)
    assert "--column" in str(error) or "--id-column" in str(error)
    for wanted in (column, key):
        assert wanted is None or f"'{wanted}'" in str(error)


def test_missing_column_of_parquet(tmp_path: Path, silent: Silent) -> None:
    pq.write_table(pa.table({CANARY: [CANARY]}), tmp_path / "a.parquet")
    error = refused(tmp_path / "a.parquet")
    silent(error)
    assert "no column 'text' or 'query' among its 1" in str(error)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", f"id,text\n1,a\n2,{CANARY},{CANARY}\n", "Row 3 of a.csv has 3 columns"),
        ("a.csv", f"id,text\n{CANARY}\n", "Row 2 of a.csv has 1 columns"),
        ("a.tsv", f"1\ta\n{CANARY}\n", "Row 2 of a.tsv has 1 columns"),
        ("a.csv", f'text\na\n"{CANARY}', "a.csv cannot be read after row 1 (quoting"),
        ("a.csv", f'text\n"{CANARY}"{CANARY}\n', "a.csv cannot be read after row 0 (quoting"),
        ("a.csv", f"text\na\r{CANARY}\n", "a.csv cannot be read after row"),
        ("a.csv", f"text\na\0{CANARY}\n", "Line 2 of a.csv is not a line of text"),
        ("a.txt", f"a\nb\0{CANARY}\n", "Line 2 of a.txt is not a line of text"),
        ("a.jsonl", f'"a\0{CANARY}"\n', "Line 1 of a.jsonl is not a line of text"),
        ("a.txt", f"a\n{CANARY}".encode() + b"\xff\n", "a.txt is not UTF-8 text after row 1"),
        ("a.csv", b"text\n" + CANARY.encode() + b"\xff\n", "a.csv is not UTF-8 text after row 0"),
        ("a.tsv", f"1\t{CANARY}\n".encode("utf-16"), "a.tsv"),
        ("a.jsonl", f'"{CANARY}\n', "Line 1 of a.jsonl is not JSON"),
        ("a.jsonl", f'"a"\n{{"text": {CANARY}}}\n', "Line 2 of a.jsonl is not JSON"),
        ("a.jsonl", "[" * 100_000, "Line 1 of a.jsonl"),
        ("a.jsonl", f'["{CANARY}"]\n', "Line 1 of a.jsonl must be a JSON object or string"),
        ("a.jsonl", f'{{"text": null, "x": "{CANARY}"}}\n', "Line 1 of a.jsonl has no text"),
        ("a.jsonl", f'{{"text": ["{CANARY}"]}}\n', "Line 1 of a.jsonl has no text but list"),
        ("a.jsonl", f'{{"text": "{CANARY}", "id": "\\ud800"}}\n', "Line 1 of a.jsonl has an id"),
        ("a.parquet", CANARY * 100, "a.parquet is not a Parquet file"),
        ("a.parquet", "", "a.parquet is not a Parquet file"),
        ("a.txt.gz", CANARY, "a.txt.gz cannot be read after row 0"),
        ("a.txt.gz", gzip.compress(CANARY.encode(), mtime=0)[:-9], "a.txt.gz cannot be read"),
    ],
)
def test_broken_file(
    tmp_path: Path, name: str, content: str | bytes, message: str, silent: Silent
) -> None:
    error = refused(write(tmp_path / name, content))
    silent(error)
    assert message in str(error)


def test_gzip_spoilt_in_the_middle(tmp_path: Path, silent: Silent) -> None:
    packed = bytearray(gzip.compress("".join(f"{i} {CANARY}\n" for i in range(9999)).encode()))
    packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    silent(refused(write(tmp_path / "a.txt.gz", bytes(packed))))


def test_parquet_spoilt_anywhere(tmp_path: Path, silent: Silent) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [CANARY] * 50, "id": range(50)}), path)
    whole = path.read_bytes()
    failures = 0
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            read(path)
        except InputError as error:
            failures += 1
            silent(error)
    assert failures > 50


@pytest.mark.parametrize("values", [["a", None], [b"x"], [5], [[CANARY]]])
def test_parquet_of_other_values(tmp_path: Path, values: list[object], silent: Silent) -> None:
    pq.write_table(pa.table({"text": values}), tmp_path / "a.parquet")
    error = refused(tmp_path / "a.parquet")
    silent(error)
    assert f"Row {len(values)} of a.parquet has no text" in str(error)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.txt", "a.txt.gz", "a.parquet"])
def test_empty_file(tmp_path: Path, name: str, silent: Silent) -> None:
    content = gzip.compress(b"", mtime=0) if name.endswith(".gz") else b""
    path = write(tmp_path / name, content)
    if name == "a.parquet":
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    error = refused(path)
    silent(error)
    assert f"{name} holds no texts" in str(error)


def test_header_without_rows(tmp_path: Path) -> None:
    assert "holds no texts" in str(refused(write(tmp_path / "a.csv", "id,text\n")))


def test_line_without_end_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_MAX_FIELD", 100)
    assert "Line 2 of a.txt" in str(refused(write(tmp_path / "a.txt", "a\n" + "b" * 200)))


def test_quote_that_never_ends_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: Silent
) -> None:
    monkeypatch.setattr(records, "_MAX_FIELD", 100)
    error = refused(write(tmp_path / "a.csv", 'text\n"' + f"{CANARY}\n" * 50))
    silent(error)
    assert "a field too long" in str(error)


def test_folder_and_missing_file(tmp_path: Path) -> None:
    assert "is a folder; name a file" in str(refused(tmp_path))
    assert "check the path" in str(refused(tmp_path / "none.csv"))


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'veil\[parquet\]'"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", f"7\tx\n{CANARY} is ill\t2020-01-01\n"),
        ("a.tsv", f"note\tlabel\n{CANARY} has cancer\t1\n"),
        ("a.csv", f"id,text\n{CANARY} Doe,x\n"),
        ("a.csv", f"qid,text\n{CANARY * 20},x\n"),
        ("a.jsonl", f'{{"id": {{"name": "{CANARY} Doe"}}, "text": "x"}}\n'),
    ],
)
def test_an_id_that_reads_like_a_text_is_not_released(
    tmp_path: Path, name: str, content: str
) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(InputError, match="ids are released as they are") as caught:
        read(path)
    assert CANARY not in str(caught.value)


def test_rows_are_numbered_or_named_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text\nJohn Doe,x\n")
    assert next(read_records(path, Columns(id=""))).id == "1"
    assert next(read_records(path, Columns(id="id"))).id == "John Doe"
