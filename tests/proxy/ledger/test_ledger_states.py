"""Whatever lies in the folder: a ledger that is not whole is told, and never begun anew."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.proxy.ledger.test_key import FakeRing

from veil.cli import run
from veil.core.errors import LedgerError
from veil.proxy.ledger import database, key
from veil.proxy.ledger.database import FILE, LOCK, make_tables
from veil.proxy.ledger.entries import Entry, Limits, Price
from veil.proxy.ledger.key import FILE as KEY_FILE
from veil.proxy.ledger.ledger import Ledger, forget_all


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a ledger in which 60 are spent."""
    with Ledger(tmp_path / "data") as ledger:
        fill(ledger)
    return tmp_path / "data"


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> FakeRing:
    keyring = pytest.importorskip("keyring")
    fake = FakeRing()
    monkeypatch.setattr(keyring, "get_keyring", lambda: fake)
    monkeypatch.delenv("VEIL_KEYRING")
    return fake


def fill(ledger: Ledger) -> None:
    words = ledger.key.words(("skin", "cancer"), "cmp")
    entry = Entry(
        ledger.key.query("skin cancer"), "cmp", ("a b", "c d"),
        {words[0]: ("a", "c"), words[1]: ("b", "d")}, spent=60.0, cost=60.0, words=2,
        form='["%s %s", ["lower", "lower"]]',
    )  # fmt: skip
    ledger.record(entry, 0)
    ledger.choose("setting", "20 cmp(epsilon=2)")


def change(file: Path, *statements: str) -> None:
    db = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def emptied(folder: Path) -> None:
    (folder / FILE).write_bytes(b"")


def gone(folder: Path) -> None:
    (folder / FILE).unlink()


def gone_with_its_mark(folder: Path) -> None:
    (folder / FILE).unlink()
    (folder / LOCK).unlink()


def gone_with_its_key(folder: Path) -> None:
    (folder / FILE).unlink()
    (folder / KEY_FILE).unlink()


def without_tables(folder: Path) -> None:
    (folder / FILE).unlink()
    change(folder / FILE, "CREATE TABLE x (y)", "DROP TABLE x")
    (folder / FILE).chmod(0o600)


def another_database(folder: Path) -> None:
    (folder / FILE).unlink()
    change(folder / FILE, "CREATE TABLE x (y)")
    (folder / FILE).chmod(0o600)


def without_spendings(folder: Path) -> None:
    change(folder / FILE, "DROP TABLE spendings")


def without_a_column(folder: Path) -> None:
    change(folder / FILE, "ALTER TABLE releases DROP COLUMN spent")


def without_its_sign(folder: Path) -> None:
    change(folder / FILE, "DELETE FROM meta WHERE name = 'sign'")


def without_releases(folder: Path) -> None:
    change(folder / FILE, "DELETE FROM releases")  # and not what belongs to them


