"""Collections: folders, files, saved ones, ir_datasets, and the embedded classification."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import veil
from veil.core.errors import InputError, UnknownNameError
from veil.corpus import icd10cm
from veil.corpus.catalogue import load_collection, read_queries
from veil.corpus.collection import Collection, open_collection
from veil.corpus.icd10cm import Entry, make_icd10cm
from veil.corpus.lexical import open_lexical
from veil.corpus.trec import read_judgements

DOCS = [
    {"id": "d1", "title": "Melanoma", "text": "Cancer of the skin"},
    {"id": "d2", "text": "Broken bone; fever"},
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mine"
    made.mkdir()
    (made / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    (made / "queries.jsonl").write_text('{"id": "q1", "text": "skin cancer"}\n')
    (made / "qrels.txt").write_text("q1 0 d1 2\nq1 0 d2 0\n")
    return made


def spelt(collection: Collection) -> list[tuple[str, str, str]]:
    documents = collection.documents
    return list(zip(documents.ids, documents.titles, documents.texts, strict=True))


WANTED = [("d1", "Melanoma", "Cancer of the skin"), ("d2", "", "Broken bone; fever")]


def test_a_folder_of_three_files(folder: Path) -> None:
    collection = load_collection(folder)
    assert collection.name == "mine"
    assert spelt(collection) == WANTED
    assert collection.queries == {"q1": "skin cancer"}
    assert collection.judgements == {"q1": {"d1": 2, "d2": 0}}


def test_saved_and_opened(folder: Path, tmp_path: Path) -> None:
    whole = load_collection(folder)
    saved = Collection(
        whole.name, whole.documents, whole.queries, whole.judgements, ("a log", "of queries")
    ).save(tmp_path / "idx")
    found = load_collection(tmp_path / "idx")
    assert spelt(found) == spelt(saved) == WANTED
    assert (found.queries, found.judgements) == (whole.queries, whole.judgements)
    assert list(found.log) == ["a log", "of queries"]
    assert found.documents.digest == whole.documents.digest
    assert (tmp_path / "idx").stat().st_mode & 0o777 == 0o700
    with pytest.raises(InputError, match="already"):
        whole.save(tmp_path / "idx")


def test_an_index_on_disk_is_used_and_a_damaged_one_is_built_anew(
    folder: Path, tmp_path: Path
) -> None:
    load_collection(folder).save(tmp_path / "idx")
    first = load_collection(tmp_path / "idx").lexical().counts.tolist()
    damaged = tmp_path / "idx" / "lexical" / "counts.npy"
    good = damaged.read_bytes()
    damaged.write_bytes(good[:-4] + b"\xff\xff\xff\x00")
    again = load_collection(tmp_path / "idx").lexical()
    assert again.counts.tolist() == first
    assert damaged.read_bytes() == good


def _tsv(path: Path) -> Path:
    path.write_text("d1\tMelanoma\tCancer of the skin\nd2\t\tBroken bone; fever\n")
    return path


def _trec(path: Path) -> Path:
    path.write_text(
        "<DOC>\n<DOCNO> d1 </DOCNO>\n<TITLE>Melanoma</TITLE>\n<TEXT>\nCancer of\nthe <B>skin</B>\n"
        "</TEXT>\n</DOC>\n\n<doc><docno>d2</docno> Broken &#98;one; fever </doc>\n"
    )
    return path


def _packed(path: Path) -> Path:
    lines = "".join(json.dumps(doc) + "\n" for doc in DOCS)
    path.write_bytes(gzip.compress(("\ufeff" + lines).encode()))
    return path


@pytest.mark.parametrize(
    ("name", "write"),
    [("d.tsv", _tsv), ("d.trec", _trec), ("d.jsonl.gz", _packed)],
)
def test_files_of_documents(tmp_path: Path, name: str, write: Callable[[Path], Path]) -> None:
    assert spelt(load_collection(write(tmp_path / name))) == WANTED


def test_several_trec_documents_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "d.trec").write_text(
        "<ROOT><DOC><DOCNO>1</DOCNO>alpha</DOC><DOC id='x'><DOCNO>2</DOCNO>beta</DOC>"
        "<DOC><DOCNO>3</DOCNO>gamma\ndelta</DOC></ROOT>\n"
    )
    documents = load_collection(tmp_path / "d.trec").documents
    assert list(documents.ids) == ["1", "2", "3"]
    assert list(documents.texts) == ["alpha", "beta", "gamma delta"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "d.jsonl",
            '{"id": "1", "text": "x"}\nsecret\n',
            "Row 2 (line 2) of d.jsonl is not valid JSON",
        ),
        (
            "d.jsonl",
            '{"id": "1", "name": "secret"}\n',
            "Row 1 (line 1) of d.jsonl must have an 'id'",
        ),
        ("d.jsonl", '["secret"]\n', "must be a JSON object"),
        ("d.jsonl", '"secret"\n', "Row 1 (line 1) of d.jsonl must be a JSON object."),
        ("d.tsv", "1\ta\n2\tb\tsecret\n", "Row 2 (line 2) of d.tsv has 3 columns"),
        ("d.jsonl", '{"id": 1, "text": "secret"}\n{"id": "1", "text": "y"}\n', "Document 2"),
        ("d.jsonl", "", "at least one document"),
        ("d.tsv", "1\ta\tb\tsecret\n", "d.tsv must have the columns id and text"),
        ("d.trec", "<DOC>\nsecret\n</DOC>\n", "line 1 of d.trec has no <DOCNO>"),
        ("d.trec", "<DOC>\n<DOCNO>1</DOCNO>secret\n", "line 1 of d.trec has no </DOC>"),
        ("d.trec", "<DOC>\n<DOC>\nsecret\n", "has no </DOC>"),
        ("d.csv", "id,text\n", "must end in .jsonl"),
        ("d.jsonl.gz", "secret", "Cannot read d.jsonl.gz near its beginning"),
    ],
)
def test_bad_files_are_named_and_not_quoted(
    tmp_path: Path, name: str, content: str, sentence: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as caught:
        load_collection(tmp_path / name)
    assert sentence in str(caught.value)
    assert "secret" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b'{"id": "1", "text": "\xff"}\n')
    with pytest.raises(InputError, match="d.jsonl is not UTF-8 text near its beginning"):
        load_collection(tmp_path / "d.jsonl")


def test_queries_and_judgements_of_others(tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text("1\tskin cancer\n2\tfever\n")
    assert read_queries(tmp_path / "queries.tsv") == {"1": "skin cancer", "2": "fever"}
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t2\n")
    assert read_judgements(tmp_path / "qrels.tsv") == {"1": {"d1": 2}}
    for grade in ("x", "--1", "²"):
        (tmp_path / "qrels.txt").write_text(f"1 0 d1 1\n1 0 d1 {grade}\n")
        with pytest.raises(InputError, match="Line 2 of qrels.txt must be a judgement"):
            read_judgements(tmp_path / "qrels.txt")
    (tmp_path / "queries.tsv").write_text("1\tskin cancer\n1\tfever\n")
    with pytest.raises(InputError, match="Query 2 of queries.tsv has the id of an earlier query"):
        read_queries(tmp_path / "queries.tsv")


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ('id\ttext\n1\ta\n\n2\tsay "b\n', [("1", "", "a"), ("2", "", 'say "b')]),
        ("docno\ttitle\tbody\n1\tx\ta\n", [("1", "x", "a")]),
        ("pid\twords of it\n1\ta\n", [("1", "", "a")]),  # the order tells where names do not
        ("text\turl\ttitle\tDocID\na\tu\tx\t1\n", [("1", "x", "a")]),
        ("1\t1\n2\tb\n", [("1", "", "1"), ("2", "", "b")]),
        ("1\tx\tx\n", [("1", "x", "x")]),
    ],
)
def test_tabs_with_and_without_a_header(
    tmp_path: Path, content: str, wanted: list[tuple[str, str, str]]
) -> None:
    (tmp_path / "d.tsv").write_text(content)
    assert spelt(load_collection(tmp_path / "d.tsv")) == wanted
    (tmp_path / "topics.txt").write_text(content)
    assert read_queries(tmp_path / "topics.txt") == {key: text for key, _, text in wanted}


def test_the_first_usual_name_with_a_value_counts(tmp_path: Path) -> None:
    line = '{"id": null, "docid": 7, "TEXT": null, "abstract": "a", "title": ["x"]}\n'
    (tmp_path / "d.jsonl").write_text(line)
    assert spelt(load_collection(tmp_path / "d.jsonl")) == [("7", "", "a")]


def test_missing_foreign_and_damaged_folders(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="Known names: icd10cm, icd10cm-full, irds:ID"):
        load_collection(str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no documents"):
        load_collection(tmp_path / "empty")
    with pytest.raises(InputError, match="Folder .* does not exist"):
        open_collection(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not an index of Veil"):
        open_collection(folder)
    load_collection(folder).save(tmp_path / "idx")
    (tmp_path / "idx" / "text-blob.npy").write_bytes(b"torn")
    with pytest.raises(InputError, match="damaged or has another version"):
        load_collection(tmp_path / "idx")


def test_many_queries_are_saved_and_found_again(folder: Path, tmp_path: Path) -> None:
    base = load_collection(folder)
    queries = {f"a-rather-long-name-of-a-query-{i}": "x" for i in range(60_000)}
    Collection("many", base.documents, queries).save(tmp_path / "idx")
    assert load_collection(tmp_path / "idx").queries == queries


@pytest.mark.parametrize(
    "change", [{"facts": {}}, {"sha256": {}}, {"sha256": None}, {"facts": {"documents": "x"}}]
)
def test_a_changed_description_is_not_trusted(
    folder: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    load_collection(folder).save(tmp_path / "idx")
    load_collection(tmp_path / "idx").lexical()
    for file in (tmp_path / "idx" / "meta.json", tmp_path / "idx" / "lexical" / "meta.json"):
        file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(InputError, match="damaged or has another version"):
        load_collection(tmp_path / "idx")
    assert (
        open_lexical(tmp_path / "idx" / "lexical", load_collection(folder).documents.digest)
        is None
    )


def test_ir_datasets_with_data_made_here(tmp_path: Path) -> None:
    irds = pytest.importorskip("ir_datasets", reason="the extra 'irds' is not installed")
    (tmp_path / "docs.tsv").write_text("d1\tCancer of the skin\nd2\tBroken bone\n")
    (tmp_path / "queries.tsv").write_text("q1\tskin cancer\n")
    (tmp_path / "qrels").write_text("q1 0 d1 2\n")
    dataset = irds.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"),
        queries_tsv=str(tmp_path / "queries.tsv"),
        qrels_trec=str(tmp_path / "qrels"),
    )
    irds.registry.register("veil-tiny", dataset)
    collection = load_collection("irds:veil-tiny")
    assert spelt(collection) == [("d1", "", "Cancer of the skin"), ("d2", "", "Broken bone")]
    assert collection.queries == {"q1": "skin cancer"}
    assert collection.judgements == {"q1": {"d1": 2}}
    with pytest.raises(UnknownNameError, match="has no id 'veil-none'"):
        load_collection("irds:veil-none")


ENTRIES = [
    Entry("A00", "A00-A09", "Cholera", terms=()),
    Entry("A00.0", "A00", "Cholera, classical", ("epidemic",), ("Old cholera", "Shared name")),
    Entry("A00.1", "A00", "Cholera eltor", (), ("Shared name",)),
    Entry("A00.11", "A00.1", "Cholera eltor, mild", (), ("Mild cholera",)),
    Entry("B00", "B00-B09", "Herpes", (), ("herpes",)),
]


def test_classification_becomes_a_collection() -> None:
    full = make_icd10cm(ENTRIES, "icd10cm-full")
    assert full.queries == {"q1": "Old cholera", "q2": "Mild cholera"}  # others stand twice
    assert full.judgements == {
        "q1": {"A00": 2, "A00.0": 3, "A00.1": 1, "A00.11": 1},
        "q2": {"A00": 1, "A00.0": 1, "A00.1": 2, "A00.11": 3},
    }
    assert spelt(full)[1] == ("A00.0", "Cholera, classical", "epidemic; Shared name")
    assert "Shared name" in full.log
    assert "Cholera" in full.log
    assert not set(full.queries.values()) & set(full.log)
    small = make_icd10cm(ENTRIES, "icd10cm")
    assert list(small.documents.ids) == ["A00", "A00.0", "A00.1", "B00"]


def test_the_embedded_collection(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    pytest.importorskip("simple_icd_10_cm", reason="the extra 'search' is not installed")
    collection = veil.load_collection("icd10cm")
    assert 11_000 < len(collection.documents) < 14_000
    assert len(collection.queries) == icd10cm.QUERIES == len(collection.judgements)
    assert len(collection.log) > 15_000
    ids = list(collection.documents.ids)
    assert all(len(code.replace(".", "")) <= 4 for code in ids)
    for name, text in collection.queries.items():
        code = next(code for code, grade in collection.judgements[name].items() if grade == 3)
        assert text not in collection.documents.texts[ids.index(code)]
        assert text not in collection.log
    # The second time it is opened from the cache; one that was torn there is made anew.
    monkeypatch.setattr(icd10cm, "read_entries", lambda: pytest.fail("read again"))
    again = veil.load_collection("icd10cm")
    assert again.documents.digest == collection.documents.digest
    assert again.queries == collection.queries
    monkeypatch.undo()
    monkeypatch.setenv("VEIL_CACHE", str(cache))
    monkeypatch.setattr(icd10cm, "read_entries", lambda: ENTRIES)
    (next((cache / "collections").iterdir()) / "id-blob.npy").write_bytes(b"torn")
    assert len(veil.load_collection("icd10cm").documents) == 4
