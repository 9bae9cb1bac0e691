"""Universes: which public texts, each once, and how often."""

import gzip
import json
from pathlib import Path

import pytest

from veil.core.errors import InputError, ParameterError
from veil.cover import Universe, build, read_universe


def test_texts_are_folded_and_counted() -> None:
    universe = Universe.of(["Skin  cancer", "flu", "skin CANCER ", "...", " "])
    assert list(universe.texts) == ["Skin cancer", "flu"]
    assert universe.counts.tolist() == [2, 1]
    weighed = Universe.of({"flu": 5, "FLU": 2, "cold": 1})
    assert (list(weighed.texts), weighed.counts.tolist()) == (["flu", "cold"], [7, 1])


def test_every_text_can_be_sent() -> None:
    """Engines refuse NUL, and all texts of a group are sent or none."""
    universe = Universe.of(
        ["skin\x00cancer", "\x00 flu\x1b", "Skin\x85Cancer", "\x00\x07", "\u200bflu"]
    )
    assert list(universe.texts) == ["skin cancer", "flu"]
    assert universe.counts.tolist() == [2, 2]
    weighed = Universe.of({"a\x00": 2, "a": 3, "b": 1})
    assert (list(weighed.texts), weighed.counts.tolist()) == (["a", "b"], [5, 1])


def test_texts_that_are_looked_up_as_one_are_one() -> None:
    universe = Universe.of(["ﬂour", "flour", "½ cup", "1⁄2 CUP"])
    assert list(universe.texts) == ["ﬂour", "½ cup"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "The universe must have texts"),
        (["...", "  "], "The universe must have texts"),
        (["a", 3], "Text 2 of the universe must be a string"),
        (b"flu", "The universe must be a list of texts"),
        (3, "The universe must be a list of texts"),
        ({"flu": 0}, "must have an integer from 1"),
        ({"flu": True}, "must have an integer from 1"),
        ({"flu": 10**30}, "must have an integer from 1"),
        (["2019", "3.5", "12 000"], "The texts of the universe must not all be numbers"),
    ],
)
def test_bad_universes(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(given)  # type: ignore[arg-type]


def test_one_text_many_times_is_one_text() -> None:
    with pytest.raises(InputError, match="for 2 tracks with cells of 2. Got 1 instead"):
        build(["flu"] * 1000, tracks=2, cell=2)


def test_a_share_is_taken_evenly() -> None:
    whole = Universe.of([f"text {i}" for i in range(100)])
    tenth = whole.sampled(0.1)
    assert list(tenth.texts) == [f"text {i}" for i in range(0, 100, 10)]
    assert tenth.name == "texts, a share of 0.1"
    assert whole.sampled(1) is whole
    for bad in (0, -1, 1.5):
        with pytest.raises(ParameterError, match="share of a universe"):
            whole.sampled(bad)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    documents = [
        {"id": "1", "title": "On skin", "text": "All about skin."},
        {"id": "2", "title": "", "text": "one two three four five six seven eight nine ten more"},
    ]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text(json.dumps({"id": "q", "text": "skin care"}))
    (folder / "qrels.txt").write_text("q 0 1 1\n")
    return folder


def test_parts_of_a_collection(collection: Path) -> None:
    passages = read_universe(collection)
    assert next(iter(passages.texts)) == "On skin All about skin."
    assert passages.name == "library, passages"
    titles = read_universe(collection, "titles")
    assert list(titles.texts) == ["On skin", "one two three four five six seven eight nine ten"]
    assert list(read_universe(str(collection), "queries").texts) == ["skin care"]
    with pytest.raises(InputError, match="has no log"):
        read_universe(collection, "log")
    with pytest.raises(ParameterError, match="must be one of: passages"):
        read_universe(collection, "pages")  # type: ignore[arg-type]


def test_a_file_of_queries_or_of_documents(collection: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt.gz"
    log.write_bytes(gzip.compress(b"flu\nFlu\ncold\n"))
    universe = read_universe(log)
    assert (list(universe.texts), universe.counts.tolist()) == (["flu", "cold"], [2, 1])
    assert universe.name == "log.txt.gz"
    documents = read_universe(collection / "docs.jsonl", "titles")
    assert next(iter(documents.texts)) == "On skin"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.csv", "query,count\nflu,5\ncold,1\nFLU,2\n"),
        ("log.csv", "Counts;text\n5;flu\n1;cold\n2;FLU\n"),
        ("log.tsv", "frequency\tquery\n5\tflu\n1\tcold\n2\tFLU\n"),
        ("log.tsv", "flu\t5\ncold\t1\nFLU\t2\n"),
        ("log.jsonl", '{"text": "flu", "count": 7}\n{"query": "cold"}\n'),
    ],
)
def test_counts_of_a_file(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    universe = read_universe(tmp_path / name)
    assert (list(universe.texts), universe.counts.tolist()) == (["flu", "cold"], [7, 1])


def test_numbers_are_no_universe(tmp_path: Path) -> None:
    (tmp_path / "log.tsv").write_text("1\t7\n2\t19\n")
    with pytest.raises(InputError, match="must not all be numbers.* 'query' or 'text'"):
        read_universe(tmp_path / "log.tsv")


def test_wordnet_has_one_part(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="has only one"):
        read_universe("wordnet", "titles")


def test_nouns_with_what_they_mean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(
        "  1 This software\n"
        '00001740 03 n 01 entity 0 000 | that which is; "it was full of entities"\n'
        "00001930 03 n 02 skin_cancer 0 cutis 1 001 @ 00001740 n 0000 | a growth of the skin\n"
    )
    monkeypatch.setattr("veil.corpus.wordnet.wordnet_folder", lambda: tmp_path)
    monkeypatch.setattr("veil.corpus.wordnet.wordnet", lambda report: None)
    universe = read_universe("wordnet")
    assert list(universe.texts) == [
        "entity: that which is",
        "skin cancer, cutis: a growth of the skin",
    ]