def cut(folder: Path) -> None:
    content = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(content[: len(content) // 2])


STATES = [
    emptied, gone, gone_with_its_mark, gone_with_its_key, without_tables, another_database,
    without_spendings, without_a_column, without_its_sign, without_releases, cut,
]  # fmt: skip


@pytest.mark.parametrize("spoil", STATES)
def test_what_is_not_whole_is_refused_and_begun_anew_on_request_only(
    folder: Path, spoil: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder)
    for _ in range(2):  # the second time, too
        with pytest.raises(LedgerError, match="veil ledger forget --all"):
            Ledger(folder)
    assert run(["ledger", "show"]) == 2
    assert "veil ledger forget --all" in capsys.readouterr().err
    assert run(["ledger", "forget", "--all", "--yes"]) == 0
    assert "starts empty, without earlier releases and spending" in capsys.readouterr().out
    with Ledger(folder) as ledger:
        assert ledger.releases(9) == ()
        assert ledger.budget(Limits(60)).spent == 0
    assert run(["ledger", "show"]) == 0
    assert f"starts at {ledger.begun:%Y-%m-%d %H:%M}" in capsys.readouterr().out


def test_a_copy_put_back_is_used(folder: Path) -> None:
    copy = (folder / FILE).read_bytes()
    gone(folder)
    with pytest.raises(LedgerError, match="Restore a copy"):
        Ledger(folder)
    (folder / FILE).write_bytes(copy)
    with Ledger(folder) as ledger:
        assert ledger.budget(Limits(60)).spent == 60


@pytest.mark.parametrize("spoil", [emptied, gone, another_database])
def test_what_goes_while_it_is_used_makes_nothing_free(
    folder: Path, spoil: Callable[[Path], None]
) -> None:
    with Ledger(folder) as ledger:
        spoil(folder)
        entry = Entry(ledger.key.query("q"), "cmp", ("a",), spent=1.0, cost=1.0, words=1)
        with pytest.raises(LedgerError):
            ledger.record(entry, 0, Limits(100))
        with suppress(LedgerError):
            assert ledger.budget(Limits(100)).spent == 60


def test_a_key_in_the_keyring_tells_that_there_was_a_ledger(
    tmp_path: Path, ring: FakeRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    Ledger(folder).close()
    assert len(ring.kept) == 1
    gone_with_its_mark(folder)
    with pytest.raises(LedgerError, match="there was one"):
        Ledger(folder)
    assert forget_all(folder)
    assert not ring.kept
    with Ledger(folder) as ledger:
        fill(ledger)
    gone(folder)
    monkeypatch.setenv("VEIL_KEYRING", "off")  # the mark is there all the same
    with pytest.raises(LedgerError, match="there was one"):
        Ledger(folder)


def test_a_key_that_stays_in_the_keyring_is_told(
    tmp_path: Path, ring: FakeRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: str) -> None:
        raise RuntimeError

    Ledger(tmp_path / "data").close()
    monkeypatch.setattr(ring, "delete_password", locked)
    with pytest.raises(LedgerError, match="could not be removed from the keyring"):
        forget_all(tmp_path / "data")
    monkeypatch.undo()
    monkeypatch.setenv("VEIL_KEYRING", "off")
    with pytest.raises(LedgerError, match="not in the keyring"):
        Ledger(tmp_path / "data")


def test_nothing_to_forget_is_no_error(tmp_path: Path) -> None:
    assert not forget_all(tmp_path / "none")
    (tmp_path / "empty").mkdir(mode=0o700)
    assert not forget_all(tmp_path / "empty")
    assert not list((tmp_path / "empty").iterdir())


def test_what_is_left_of_writing_goes_too(folder: Path) -> None:
    for end in ("-journal", "-wal", "-shm"):
        (folder / f"{FILE}{end}").write_bytes(b"")
    assert forget_all(folder)
    assert not list(folder.iterdir())


def test_a_ledger_that_cannot_be_removed_is_told(folder: Path) -> None:
    gone(folder)
    (folder / FILE).mkdir()
    with pytest.raises(LedgerError, match="cannot be removed"):
        forget_all(folder)


@pytest.mark.parametrize("where", ["before the key", "after the key"])
def test_a_first_start_that_was_cut_short_is_made_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    make_key = key.make_key

    def killed(folder: Path) -> None:
        if where == "after the key":
            make_key(folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(database, "make_key", killed)
    with pytest.raises(KeyboardInterrupt):
        Ledger(tmp_path / "data")
    monkeypatch.undo()
    monkeypatch.setenv("VEIL_KEYRING", "off")
    with Ledger(tmp_path / "data") as ledger:
        fill(ledger)
    with Ledger(tmp_path / "data") as ledger:
        assert ledger.budget(Limits(60)).spent == 60


_FIRST = """
import sys
from pathlib import Path
from veil.proxy.ledger.ledger import Ledger
with Ledger(Path(sys.argv[1])) as ledger:
    print(ledger.key.sign.hex())
"""


def test_two_first_starts_at_once_have_one_key(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _FIRST, str(tmp_path / "data")],
            stdout=subprocess.PIPE,
            env=os.environ | {"VEIL_KEYRING": "off"},
        )
        for _ in range(3)
    ]
    messages = {process.communicate()[0] for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    with Ledger(tmp_path / "data") as ledger:
        assert messages == {ledger.key.sign.hex().encode() + b"\n"}


def _columns() -> list[tuple[str, str]]:
    db = sqlite3.connect(":memory:")
    make_tables(db, 1.0)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    result = [
        (table, row[1]) for table in tables for row in db.execute(f"PRAGMA table_info({table})")
    ]
    db.close()
    return result


BAD = {
    "text": "'abc'", "blob": "x'ff00'", "none": "NULL", "negative": "-1", "infinite": "9e999",
    "negative infinite": "-9e999", "huge": "1e300", "no utf-8": "CAST(x'ff' AS TEXT)",
    "empty": "''", "json": "'[1'", "another form": """'["%d %s %1000000000s", [1]]'""",
}  # fmt: skip


def read_everything(ledger: Ledger) -> None:
    """Use every way of reading that there is."""
    query, words = ledger.key.query("skin cancer"), ledger.key.words(("skin", "cancer"), "cmp")
    assert ledger.budget(Limits(100)).spent >= 60
    stored = ledger.known(query, "cmp")
    if stored is not None and stored.form:
        assert stored.variants == ("a b", "c d")
    ledger.related(words)
    ledger.earlier(query, "tem")
    ledger.releases(9)
    ledger.choice("setting")
    ledger.touch(1)
    ledger.check(Price(1.0), Limits(100))
    ledger.forget(77)
    assert ledger.budget(Limits(100)).spent >= 60


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(("table", "column"), _columns())
def test_whatever_is_in_a_column_is_told_or_does_no_harm(
    folder: Path, table: str, column: str, bad: str
) -> None:
    with Ledger(folder) as opened_before:
        with suppress(sqlite3.DatabaseError):  # SQLite itself may not take it
            change(folder / FILE, f"UPDATE {table} SET {column} = {BAD[bad]}")  # noqa: S608
        with suppress(LedgerError):
            read_everything(opened_before)
    with suppress(LedgerError), Ledger(folder) as opened:
        read_everything(opened)


@pytest.mark.parametrize("name", ["format", "key", "sign", "begun", "clock"])
@pytest.mark.parametrize("bad", BAD)
def test_whatever_is_known_of_the_ledger_itself_is_checked(
    folder: Path, name: str, bad: str
) -> None:
    value = BAD[bad].replace("NULL", "0")  # which SQLite does not take here
    change(folder / FILE, f"UPDATE meta SET value = {value} WHERE name = '{name}'")  # noqa: S608
    with suppress(LedgerError), Ledger(folder) as ledger:
        assert name in ("begun", "clock")
        assert ledger.budget(Limits(100)).spent == 60
    change(folder / FILE, f"DELETE FROM meta WHERE name = '{name}'")  # noqa: S608
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger(folder)


def test_text_in_a_sum_is_damage(folder: Path) -> None:
    with Ledger(folder) as ledger:
        change(folder / FILE, "UPDATE spendings SET spent = 'many'")
        for use in (
            lambda: ledger.budget(Limits(100)),
            lambda: ledger.check(Price(1.0), Limits(100)),
        ):
            with pytest.raises(LedgerError, match="is damaged"):
                use()
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger(folder)
