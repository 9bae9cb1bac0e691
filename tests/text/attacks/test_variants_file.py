"""Variants that anybody made, read from files."""

import gzip
import json
from pathlib import Path

import pytest

from veil.core.errors import InputError
from veil.text.variants import VariantTable, read_variants

CANARY = "xanthippe"
HEAD = "id,text,obfuscatedText"


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    data = content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize(
    "name", ["v.csv", "v.csv.gz", "v.tsv", "v.jsonl", "v.jsonl.gz", "v.parquet"]
)
def test_formats_agree(tmp_path: Path, name: str) -> None:
    rows = [("7", "skin cancer", "hide tumor"), ("3", "flu", "cold"), ("7", "skin cancer", "")]
    rows.append(("7", "skin cancer", "fur ache"))
    keys = HEAD.split(",")
    if "parquet" in name:
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        ids, texts, variants = zip(*rows, strict=True)
        table = pa.table([list(map(int, ids)), texts, variants], names=keys)
        pq.write_table(table, tmp_path / name)
        path = tmp_path / name
    elif "jsonl" in name:
        lines = [json.dumps(dict(zip(keys, row, strict=True))) for row in rows]
        path = written(tmp_path, name, "\n".join(lines))
    else:
        mark = "\t" if "tsv" in name else ","
        path = written(tmp_path, name, "\n".join(mark.join(row) for row in [keys, *rows]))
    assert read_variants(path) == (
        VariantTable(("7", "3"), ("skin cancer", "flu"), (("hide tumor", "fur ache"), ("cold",))),
    )


def test_mechanisms_and_parameters_are_told_apart(tmp_path: Path) -> None:
    text = "\n".join(
        [
            "id,text,variant,obfuscatedText,mechanism,epsilon",
            "1,a,1,b,CMP,1",
            "1,a,1,c,CMP,10",
            "2,d,1,e,CMP,1",
            "1,a,1,f,WBB,1",
        ]
    )
    tables = read_variants(written(tmp_path, "v.csv", text))
    assert [(t.mechanism, t.parameter, t.value, t.ids, t.rows) for t in tables] == [
        ("CMP", "epsilon", "1", ("1", "2"), (("b",), ("e",))),
        ("CMP", "epsilon", "10", ("1",), (("c",),)),
        ("WBB", "epsilon", "1", ("1",), (("f",),)),
    ]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "v.csv",
            f"{HEAD}\n1,{CANARY},a\n1,other,b\n",
            "Row 2 (line 3) of v.csv repeats the id of another text",
        ),
        ("v.csv", f"id,obfuscatedText\n1,{CANARY}\n", "has no column 'text'"),
        ("v.csv", f"text,obfuscatedText\n1,{CANARY}\n", "has no column 'id'"),
        ("v.csv", f"id,text\n1,{CANARY}\n", "has no column 'obfuscatedText'"),
        ("v.csv", f"{HEAD}\n1,{CANARY}\n", "Row 1 (line 2) of v.csv has 2 columns"),
        ("v.csv", f"{HEAD}\n,{CANARY},a\n", "must have an id"),
        ("v.csv", "", "has no variants"),
        ("v.csv", HEAD, "has no variants"),
        ("v.csv", f'{HEAD}\n1,"{CANARY},a\n', "Cannot read"),
        ("v.csv.gz", "", "has no variants"),
        ("v.jsonl", f"{CANARY}\n", "not valid JSON"),
        ("v.jsonl", f'["{CANARY}"]\n', "JSON object"),
        (
            "v.jsonl",
            f'{{"id": 1, "text": ["{CANARY}"], "obfuscatedText": "a"}}',
            "must have an id",
        ),
        ("v.parquet", CANARY, "not a valid Parquet file"),
        ("v.pdf", CANARY, "must end in one of"),
    ],
)
def test_broken_files_are_told_in_one_sentence(
    tmp_path: Path, name: str, content: str, sentence: str
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(InputError) as caught:
        read_variants(written(tmp_path, name, content))
    message = str(caught.value)
    assert sentence in message
    assert CANARY not in message
    assert "\n" not in message
    assert message.endswith(".")


def test_a_cut_archive_a_folder_and_no_file(tmp_path: Path) -> None:
    whole = gzip.compress((HEAD + "\n1,a,b" * 5000).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    for name, sentence in (
        ("cut.csv.gz", "Cannot read"),
        ("", "folder"),
        ("no.csv", "does not exist"),
    ):
        with pytest.raises(InputError, match=sentence):
            read_variants(tmp_path / name)


def test_the_authors_files_are_read(shared: Path) -> None:
    files = sorted((shared / "reference" / "variants").glob("*.csv.gz"))
    assert len(files) == 10
    for path in files:
        (table,) = read_variants(path)
        mechanism, value = path.name.removesuffix(".csv.gz").split("_")[1:]
        assert (table.mechanism, table.value) == (mechanism, value)
        assert table.parameter == ("level" if mechanism in ("AEA", "FEA") else "epsilon")
        assert len(set(table.ids)) == len(table.originals) == len(table.rows) <= 43
        assert all(table.rows)
        if table.parameter == "epsilon":
            assert {len(row) for row in table.rows} == {50}
