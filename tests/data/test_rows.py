"""Tables of any kind become the same columns and the same rows of text."""

import gzip
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veil.core.errors import InputError, ParameterError
from veil.data.rows import DelimitedLayout, Header, read_rows, read_table

Silent = Callable[[BaseException], None]
CANARY = "xanthippe"
NAMES = ("Age", "zip code", "note")
ROWS = [["34", "35121", 'a, "b"\nc'], ["", "00120", "ü; d"]]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def table(
    path: Path,
    columns: tuple[str, ...] = (),
    layout: DelimitedLayout = DelimitedLayout(),  # noqa: B008
) -> tuple[tuple[str, ...], list[list[str]]]:
    header, rows = read_table(path, columns, layout)
    return header.names, [row.values for row in rows]


def refused(
    path: Path,
    columns: tuple[str, ...] = (),
    layout: DelimitedLayout = DelimitedLayout(),  # noqa: B008
) -> InputError:
    with pytest.raises(InputError) as caught:
        table(path, columns, layout)
    return caught.value


def comma(mark: str = ",") -> str:
    fields = [NAMES, *ROWS]
    return "".join(
        mark.join('"' + field.replace('"', '""') + '"' for field in row) + "\r\n" for row in fields
    )


def objects() -> str:
    first = {"Age": 34, "zip code": "35121", "note": 'a, "b"\nc'}
    return f'{json.dumps(first)}\n\n{{"note": "ü; d", "ZIP code": "00120", "age": null}}\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", comma()),
        ("a.csv", "\ufeff" + comma(";")),
        ("a.csv", comma("|").encode("utf-16")),
        ("a.tsv", comma("|")),
        ("a.csv.gz", gzip.compress(comma("\t").encode(), mtime=0)),
        ("a.jsonl", objects()),
        ("a.ndjson.gz", gzip.compress(objects().encode(), mtime=0)),
    ],
)
def test_one_table_in_many_files(tmp_path: Path, name: str, content: str | bytes) -> None:
    path = write(tmp_path / name, content)
    assert table(path) == (NAMES, ROWS)
    assert table(path, ("NOTE", "age")) == (("note", "Age"), [[r[2], r[0]] for r in ROWS])


def test_values_of_parquet_are_text(tmp_path: Path) -> None:
    path, many = tmp_path / "a.parquet", 5000
    columns = {
        "n": range(many),
        "x": [0.1] * many,
        "day": [date(2024, 2, 29)] * many,
        "yes": [True, None] * (many // 2),
        "list": [["ü"]] * many,
    }
    pq.write_table(pa.table(columns), path)
    names, rows = table(path)
    assert names == tuple(columns)
    assert rows[0] == ["0", "0.1", "2024-02-29", "true", '["ü"]']
    assert (rows[-1][0], rows[-1][3], len(rows)) == ("4999", "", many)
    pq.write_table(pa.table({"a": [CANARY.encode()]}), path)
    assert "Row 1 of a.parquet has a binary value" in str(refused(path))


def test_rows_have_their_numbers_and_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'a,b\n\n1,"x\ny"\n2,z\n')
    _, rows = read_table(path)
    assert [(row.number, row.line) for row in rows] == [(1, 3), (2, 5)]


def test_a_table_without_a_header(tmp_path: Path) -> None:
    bare = DelimitedLayout(header=False)
    path = write(tmp_path / "a.csv", "39, State-gov, 77516\n50, Private, 83311\n\n")
    assert table(path, layout=bare) == (
        ("1", "2", "3"),
        [["39", "State-gov", "77516"], ["50", "Private", "83311"]],
    )
    assert table(path, ("3", "1"), bare)[1] == [["77516", "39"], ["83311", "50"]]
    _, rows = read_table(path, (), bare)
    assert [(row.number, row.line) for row in rows] == [(1, 1), (2, 2)]
    assert "no column '4' among its 3" in str(refused(path, ("4",), bare))
    data = write(tmp_path / "u.data", "196\t242\t3\n186\t302\t3\n")
    assert table(data, layout=DelimitedLayout("tab", header=False))[1][1] == ["186", "302", "3"]


def test_several_marks_between_columns(tmp_path: Path) -> None:
    content = '1::Toy "Story" (1995)::a|b\r\n\n2::Ménage::c\n'.encode("latin-1")
    path = write(tmp_path / "movies.dat", content)
    layout = DelimitedLayout("::", encoding="latin-1", header=False)
    assert table(path, layout=layout)[1] == [
        ["1", 'Toy "Story" (1995)', "a|b"],
        ["2", "Ménage", "c"],
    ]
    assert "Row 2 (line 2) of b.dat has 2 columns, but the first line has 3" in str(
        refused(write(tmp_path / "b.dat", f"a::b::c\nd::{CANARY}\n"), layout=layout)
    )
    for wrong in ("a:", "::\n", '""', ":" * 9):
        with pytest.raises(ParameterError, match="several punctuation marks"):
            DelimitedLayout(wrong)


def test_quotes_can_be_switched_off(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'a,b\n"x,y"\n')
    assert table(path, layout=DelimitedLayout(quotes=False))[1] == [['"x', 'y"']]
    tabs = write(tmp_path / "a.tsv", 'a\tb\n"x"\ty\n')
    assert table(tabs)[1] == [['"x"', "y"]]
    assert table(tabs, layout=DelimitedLayout(quotes=True))[1] == [["x", "y"]]


