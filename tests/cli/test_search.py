"""``veil index``, ``veil search`` and ``veil engines``, with good and with bad input."""

import errno
import io
import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import CANARY, WORDS, Veil
from tests.search.conftest import BagEncoder

from veil import api
from veil.cli import run
from veil.corpus import collection

pytest.importorskip("bm25s", reason="the extra 'search' is not installed")

DOCS = [
    {"id": "d1", "title": "Flu", "text": "the doctor and the cat"},
    {"id": "d2", "title": "", "text": "money in a bank of paris [red]"},
    {"id": "d3", "title": "Dogs", "text": "a mad dog has cancer"},
]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    file = tmp_path / "docs.jsonl"
    file.write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    return file


@pytest.fixture
def idx(veil: Veil, docs: Path, tmp_path: Path) -> Path:
    assert veil("index", docs, "--out", tmp_path / "idx").code == 0
    return tmp_path / "idx"


def search(veil: Veil, idx: Path, vectors: str, *more: object):  # type: ignore[no-untyped-def]  # noqa: ANN201
    base = ["search", "--engine", f"bm25(index={idx})", "--vectors", vectors, "--encoder", "none"]
    return veil(*base, "--mechanism", "cmp(epsilon=2)", *more)


def test_index_says_what_it_wrote(veil: Veil, docs: Path, tmp_path: Path) -> None:
    result = veil("index", docs, "--out", tmp_path / "idx")
    assert (result.code, result.out) == (0, "")
    assert "3 documents, 11 terms" in result.err
    assert f"bm25(index={tmp_path / 'idx'})" in result.err
    assert "already" in veil("index", docs, "--out", tmp_path / "idx").refused()
    veil("index", tmp_path / "none.jsonl", "--out", tmp_path / "b").refused()
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("encoder", [(), ("--encoder", "bag")])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), OSError("1")])
def test_a_full_disk_leaves_no_half_index(
    veil: Veil,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encoder: tuple[str, ...],
    error: OSError,
) -> None:
    """Let each write in turn, and all after it, find no room; numpy gives no reason for that."""
    save, write, writes = np.save, Path.open, 0
    monkeypatch.setattr("veil.api.encoder", lambda *_: BagEncoder())

    def full() -> None:
        nonlocal writes
        writes -= 1
        if writes < 0:
            raise error

    def saves(*arguments: Any, **options: Any) -> None:  # noqa: ANN401 - numpy's
        full()
        save(*arguments, **options)

    def opens(self: Path, mode: str = "r", **options: Any) -> Any:  # noqa: ANN401 - pathlib's
        if "w" in mode:
            full()
        return write(self, mode, **options)

    monkeypatch.setattr(np, "save", saves)
    monkeypatch.setattr(Path, "open", opens)
    for room in range(100):
        writes, folder = room, tmp_path / f"new{room}"
        folder.mkdir()
        told = veil("index", docs, "--out", folder / "idx", *encoder)
        if told.code == 0:
            break
        reason = error.strerror or "the disk may be full"
        assert told.err == (
            f"veil: Cannot write {folder / 'idx'} ({reason}). No files were left there.\n"
        ) or (told.err.endswith("(the disk may be full). No files were left there.\n"))
        assert list(folder.iterdir()) == []
    assert room > 10
    assert writes >= 0  # nothing was done without
    assert (folder / "idx" / "lexical").is_dir()
    assert (folder / "idx" / "vectors").is_dir() == bool(encoder)


def test_the_screen_of_a_search(veil: Veil, idx: Path, vectors: str) -> None:
    result = search(veil, idx, vectors, "--size", "6", "--seed", "1", "flu cancer dog")
    assert result.code == 0
    assert result.err == ""
    for part in (
        "Results, re-ranked on this machine by the ranks in the engine's lists",
        "What the engine saw: 6 variants",
        "Overlap with the plain ranking",
        "results of a plain search are in the first ten",
        "documents. Compared with a plain search that re-ranks as many, it is ",
        "3 x 6 x epsilon 2 = 36 per unit of euclidean distance",
        "NOT PRIVATE",
    ):
        assert part in result.out
    assert "Dogs  d3" in result.out


def test_markup_in_documents_and_words_is_text(veil: Veil, idx: Path, vectors: str) -> None:
    result = search(veil, idx, vectors, "--size", "40", "--seed", "1", "money [red] [/b]")
    assert result.code == 0
    assert "money in a bank of paris [red]" in result.out


