"""Collections: what is read, what is never read, what is simulated, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.sensitive.golden import COLLECTIONS, SARA, needs_sara
from tests.sensitive.office import TOPICS, N, office, written

from veil import sensitive
from veil.core.errors import InputError, ParameterError
from veil.corpus.catalogue import load_collection
from veil.corpus.collection import Collection, Document, Documents
from veil.sensitive.cross_validate import copies
from veil.sensitive.features import mails_of


def test_labels_topics_and_metadata_are_read(tmp_path: Path) -> None:
    col = office(tmp_path)
    assert col.sensitive.tolist() == [int(i % 4 == 1) for i in range(N)]
    assert col.topics["3-1"] == "3"
    assert len(set(col.topics.values())) == TOPICS
    assert col.metadata[1]["recipients"] == 1
    assert str(col.metadata[1]["date"]).startswith("Sat")
    assert col.labels["m1"] == 1


def test_categories_are_no_feature(tmp_path: Path) -> None:
    col = office(tmp_path)
    marked = tmp_path / "sensitivity.tsv"
    marked.write_text(marked.read_text().replace("1.1", "9.9 canary"))
    changed = sensitive.load(tmp_path)
    assert mails_of(changed) == mails_of(col)
    assert not any("canary" in repr(mail) or "categor" in repr(mail) for mail in mails_of(changed))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nobody\t1\t1.1", "not in the collection"),
        ("m0\t0\t", "labels a document twice"),
        ("m7\t2\t", "must have label 0 or 1"),
        ("m7\t\t", "must have label 0 or 1"),
        (None, "must label every document"),
    ],
)
def test_bad_labels(tmp_path: Path, line: str | None, says: str) -> None:
    file = written(tmp_path) / "sensitivity.tsv"
    lines = [entry for entry in file.read_text().split("\n") if not entry.startswith("m7\t")]
    file.write_text("\n".join([*lines, *([line] if line else [])]))
    with pytest.raises(InputError, match=says):
        sensitive.load(tmp_path)


def test_a_folder_without_labels_is_refused(tmp_path: Path) -> None:
    (written(tmp_path) / "sensitivity.tsv").unlink()
    with pytest.raises(InputError, match="file sensitivity.tsv .* does not exist"):
        sensitive.load(tmp_path)


def some(*texts: str) -> Collection:
    return Collection("some", Documents.of(Document(str(i), "", t) for i, t in enumerate(texts)))


def test_a_listed_word_makes_a_document_sensitive_and_is_hidden() -> None:
    col = sensitive.simulate(some("An HIV-test", "archived", "No aids.", "fine"))
    assert col.sensitive.tolist() == [1, 0, 1, 0]
    assert all(
        word not in (mail.title + mail.text).lower().split()
        for mail in mails_of(col)
        for word in ("hiv", "aids", "hiv-test")
    )
    own = sensitive.simulate(some("An HIV-test", "all Fine"), ["fine"])
    assert own.sensitive.tolist() == [0, 1]


@pytest.mark.parametrize("terms", ["hiv", [], ["two words"], [""]])
def test_bad_terms(terms: list[str]) -> None:
    with pytest.raises(ParameterError, match="terms must be"):
        sensitive.simulate(some("a"), terms)


@pytest.mark.parametrize(("name", "count"), [("nfcorpus", 614), ("med", 107)])
def test_simulated_collections_are_the_published_ones(name: str, count: int) -> None:
    if not (COLLECTIONS / name).is_dir():
        pytest.skip(f"the collection {name} is not at hand")
    col = sensitive.simulate(load_collection(COLLECTIONS / name))
    assert int(col.sensitive.sum()) == count


@needs_sara
def test_sara_is_read_as_it_is_described() -> None:
    col = sensitive.load(SARA)
    assert (len(col.documents), int(col.sensitive.sum())) == (1702, 211)
    assert len(set(col.topics.values())) == 50
    assert len(np.unique(copies(col.documents.texts))) == 1576
    assert all(isinstance(entry["recipients"], int) for entry in col.metadata)
    scores = sensitive.evaluate({}, col.judgements, col.labels, ["nCS-DCG@10"])
    assert scores.summary("nCS-DCG@10", col.topics).value == pytest.approx(0.948, abs=5e-4)


def test_documents_may_lack_metadata(tmp_path: Path) -> None:
    file = written(tmp_path) / "docs.jsonl"
    rows = [json.loads(line) for line in file.read_text().split("\n")]
    retained = [{key: row[key] for key in ("id", "title", "text")} for row in rows]
    file.write_text("\n".join(map(json.dumps, retained)))
    col = sensitive.load(tmp_path)
    assert col.metadata == ()
    assert len(mails_of(col)) == N