def test_a_line_break_in_quotes_holds_a_row_of_a_tsv_together(tmp_path: Path) -> None:
    text = '"id"\tnote\n"1"\t"two\nlines"\n2\t"say ""x"""\n'
    expected = (("id", "note"), [["1", "two\nlines"], ["2", 'say "x"']])
    assert table(write(tmp_path / "a.tsv", text)) == expected
    packed = tmp_path / "b.tsv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert table(packed) == expected
    wide = write(tmp_path / "c.tsv", '1\tx\n2\t"a\n\nb"\n3\ty\n')
    assert table(wide)[1] == [["2", "a\n\nb"], ["3", "y"]]


@pytest.mark.parametrize(
    "text",
    [
        'id\tnote\n1\t"half\n2\tx\n3\n',  # a quote that nothing closes
        'id\tnote\n1\t"a"\n2\n',  # a row too short
        'id\tnote\n1\t"a\nb" c\n',  # text after the closing quote
    ],
)
def test_a_broken_tsv_with_quotes_is_refused(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "a.tsv", text)
    assert "columns, but the first line has 2" in str(refused(path))


def test_quotes_of_a_tsv_stay_where_they_hold_nothing_together(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", 'id\tnote\n1\t"a"\n2\tsay "no\n3\t"b\n')
    assert table(path)[1] == [["1", '"a"'], ["2", 'say "no'], ["3", '"b']]


def test_a_column_without_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ",age,\n0,34,x\n1,35,y\n")
    assert table(path) == (("1", "age", "3"), [["0", "34", "x"], ["1", "35", "y"]])


def test_one_column(tmp_path: Path) -> None:
    assert table(write(tmp_path / "a.csv", "age\n34\n\n35\n")) == (("age",), [["34"], ["35"]])


def test_a_header_alone(tmp_path: Path) -> None:
    assert table(write(tmp_path / "a.csv", "a,b\n")) == (("a", "b"), [])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv contains no table"),
        ("a.jsonl", "\n", "a.jsonl contains no table"),
        ("a.txt", CANARY, "a.txt is plain text without columns. Set the delimiter"),
        ("a.jsonl", f'"{CANARY}"\n', "(line 1) of a.jsonl is plain text"),
        ("a.jsonl", f'{{"a": 1}}\n{{"a": 1, "{CANARY}": 2}}\n', "Row 2 (line 2) of a.jsonl has a"),
        ("a.jsonl", '{"a": "\\ud800"}\n', "Row 1 (line 1) of a.jsonl has a lone surrogate"),
        ("a.csv", f"{CANARY},{CANARY}\n", "two columns with the same name"),
        ("a.csv", f"a,b;c\n1,{CANARY};3\n", "The delimiter of a.csv is ambiguous"),
        ("a.csv", f"a,b\n1,2,{CANARY}\n", "Row 1 (line 2) of a.csv has 3 columns"),
        ("a.csv", f'a,b\n1,"{CANARY}\n', "Cannot read a.csv near its beginning (quoting"),
        ("a.csv", f"a,b\n{CANARY},".encode() + b"\xff\n", "is not UTF-8 text after line 1"),
        ("a.xlsx", CANARY, "Save it as CSV"),
    ],
)
def test_what_is_no_table(
    tmp_path: Path, name: str, content: str | bytes, message: str, silent: Silent
) -> None:
    error = refused(write(tmp_path / name, content))
    silent(error)
    assert message in str(error)


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize(
    "layout", [DelimitedLayout(","), DelimitedLayout(header=False), DelimitedLayout(quotes=False)]
)
def test_kinds_that_have_no_lines_of_fields(
    tmp_path: Path, name: str, layout: DelimitedLayout
) -> None:
    assert "a format without delimiter, header line or quotes" in str(
        refused(write(tmp_path / name, "x"), layout=layout)
    )


def test_rows_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    """A table of any length needs the room of a row: what comes after is not looked at."""
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 50_000 + b"\xff\n")
    header, rows = read_table(path)
    assert len(header) == 2
    assert next(rows).values == ["1", "2"]
    with pytest.raises(InputError, match="after line 50,001"):
        list(rows)


def test_keys_are_looked_up_once_for_rows_that_are_alike(tmp_path: Path) -> None:
    seen: list[Header] = []

    def pick(header: Header) -> list[int]:
        seen.append(header)
        return [header.find(("a",))]

    lines = ['{"a": 1, "b": 2}'] * 3 + ['{"b": 2, "a": 1}', '"x"', '{"b": 2, "a": 1}']
    path = write(tmp_path / "a.jsonl", "\n".join(lines))
    with pytest.raises(InputError, match="not valid JSON"):
        list(read_rows(write(tmp_path / "b.jsonl", '{"a": 1}\n{'), pick))
    seen.clear()
    rows = list(read_rows(path, lambda header: pick(header) if header.kind == "named" else [0]))
    assert [row.values for row in rows] == [[1]] * 4 + [["x"], [1]]
    assert [header.where for header in seen] == [
        f"Row {i} (line {i}) of a.jsonl" for i in (1, 4, 6)
    ]