HOSTILE = {
    "id": "d\x1b]8;;https://evil.example\x07",
    "title": "Flu\x1b[2J\x9b31m \u202emoc.doog",
    "text": "cancer dog\x1b]0;title\x07\x08\x7f\u2066 [link=https://evil.example]a[/link]",
}


def test_a_document_does_not_steer_the_terminal(veil: Veil, tmp_path: Path, vectors: str) -> None:
    file = tmp_path / "docs.jsonl"
    file.write_text("".join(json.dumps(doc) + "\n" for doc in [*DOCS, HOSTILE]))
    assert veil("index", file, "--out", tmp_path / "idx").code == 0
    for more in ((), ("--json",)):
        told = search(veil, tmp_path / "idx", vectors, *more, "--seed", "1", "flu cancer dog")
        assert told.code == 0
        assert "moc.doog" in told.out
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told.out)
    titles = [found["title"] for found in json.loads(told.out)["results"]]
    assert HOSTILE["title"] in titles  # JSON is the same, only written otherwise


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_title_that_cannot_be_shown_does_not_lose_the_results(
    tmp_path: Path, vectors: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "docs.jsonl"
    title = "\xdcn\xef \u2603 \U0001f642"
    file.write_text(json.dumps({"id": "d9", "title": title, "text": " ".join(WORDS)}) + "\n")
    for more in ((), ("--json",)):
        written = io.BytesIO()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
            base = ("search", "--collection", file, "--encoder", "none", "--vectors", vectors)
            draw = ("--mechanism", "cmp(epsilon=6)", "--seed", "1")
            assert run([*map(str, base), *more, *draw, "flu cancer dog"]) == 0
            shown = written.getvalue().decode(encoding)
        if more:
            assert json.loads(shown)["results"][0]["title"] == title
        else:
            assert title.encode(encoding, "replace").decode(encoding) in shown


def test_json_holds_everything_but_the_query(veil: Veil, idx: Path, vectors: str) -> None:
    result = search(
        veil, idx, vectors, "--json", "--size", "5", "--seed", "3", f"{CANARY} flu dog"
    )
    document = json.loads(result.out)
    assert len(document["variants"]) == 5
    assert document["mechanism"] == "cmp(epsilon=2.0)"
    assert document["cost"]["epsilon"] == 3 * 5 * 2
    assert document["cost"]["kind"] == "metric-dp"
    assert document["seeded"] is True
    assert document["gaps"] == []
    assert document["protected_words"] == 3
    assert {hit["id"] for hit in document["results"]} <= {"d1", "d2", "d3"}
    assert [hit["rank"] for hit in document["results"]] == list(
        range(1, len(document["results"]) + 1)
    )
    assert CANARY not in result.out


def test_the_query_from_standard_input(
    veil: Veil, idx: Path, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("flu dog\n"))
    assert search(veil, idx, vectors, "--json", "-").code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{CANARY}\ndog\n"))
    assert "one query on one line" in search(veil, idx, vectors, "-").refused()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([""], "The query is empty"),
        (["?!"], "No word of the query would be protected"),
        (["--select", "pos:UH", "cat"], "No word of the query would be protected"),
        (["--engine", "bm52", CANARY], "No engine called 'bm52'. Did you mean 'bm25'?"),
        (["--engine", "bm25(index=none)", CANARY], "Folder none does not exist"),
        (["--engine", "bm25(k=3)", CANARY], "bm25 has no parameter 'k'"),
        (["--engine", "opensearch(url=http://127.0.0.1:9, index=x)", "--collection", "d", CANARY],
         "searches its own documents"),
        (["--mechanism", "cmp(epsilon=-1)", CANARY], "'epsilon' parameter of cmp must be"),
        (["--mechanism", "cpm(epsilon=1)", CANARY], "Did you mean 'cmp'?"),
        (["--encoder", "miniln", CANARY], "No encoder called 'miniln'. Did you mean 'minilm'?"),
        (["--size", "0", CANARY], "--size"),
        (["-k", "0", CANARY], "-k"),
        ([CANARY, CANARY], "Unknown command"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(
    veil: Veil, idx: Path, vectors: str, more: list[str], sentence: str
) -> None:
    assert sentence in search(veil, idx, vectors, *more).refused()


def test_foreign_folder_is_no_index(veil: Veil, tmp_path: Path, vectors: str) -> None:
    assert "is not an index of Veil" in search(veil, tmp_path, vectors, CANARY).refused()


def test_nobody_at_home(veil: Veil, vectors: str) -> None:
    """An engine that is not there: one sentence, and the query in none of it."""
    with socket.socket() as taken:  # a port at which nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        engine = f"opensearch(url={address}, index=docs, attempts=1)"
        result = veil(
            "search", "--engine", engine, "--vectors", vectors, "--mechanism", "cmp(epsilon=2)",
            "--encoder", "none", f"{CANARY} flu",
        )  # fmt: skip
    assert "Nothing was sent, and nothing was counted." in result.refused()
    assert "released" not in result.err


def test_seeded_releases_stay_here(veil: Veil, vectors: str) -> None:
    engine = "opensearch(url=http://127.0.0.1:9, index=docs)"
    result = veil(
        "search", "--engine", engine, "--vectors", vectors, "--mechanism", "cmp(epsilon=2)",
        "--encoder", "none", "--seed", "1", f"{CANARY} flu",
    )  # fmt: skip
    assert "was released with a seed" in result.refused()


def test_a_recording_is_replayed(veil: Veil, idx: Path, vectors: str, tmp_path: Path) -> None:
    more = ("--size", "4", "--seed", "3", "flu cancer dog")
    first = search(veil, idx, vectors, "--record", tmp_path / "r.jsonl", "--json", *more)
    again = search(veil, idx, vectors, "--engine", f"replay(file={tmp_path / 'r.jsonl'})", *more)
    assert again.code == 0
    assert "Unknown: a plain search returns nothing here" in again.out
    assert json.loads(first.out)["results"][0]["id"] in again.out
    other = search(veil, idx, vectors, "--engine", f"replay(file={tmp_path / 'r.jsonl'})", CANARY)
    assert "None of the queries was recorded in r.jsonl. Use the variants" in other.refused()
    assert "count in the budget" in other.err
    twice = search(veil, idx, vectors, "--record", tmp_path / "r.jsonl", CANARY)
    assert "already" in twice.refused()


def test_nothing_is_sent_when_the_recording_cannot_be_written(
    veil: Veil, idx: Path, vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "search", lambda *_, **__: pytest.fail("it was sent"))
    record = tmp_path / "none" / "r.jsonl"
    assert "Folder" in search(veil, idx, vectors, "--record", record, CANARY).refused()


def test_an_interrupted_index_leaves_nothing(
    veil: Veil, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(collection, "build_lexical", interrupted)
    assert veil("index", docs, "--out", tmp_path / "idx").code == 130
    assert [path.name for path in tmp_path.iterdir() if "idx" in path.name] == []


def test_a_draw_that_equals_the_query_is_told_to_a_terminal_alone(
    veil: Veil, idx: Path, vectors: str
) -> None:
    result = search(veil, idx, vectors, "--mechanism", "tem(epsilon=1e6)", "--seed", "1", "flu")
    assert "drawn 20 times" in result.out
    assert "came out equal" not in result.out


def test_engines_are_listed(veil: Veil) -> None:
    result = veil("engines")
    assert result.code == 0
    for name in ("bm25", "opensearch", "searxng", "minilm", "wordllama", "k1", "k1 FLOAT"):
        assert name in result.out
    assert veil("engines", "bm25").out.startswith("ENGINES\nbm25  ")
    assert "minilm" not in veil("engines", "tfidf").out
    assert "Did you mean 'bm25'?" in veil("engines", "bm52").refused()
    document = json.loads(veil("engines", "--json").out)
    assert document["engines"]["bm25"]["properties"]["k1"]["maximum"] == 100
    assert set(document["encoders"]) >= {"minilm", "wordllama", "huggingface"}


def test_the_cost_says_what_no_bound_covers(veil: Veil, idx: Path, vectors: str) -> None:
    plain = search(veil, idx, vectors, "a mad dog").out
    assert "Nothing is bounded" not in plain
    assert "(changed, unchanged words)" not in plain
    chosen = search(veil, idx, vectors, "--select", "content", "--policy", "url=mask", "a dog").out
    assert "between a word that is selected and one that is not" in chosen
    assert "between kinds of words that have different policies" in chosen
    tagged = search(veil, idx, vectors, "--select", "pos:NN", "a mad dog").out
    assert "Which words are selected depends on the words themselves" in tagged
