"""A log is read from any kind of file, and from ir_datasets; its queries are not quoted."""

import gzip
from pathlib import Path

import pytest

from veil.core.errors import InputError, UnknownNameError
from veil.corpus.logs import read_counted, read_log

QUERIES = ["skin cancer", 'say "flu"', "skin cancer"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.txt", 'skin cancer\nsay "flu"\r\nskin cancer'),
        ("log", 'skin cancer\nsay "flu"\nskin cancer\n'),
        ("log.csv", 'user,query\n1,skin cancer\n2,"say ""flu"""\n1,skin cancer\n'),
        ("log.tsv", '1\tskin cancer\n2\tsay "flu"\n1\tskin cancer\n'),
        ("log.jsonl", '"skin cancer"\n{"query": "say \\"flu\\""}\n{"text": "skin cancer"}\n'),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_files(tmp_path: Path, name: str, content: str, packed: bool) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    data = b"\xef\xbb\xbf" + content.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(read_log(str(path))) == list(read_log(path)) == QUERIES


@pytest.mark.parametrize(
    ("name", "content", "pairs"),
    [
        ("a.csv", "query,count\nflu,5\ncold,1.0\n", [("flu", 5), ("cold", 1)]),
        ("a.tsv", "flu\t5\n90210\t3\n", [("flu", 5), ("90210", 3)]),
        ("a.tsv", "q1\tflu\nq2\t90210\n", [("flu", 1), ("90210", 1)]),
        ("a.tsv", "1\t7\n2\t19\n", [("7", 1), ("19", 1)]),  # names and texts, as ever
        ("a.txt", "flu\t5\n", [("flu\t5", 1)]),  # no table
        ("a.jsonl", '"flu"\n{"query": "cold", "count": 3}\n', [("flu", 1), ("cold", 3)]),
    ],
)
def test_counts(tmp_path: Path, name: str, content: str, pairs: list[tuple[str, int]]) -> None:
    (tmp_path / name).write_text(content)
    assert list(read_counted(tmp_path / name)) == pairs
    assert list(read_log(tmp_path / name)) == [text for text, _ in pairs]


def test_counts_of_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    for counts in ([5, 1], [5.0, 1.0]):
        pq.write_table(
            pa.table({"count": counts, "query": ["flu", "cold"]}), tmp_path / "a.parquet"
        )
        assert list(read_counted(tmp_path / "a.parquet")) == [("flu", 5), ("cold", 1)]
    pq.write_table(
        pa.table({"count": [5, None], "query": ["flu", "cold"]}), tmp_path / "b.parquet"
    )
    with pytest.raises(InputError, match="Row 2 of b.parquet"):
        list(read_counted(tmp_path / "b.parquet"))


@pytest.mark.parametrize(
    "bad", ["0", "-1", "0.5", "", "many", "1e99", "nan", "9" * 30, "9" * 9999]
)
def test_a_count_that_is_none_is_told(tmp_path: Path, bad: str) -> None:
    for name, header in (("a.csv", "query,count\n"), ("a.tsv", "")):
        mark = "," if header else "\t"
        rows = [f"flu{mark}5", f"secret{mark}{bad}"]
        if not header:
            rows = [*[f"flu{mark}5"] * 200, rows[1]]
        (tmp_path / name).write_text(header + "\n".join(rows) + "\n")
        with pytest.raises(InputError, match="must have an integer count from 1") as caught:
            list(read_counted(tmp_path / name))
        assert "secret" not in str(caught.value)


def test_what_cannot_be_read_is_not_quoted(tmp_path: Path) -> None:
    for name, content, message in (
        ("a.txt", b"one\nsecret\xff\n", "a.txt is not UTF-8 text after line 1"),
        ("a.txt.gz", gzip.compress(b"secret\n" * 99)[:-9], "Cannot read a.txt.gz"),
        ("a.csv", b"secret\nsecret\n", "a.csv has no column 'text' or 'query'"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            list(read_log(str(tmp_path / name)))
        assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="does not exist"):
        list(read_log(str(tmp_path / "none.txt")))


def test_queries_of_ir_datasets(tmp_path: Path) -> None:
    irds = pytest.importorskip("ir_datasets", reason="the extra 'irds' is not installed")
    (tmp_path / "docs.tsv").write_text("d1\tCancer of the skin\n")
    (tmp_path / "queries.tsv").write_text("q1\tskin cancer\nq2\tskin cancer\n")
    docs, queries = str(tmp_path / "docs.tsv"), str(tmp_path / "queries.tsv")
    irds.registry.register("veil-log", irds.create_dataset(docs, queries))
    irds.registry.register("veil-no-log", irds.create_dataset(docs))
    assert list(read_log("irds:veil-log")) == ["skin cancer", "skin cancer"]
    with pytest.raises(InputError, match="irds:veil-no-log has no queries"):
        list(read_log("irds:veil-no-log"))
    with pytest.raises(UnknownNameError, match="has no id 'veil-none'"):
        list(read_log("irds:veil-none"))
