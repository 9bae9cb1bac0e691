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

from veil.core.errors import InputError, MissingExtraError, ParameterError
from veil.data import lines, rows
from veil.data.lines import suffix_of
from veil.data.records import Columns, Record, read_records
from veil.data.rows import DelimitedLayout

Silent = Callable[[BaseException], None]
CANARY = "xanthippe"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(
    path: Path | None, text: str | None = None, key: str | None = None
) -> list[tuple[str, str]]:
    return [(record.id, record.text) for record in read_records(path, Columns(text, key))]


def refused(path: Path | None, text: str | None = None, key: str | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        read(path, text, key)
    return caught.value


def test_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,text,more\nq1,"a, ""b""\nc",x\n\nq2,ü,y\n')
    assert read(path) == [("1", 'a, "b"\nc'), ("2", "ü")]
    assert read(path, key="id") == [("q1", 'a, "b"\nc'), ("q2", "ü")]


def test_csv_without_ids_numbers_its_rows(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.csv", "query\na\nb\n")) == [("1", "a"), ("2", "b")]


def test_columns_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text,name,note\n1,a,n,b\n")
    assert read(path, "note", "name") == [("n", "b")]


@pytest.mark.parametrize("key", ["id", "qid", "query_id"])
@pytest.mark.parametrize("text", ["text", "query"])
def test_usual_names_of_columns(tmp_path: Path, key: str, text: str) -> None:
    path = write(tmp_path / "a.csv", f"{text},{key}\nx,7\n")
    assert read(path) == [("1", "x")]
    assert read(path, key=key) == [("7", "x")]


def test_quotes_in_a_tsv_are_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", '7\t"flu" and more\n8\tsay "no\n')
    assert [text for _, text in read(path)] == ['"flu" and more', 'say "no']


def test_tsv_with_and_without_header(tmp_path: Path) -> None:
    texts, wanted = [("1", "a, b"), ("2", "c")], [("7", "a, b"), ("8", "c")]
    bare = write(tmp_path / "a.tsv", "7\ta, b\n8\tc\n")
    assert read(bare) == texts
    assert read(bare, key="1") == read(bare, "2", "1") == wanted
    assert read(bare, "1", "2") == [("a, b", "7"), ("c", "8")]
    named = write(tmp_path / "b.tsv", "id\ttext\n7\ta, b\n8\tc\n")
    assert (read(named), read(named, key="id")) == (texts, wanted)
    named = write(tmp_path / "c.tsv", "text\tqid\tx\na, b\t7\t\nc\t8\t\n")
    assert (read(named), read(named, key="qid")) == (texts, wanted)


def test_named_column_means_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "key\tnote\n7\ta\n")
    assert read(path, "note") == [("1", "a")]
    refused(path, "text")


def test_jsonl(tmp_path: Path) -> None:
    lines = ['{"id": 5, "text": "a\\nb", "x": [1]}', "", '"alone"', '{"query": "ü"}']
    for name in ("a.jsonl", "a.ndjson"):
        path = write(tmp_path / name, "\n".join(lines))
        assert read(path) == [("1", "a\nb"), ("2", "alone"), ("3", "ü")]


def test_parquet(tmp_path: Path) -> None:
    rows = 5000  # more than one batch
    table = pa.table({"text": [f"t{i}" for i in range(rows)], "id": range(rows)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", key="id") == [(str(i), f"t{i}") for i in range(rows)]
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
    assert read(write(tmp_path / "a.txt", "a\n\ufeffb\n"))[1][1] == "\ufeffb"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a,b\nü\n".encode())))
    assert read(None) == [("1", "a,b"), ("2", "ü")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n")))
    assert "standard input is not UTF-8" in str(refused(None))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert "standard input contains no texts" in str(refused(None))


def test_long_csv_fields_are_read(tmp_path: Path) -> None:
    csv.field_size_limit(131_072)  # Python's own limit
    long = "a" * 200_000
    assert read(write(tmp_path / "a.csv", f"text\n{long}\n"))[0][1] == long


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
    assert "--column" in str(error) or "--id" in str(error)
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
        ("a.csv", f"id,text\n1,a\n2,{CANARY},{CANARY}\n", "Row 2 (line 3) of a.csv has 3 columns"),
        ("a.csv", f"id,text\n{CANARY}\n", "Row 1 (line 2) of a.csv has 1 columns"),
        ("a.tsv", f"1\ta\n{CANARY}\n", "Row 2 (line 2) of a.tsv has 1 columns"),
        ("a.csv", f'text\na\n"{CANARY}', "Cannot read a.csv after row 1 (quoting"),
        (
            "a.csv",
            f'text\n"{CANARY}"{CANARY}\n',
            "Cannot read a.csv near its beginning (quoting",
        ),
        ("a.csv", f"text\na\r{CANARY}\n", "(a carriage return within a line)"),
        ("a.csv", f"text\na\0{CANARY}\n", "Line 2 of a.csv is not text"),
        ("a.txt", f"a\nb\0{CANARY}\n", "Line 2 of a.txt is not text"),
        ("a.jsonl", f'"a\0{CANARY}"\n', "Line 1 of a.jsonl is not text"),
        ("a.txt", f"a\n{CANARY}".encode() + b"\xff\n", "a.txt is not UTF-8 text after line 1"),
        (
            "a.csv",
            b"text\n" + CANARY.encode() + b"\xff\n",
            "a.csv is not UTF-8 text after line 1",
        ),
        ("a.tsv", f"1\t{CANARY}\n".encode("utf-16-le"), "Line 1 of a.tsv is not text"),
        ("a.jsonl", f'"{CANARY}\n', "Row 1 (line 1) of a.jsonl is not valid JSON"),
        ("a.jsonl", f'"a"\n{{"text": {CANARY}}}\n', "Row 2 (line 2) of a.jsonl is not valid JSON"),
        ("a.jsonl", "[" * 100_000, "Row 1 (line 1) of a.jsonl"),
        (
            "a.jsonl",
            f'["{CANARY}"]\n',
            "Row 1 (line 1) of a.jsonl must be a JSON object or string",
        ),
        (
            "a.jsonl",
            f'{{"text": null, "x": "{CANARY}"}}\n',
            "(line 1) of a.jsonl must have a text",
        ),
        (
            "a.jsonl",
            f'{{"text": ["{CANARY}"]}}\n',
            "(line 1) of a.jsonl must have a text. Got list instead",
        ),
        ("a.parquet", CANARY * 100, "a.parquet is not a valid Parquet file"),
        ("a.parquet", "", "a.parquet is not a valid Parquet file"),
        ("a.txt.gz", CANARY, "Cannot read a.txt.gz near its beginning"),
        ("a.txt.gz", gzip.compress(CANARY.encode(), mtime=0)[:-9], "Cannot read a.txt.gz"),
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


def test_parquet_with_a_time_out_of_range(tmp_path: Path) -> None:
    late = pa.array([2**60], pa.timestamp("us"))
    pq.write_table(pa.table({"text": ["x"], "at": late}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="a date or time out of range"):
        list(read_records(tmp_path / "a.parquet", Columns(keep=("at",))))


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
    assert f"Row {len(values)} of a.parquet must have a text" in str(error)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.txt", "a.txt.gz", "a.parquet"])
def test_empty_file(tmp_path: Path, name: str, silent: Silent) -> None:
    content = gzip.compress(b"", mtime=0) if name.endswith(".gz") else b""
    path = write(tmp_path / name, content)
    if name == "a.parquet":
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    error = refused(path)
    silent(error)
    assert f"{name} contains no texts" in str(error)


def test_header_without_rows(tmp_path: Path) -> None:
    assert "contains no texts" in str(refused(write(tmp_path / "a.csv", "id,text\n")))


def test_line_without_end_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (lines, rows):
        monkeypatch.setattr(module, "MAX_LINE", 100)
    assert "Line 2 of a.txt" in str(refused(write(tmp_path / "a.txt", "a\n" + "b" * 200)))


def test_quote_that_never_ends_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: Silent
) -> None:
    for module in (lines, rows):
        monkeypatch.setattr(module, "MAX_LINE", 100)
    error = refused(write(tmp_path / "a.csv", 'text\n"' + f"{CANARY}\n" * 50))
    silent(error)
    assert "a field too long" in str(error)


def test_folder_and_missing_file(tmp_path: Path) -> None:
    assert "is a folder. Choose a file" in str(refused(tmp_path))
    assert "Check the path" in str(refused(tmp_path / "none.csv"))


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[parquet\]'"):
        read(tmp_path / "a.parquet")


# ---- what leaves beside the texts


NAMES = f"id,text,mail\n7,x,{CANARY}@example.com\n"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_ids_and_other_columns_leave_when_they_are_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    table = {"id": ["7", "8"], "text": ["x", "y"], "mail": ["a@b.org", "c@d.org"]}
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if name == "a.parquet":
        pq.write_table(pa.table(table), path)
    elif name == "a.jsonl":
        write(path, "\n".join(map(json.dumps, rows)))
    else:
        mark = "," if name == "a.csv" else "\t"
        write(
            path, "\n".join(mark.join(row) for row in [list(table), *(r.values() for r in rows)])
        )
    assert list(read_records(path, Columns())) == [Record("1", "x"), Record("2", "y")]
    assert list(read_records(path, Columns(id=""))) == [Record("1", "x"), Record("2", "y")]
    assert [record.id for record in read_records(path, Columns(id="ID"))] == ["7", "8"]
    kept = list(read_records(path, Columns(keep=(" Mail ", "id"))))
    assert kept == [Record("1", "x", ("a@b.org", "7")), Record("2", "y", ("c@d.org", "8"))]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (Columns(id="text"), "'text' contains the texts"),
        (Columns(keep=("TEXT",)), "'TEXT' contains the texts"),
        (Columns("mail", keep=("mail",)), "'mail' contains the texts"),
        (Columns(id="id", keep=("Id",)), "can be released only once"),
        (Columns(keep=("mail", "mail")), "can be released only once"),
        (Columns(keep=("mall",)), "no column 'mall' among its 3"),
        (Columns(keep=("",)), "no column ''"),
    ],
)
def test_what_must_not_leave(
    tmp_path: Path, columns: Columns, message: str, silent: Silent
) -> None:
    with pytest.raises(InputError) as caught:
        list(read_records(write(tmp_path / "a.csv", NAMES), columns))
    silent(caught.value)
    assert message in str(caught.value)


def test_values_of_json_that_are_kept(tmp_path: Path, silent: Silent) -> None:
    line = '{"text": "x", "a": 5, "b": null, "c": true, "d": {"e": ["ü"]}}'
    path = write(tmp_path / "a.jsonl", line)
    (record,) = read_records(path, Columns(keep=tuple("abcd")))
    assert record.kept == (5, None, True, '{"e": ["ü"]}')
    for columns in (Columns(id="id"), Columns(keep=("id",))):
        path = write(tmp_path / "a.jsonl", f'{{"text": "{CANARY}", "id": "\\ud800"}}\n')
        with pytest.raises(InputError, match="Row 1 .* lone surrogate") as caught:
            list(read_records(path, columns))
        silent(caught.value)
    assert "has no id" in str(refused(write(path, '{"text": "x", "id": null}'), key="id"))
    assert "without columns" in str(refused(write(path, '"x"'), key="id"))


def test_plain_text_has_no_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "text\nx\n")
    assert "is plain text without columns" in str(refused(path, "text"))
    assert read_table(path, Columns("text"), DelimitedLayout(";")) == ["x"]


# ---- files as people have them


def read_table(
    path: Path,
    columns: Columns = Columns(),  # noqa: B008
    layout: DelimitedLayout = DelimitedLayout(),  # noqa: B008
) -> list[str]:
    return [record.text for record in read_records(path, columns, layout=layout)]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("id;text\n1;a, b\n2;c\n", ["a, b", "c"]),
        ("id\ttext\n1\ta, b; c\n", ["a, b; c"]),
        ("id|text\n1|a, b; c\n", ["a, b; c"]),
        ('id,text\n1,"a, b"\n2,c; d; e\n', ["a, b", "c; d; e"]),
        ('"id";"text"\n"1";"say ""a; b"""\n', ['say "a; b"']),
        ("text\na; b | c\n", ["a; b | c"]),
        ('text\n"a, b"\n', ["a, b"]),
        ("sep=|\nid|text\n1|a\n", ["a"]),
        ("query, in full;text\nx;a\nz, u;b\n", ["a", "b"]),
        (" ID ; Text \n1;a\n", ["a"]),
        ("QUERY\na\n", ["a"]),
        ("text;;\na;;\n", ["a"]),
        ("id;text\r\n1;a\r\n", ["a"]),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_delimiters_are_recognised(
    tmp_path: Path, name: str, content: str, texts: list[str]
) -> None:
    assert read_table(write(tmp_path / name, content)) == texts


def test_a_delimiter_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text:note\na, b:c\n")
    assert read_table(path, layout=DelimitedLayout(":")) == ["a, b"]
    assert "no column" in str(refused(path))
    tabs = write(tmp_path / "b.csv", 'note\ttext\nx\t"a\tb"\n')
    assert read_table(tabs, layout=DelimitedLayout("tab")) == read_table(tabs) == ["a\tb"]


def test_a_delimiter_that_is_not_clear_must_be_given(tmp_path: Path, silent: Silent) -> None:
    path = write(tmp_path / "a.csv", f"text,a;query\n{CANARY},b;c\n")
    error = refused(path)
    silent(error)
    assert "delimiter of a.csv is ambiguous. Set it with --delimiter" in str(error)
    assert read_table(path, layout=DelimitedLayout(",")) == [CANARY]
    assert read_table(path, layout=DelimitedLayout(";")) == ["c"]


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n"])
def test_a_delimiter_is_one_character(delimiter: str) -> None:
    with pytest.raises(ParameterError, match="one character, tab"):
        DelimitedLayout(delimiter)


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_formats_without_a_delimiter(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="without delimiter"):
        read_table(write(tmp_path / name, "x"), layout=DelimitedLayout(","))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_mark_tells_the_encoding(tmp_path: Path, encoding: str, packed: bool) -> None:
    for name, content in {
        "a.csv": "id;text\n1;größer, Ω\n2;日本\n",
        "b.tsv": "id\ttext\n1\tgrößer, Ω\n2\t日本\n",
        "c.jsonl": '"größer, Ω"\n{"text": "日本"}\n',
        "d.txt": "größer, Ω\r\n日本\r\n",
    }.items():
        data = content.encode(encoding)
        path = tmp_path / (f"{name}.GZ" if packed else name)
        assert read_table(write(path, gzip.compress(data) if packed else data)) == [
            "größer, Ω",
            "日本",
        ]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16-le", "utf-16-be", "cp500"])
def test_an_encoding_can_be_given(tmp_path: Path, encoding: str, silent: Silent) -> None:
    path = write(tmp_path / "a.csv", f"id;text\n1;{CANARY} größer\n".encode(encoding))
    assert read_table(path, layout=DelimitedLayout(encoding=encoding)) == [f"{CANARY} größer"]
    silent(refused(path))


@pytest.mark.parametrize("encoding", ["latin-0", "base64", "", "a\0b"])
def test_an_encoding_that_there_is_not(encoding: str) -> None:
    with pytest.raises(ParameterError, match="Unknown encoding"):
        DelimitedLayout(encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "utf-16", "utf-32"])
