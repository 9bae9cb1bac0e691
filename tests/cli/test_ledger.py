"""``veil ledger``: what was released is shown, exported and forgotten; no query is ever in it."""

import csv
import io
import json
import math
from pathlib import Path

import pytest

from veil.cli import run
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.ledger import Ledger


@pytest.fixture(autouse=True)
def own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VEIL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("VEIL_KEYRING", "off")


@pytest.fixture
def filled() -> None:
    with Ledger() as book:
        for text, spent in (("quokkapox care", 24.0), ("love", math.inf)):
            words = book.key.words(tuple(text.split()), "cmp")
            entry = Entry(
                book.key.query(text),
                "cmp(epsilon=2.0)",
                (f"lantern {len(text)}", "[bold]teapot, 'x'"),
                dict.fromkeys(words, ("a", "b")),
                spent=spent,
                words=len(words),
            )
            book.record(entry, 0)


def test_an_empty_ledger_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ledger", "show"]) == 0
    assert "The ledger is empty" in capsys.readouterr().out


@pytest.mark.usefixtures("filled")
def test_what_was_released_is_shown_without_the_query(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ledger", "show", "--variants"]) == 0
    out = capsys.readouterr().out
    assert "cmp(epsilon=2.0)" in out
    assert "[bold]teapot" in out
    assert "no bound" in out
    assert "Spent in the last 24 hours: 24" in out
    assert "quokkapox" not in out
    assert run(["ledger", "show"]) == 0
    assert "teapot" not in capsys.readouterr().out


@pytest.mark.usefixtures("filled")
def test_an_export_is_whole_and_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("out.csv", "out.jsonl"):
        assert run(["ledger", "export", str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        assert "2 releases" in capsys.readouterr().err
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["spent"] for row in rows] == ["", "24.0"]
    assert [line["spent"] for line in lines] == [None, 24.0]
    assert (
        json.loads(rows[0]["variants"])
        == lines[0]["variants"]
        == ["lantern 4", "[bold]teapot, 'x'"]
    )
    assert run(["ledger", "export", "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.fixture
def leaked() -> None:
    """Two queries under cover: one whose group was sent, and one that was answered from memory."""
    with Ledger() as book:
        for text, bits in (("quokkapox care", 6.4919), ("quokkapox", 0.0)):
            name = "cover(table='icd10cm')"
            entry = Entry(book.key.query(text), name, ("a", "b"), bits=bits, words=1)
            book.record(entry, 0)


@pytest.mark.usefixtures("leaked")
@pytest.mark.parametrize("columns", [120, 40])
def test_bits_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(["ledger", "show"]) == 0
    out = capsys.readouterr().out
    told = " ".join(out.split())
    assert "Leaked in the last 24 hours: 6.49 bits (each query whose cover group was" in told
    if columns == 120:
        header, second, first = (line.split() for line in out.splitlines()[:3])
        at = header.index("bits") + 1  # a date is two words
        assert (first[0], first[at], second[at]) == ("1", "6.49", "0")
        assert first[at - 1] == "0"  # spent
    else:
        assert "spent 0 and 6.49 bits," in told
        assert "spent 0 and 0 bits," in told


@pytest.mark.usefixtures("leaked")
def test_bits_are_exported(tmp_path: Path) -> None:
    for name in ("out.csv", "out.jsonl"):
        assert run(["ledger", "export", str(tmp_path / name)]) == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        assert [row["bits"] for row in csv.DictReader(file)] == ["0.0", "6.4919"]
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["bits"] for line in lines] == [0.0, 6.4919]


@pytest.mark.usefixtures("filled")
def test_an_export_to_another_kind_of_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ledger", "export", str(tmp_path / "out.txt")]) == 2
    assert ".csv or .jsonl" in capsys.readouterr().err
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.usefixtures("filled")
def test_forgetting(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:

    assert run(["ledger", "forget", "9", "--yes"]) == 2
    assert "no such entry" in capsys.readouterr().err
    assert run(["ledger", "forget", "--before", "2000-01-01", "--yes"]) == 0
    assert "0 releases" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("Care QUOKKAPOX\n"))
    assert run(["ledger", "forget", "--query", "--yes"]) == 0
    assert "1 release forgotten" in capsys.readouterr().out
    assert run(["ledger", "forget", "2", "--yes"]) == 0
    with Ledger() as book:
        assert book.releases(9) == ()
        assert book.budget().spent == 24
    assert run(["ledger", "forget", "--all", "--yes"]) == 0
    with Ledger() as book:
        assert book.budget().spent == 0


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("arguments", [[], ["1", "--all"], ["--query", "--before", "2026-01-01"]])
def test_what_to_forget_must_be_named_once(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ledger", "forget", *arguments, "--yes"]) == 2
    assert "Exactly one of" in capsys.readouterr().err
    with Ledger() as book:
        assert len(book.releases(9)) == 2


@pytest.mark.usefixtures("filled")
def test_a_query_on_standard_input_cannot_be_confirmed_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["ledger", "forget", "--query"]) == 2
    assert "Add --yes" in capsys.readouterr().err
    with Ledger() as book:
        assert len(book.releases(9)) == 2


@pytest.mark.usefixtures("filled")
def test_nothing_is_forgotten_unless_it_is_confirmed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run(["ledger", "forget", "--all"]) == 130
    with Ledger() as book:
        assert len(book.releases(9)) == 2


def test_a_ledger_that_others_can_read_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    (tmp_path / "data").chmod(0o755)
    assert run(["ledger", "show"]) == 2
    assert "chmod go-rwx" in capsys.readouterr().err


@pytest.mark.usefixtures("filled")
def test_without_a_terminal_it_says_what_is_needed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, message in (
        (["17"], "no such entry. Nothing was forgotten"),
        (["99999999999999999999999"], "no such entry. Nothing was forgotten"),
        (["1"], "Add --yes"),
        (["--all"], "Add --yes"),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        assert run(["ledger", "forget", *arguments]) == 2
        assert message in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert run(["ledger", "forget", "1"]) == 0


@pytest.mark.usefixtures("filled")
def test_a_narrow_screen_breaks_no_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert run(["ledger", "show", "--variants"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert "\n  lantern 14\n" in out
    assert "\n  [bold]teapot, 'x'\n" in out
    assert "no. 2, made" in out
