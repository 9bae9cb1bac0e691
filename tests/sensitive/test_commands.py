"""Commands and the index: what they print and write, for whom, and what they never do."""

import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.sensitive.office import NIGHT, PERSON, N, written

from veil.cli import veil
from veil.core.errors import InputError, VeilError
from veil.sensitive.cross_validate import copies
from veil.sensitive.index import open_stored, read_labelled, store
from veil.sensitive.mechanisms import mechanism

pytest.importorskip("sklearn")

OPEN = "relevance()"  # shows all but what a human has labelled, or what is not known


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("office"))


@pytest.fixture(scope="module")
def folder(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index the office, of which a human has labelled two thirds."""
    home = tmp_path_factory.mktemp("index")
    lines = (source / "sensitivity.tsv").read_text().split("\n")
    text = home / "told.tsv"
    text.write_text("\n".join([lines[0], *(entry for entry in lines[1:81])]))
    run("index", source, "--sensitivity", text, "-o", home / "idx")
    return home / "idx"


def run(*arguments: object) -> str:
    actual = CliRunner().invoke(veil, ["sensitive", *map(str, arguments)], catch_exceptions=False)
    assert actual.exit_code == 0, actual.output
    assert PERSON not in actual.output
    return actual.stdout


def refused(*arguments: object) -> str:
    actual = CliRunner().invoke(veil, ["sensitive", *map(str, arguments)])
    assert isinstance(actual.exception, VeilError), actual.output
    assert PERSON not in str(actual.exception)
    return str(actual.exception)


def shown(output: str) -> list[int]:
    return [int(line.split("\t")[1][1:]) for line in output.splitlines()]


def test_an_index_is_for_its_owner_alone(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    stored = open_stored(folder)
    assert stored.collection.sensitive.tolist() == [
        int(i % 4 == 1) if i < 80 else -1 for i in range(N)
    ]
    assert not np.isnan(stored.p).any()


def test_what_a_human_says_wins(folder: Path) -> None:
    stored = open_stored(folder)
    assert (stored.scene.p[:80] == stored.collection.sensitive[:80]).all()
    assert (stored.scene.p[80:] == stored.p[80:]).all()
    ids = shown(run("search", folder, "contract pipeline market price", "-m", OPEN, "-k", N))
    assert ids
    assert not any(i % 4 == 1 and i < 80 for i in ids)
    assert any(i % 4 == 1 for i in ids)  # nobody has said it of those


def test_the_usual_strategy_spares_what_the_classifier_finds(folder: Path) -> None:
    ids = shown(run("search", folder, "contract pipeline market price", "-k", 50))
    assert ids
    assert not any(i % 4 == 1 for i in ids)


def test_a_missing_probability_withholds(source: Path, tmp_path: Path) -> None:
    collection = read_labelled(source, None)
    labels = np.full(N, -1, dtype=np.int8)
    p = np.where(np.arange(N) % 2 == 0, 0.0, np.nan)
    store(tmp_path / "idx", collection, labels, p, "none")
    for spec in (OPEN, "postfilter(threshold=1)", "prefilter(threshold=1)", "demoted()"):
        ids = shown(run("search", tmp_path / "idx", "contract market", "-m", spec, "-k", N))
        assert ids
        assert all(i % 2 == 0 for i in ids)


def test_a_folder_of_mails_is_indexed_by_its_files(tmp_path: Path) -> None:
    mails = _made(tmp_path / "mails")
    lines = ["id,sensitive"]
    for number in range(40):
        hot = number % 4 == 1
        own = f"dinner love {PERSON} {number}" if hot else f"invoice budget {number % 7}"
        head = f"From: A <a@office.com>\nTo: b{number}@office.com, c@home.org\nDate: {NIGHT}\n"
        (mails / f"m{number}.eml").write_text(f"{head}Subject: Mail {number}\n\ncontract {own}\n")
        lines.append(f"m{number}.eml,{int(hot)}")
    (mails / "picture.png").write_bytes(b"\x89PNG")
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(lines[:30]))
    collection = read_labelled(mails, labels)
    assert collection.metadata[0] == {"date": NIGHT, "from": "a@office.com", "recipients": 2}
    assert len(set(copies(collection.documents.texts).tolist())) == 17  # heads do not count
    run("index", mails, "--sensitivity", labels, "-o", tmp_path / "idx")
    actual = run("search", tmp_path / "idx", "contract", "-m", OPEN, "-k", 50).splitlines()
    assert len(actual) == 40 - 7  # a human has said it of seven of ten
    assert "m0.eml" in {line.split("\t")[1] for line in actual}
    stored = open_stored(tmp_path / "idx")
    assert not np.isnan(stored.p).any()


def test_nothing_found_prints_nothing(folder: Path) -> None:
    assert run("search", folder, "xylophone") == ""


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "sensitivity" / "probability.npy").unlink(),
        lambda folder: (folder / "sensitivity" / "probability.npy").write_bytes(b"0" * 99),
        lambda folder: (folder / "sensitivity" / "meta.json").write_text("{}"),
    ],
)
def test_a_damaged_index_answers_nothing(
    source: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    collection = read_labelled(source, None)
    store(tmp_path / "idx", collection, collection.sensitive, np.zeros(N), "none")
    change(tmp_path / "idx")
    assert "damaged" in refused("search", tmp_path / "idx", "contract")


def test_probabilities_of_other_documents_are_refused(source: Path, tmp_path: Path) -> None:
    collection = read_labelled(source, None)
    store(tmp_path / "one", collection, collection.sensitive, np.zeros(N), "none")
    fewer = read_labelled(written(_made(tmp_path / "other"), seed=9), None)
    store(tmp_path / "two", fewer, fewer.sensitive, np.zeros(N), "none")
    moved = tmp_path / "one" / "sensitivity"
    moved.rename(tmp_path / "aside")
    (tmp_path / "two" / "sensitivity").rename(moved)
    with pytest.raises(InputError, match="damaged"):
        open_stored(tmp_path / "one")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("columns", ["80", "200"])
def test_evaluate_prints_the_empty_list_and_writes_a_page(
    source: Path, tmp_path: Path, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    page = tmp_path / "report.html"
    out = run(
        "evaluate", source, "-m", OPEN, "-m", "prefilter(threshold=0.5)", "-k", 5,
        "-o", page,
    )  # fmt: skip
    assert "empty list" in out
    assert "skill" in out
    assert ("judged" in out) == (columns == "200")
    assert "prefilter(threshold=0.5)" in out
    assert "…" not in out
    assert "cost 12" in out
    assert "6 topics" in out
    text = page.read_text()
    assert PERSON not in text
    assert "prefilter(threshold=0.5)" in text
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_refusals_come_before_the_work(source: Path, tmp_path: Path) -> None:
    assert "mechanism" in refused("evaluate", source, "-m", "postfix")
    assert "threshold" in refused("evaluate", source, "-m", "prefilter(threshold=2)")
    assert "'cost'" in refused("evaluate", source, "--cost", "-1")
    assert "'k'" in refused("evaluate", source, "-k", "0")
    assert ".html" in refused("evaluate", source, "-o", tmp_path / "report.pdf")
    assert "already" in refused("index", source, "-o", tmp_path)
    assert "does not exist" in refused("search", tmp_path / "none", "x")
    assert "--sensitivity" in refused("index", source / "docs.jsonl", "-o", tmp_path / "new")


@pytest.mark.parametrize("query", ["", "  ", "\t\n", "?!", "--"])
def test_an_empty_query_is_refused(folder: Path, query: str) -> None:
    actual = CliRunner().invoke(veil, ["sensitive", "search", str(folder), "--", query])
    assert isinstance(actual.exception, InputError)
    assert "must contain a letter or a digit" in str(actual.exception)
    assert actual.output == ""
    with pytest.raises(InputError, match="must contain a letter or a digit"):
        open_stored(folder).search(query, OPEN)


def test_who_reads_a_guarantee_reads_what_is_never_shown() -> None:
    for spec in (OPEN, "prefilter(threshold=0.1)", "postfilter(threshold=0.1)", "demoted()"):
        assert "shows a document with p = 1" in mechanism(spec).guarantee.caveat