def test_a_wrong_encoding_is_one_sentence(tmp_path: Path, encoding: str, silent: Silent) -> None:
    path = write(tmp_path / "a.txt", f"{CANARY} größer\n".encode("cp1252"))
    with pytest.raises(InputError) as caught:
        read_table(path, layout=DelimitedLayout(encoding=encoding))
    silent(caught.value)
    assert f"is not {encoding} text near its beginning. To fix this, set --encoding" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f"text,note,Text\n{CANARY},b,c\n"),
        ("a.csv", f"text,note, note \n{CANARY},b,c\n"),
        ("a.tsv", f"text\ttext\tx\n{CANARY}\tb\tc\n"),
        ("a.jsonl", f'{{"text": "{CANARY}", "text": "b"}}\n'),
        ("a.jsonl", f'{{"text": "{CANARY}", "TEXT": "b"}}\n'),
    ],
)
def test_a_column_that_stands_there_twice(
    tmp_path: Path, name: str, content: str, silent: Silent
) -> None:
    error = refused(write(tmp_path / name, content))
    silent(error)
    assert "with the same name" in str(error)


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("a.xlsx", CANARY, "Save it as CSV"),
        ("a.XLS", CANARY, "Save it as CSV"),
        ("a.ods", CANARY, "Save it as CSV"),
        ("a.docx", CANARY, "Save it as plain text"),
        ("a.pdf", CANARY, "Save it as plain text"),
        ("a.csv.zip", CANARY, "Unpack it first"),
        ("a.json", f'["{CANARY}"]', "Write JSON lines"),
        ("a.csv", b"PK\x03\x04" + CANARY.encode(), "a spreadsheet, a document or an archive"),
        ("a.txt", b"%PDF-1.7 " + CANARY.encode(), "a PDF"),
        ("a.csv", gzip.compress(CANARY.encode(), mtime=0), "Rename it so that it ends in .gz"),
        ("a.csv", b"PAR1" + CANARY.encode(), "Rename it so that it ends in .parquet"),
    ],
)
def test_files_that_are_not_read_are_named(
    tmp_path: Path, name: str, content: str | bytes, remedy: str, silent: Silent
) -> None:
    error = refused(write(tmp_path / name, content))
    silent(error)
    assert remedy in str(error)
    assert name in str(error)


def test_rows_have_one_number(tmp_path: Path) -> None:
    """The number in a message is the one that the row would have had in the release."""
    faults = {
        "a.csv": 'id,text\n\n1,"a\nb"\n2,c\n3\n',
        "a.tsv": "id\ttext\n\n1\ta\n2\tc\n\n3\n",
        "a.jsonl": '"a"\n\n\n"b"\n\n{"text": 3}\n',
    }
    for name, content in faults.items():
        assert str(refused(write(tmp_path / name, content))).startswith(
            f"Row 3 (line 6) of {name} "
        )
    pq.write_table(pa.table({"text": ["a", "b", None]}), tmp_path / "a.parquet")
    assert str(refused(tmp_path / "a.parquet")).startswith("Row 3 of a.parquet ")


def test_standard_input_may_be_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"id;text\n1;a\n")))
    assert [
        record.text for record in read_records(None, Columns(), layout=DelimitedLayout(";"))
    ] == ["a"]
