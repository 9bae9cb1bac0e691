"""The file of a budget: shared, private, and never less than what was charged."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from veil import dp
from veil.core.errors import BudgetError, LedgerError
from veil.dp.accounting import charges

TENTH = "geometric(epsilon=0.1)"


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "ledger"
    yield place
    charges._SEEN.pop(os.path.realpath(place), None)


def forgotten(path: Path) -> Path:
    """Let this process know nothing of a ledger, as another would."""
    charges._SEEN.pop(os.path.realpath(path), None)
    return path


def test_it_is_for_its_owner_alone(path: Path, spoken: Callable[[BaseException], str]) -> None:
    before = os.umask(0)
    try:
        budget = dp.Budget(epsilon=1, path=path)
        budget.spend(TENTH)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    for use in (lambda: budget.spend(TENTH), lambda: dp.Budget(epsilon=1, path=path)):
        with pytest.raises(LedgerError) as caught:
            use()
        assert "chmod go-rwx" in spoken(caught.value)
    path.chmod(0o600)
    assert budget.spent.epsilon == 0.1


def test_a_file_that_cannot_be_written_is_refused(
    path: Path, spoken: Callable[[BaseException], str]
) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    path.chmod(0o400)
    for use in (lambda: budget.spend(TENTH), lambda: dp.Budget(epsilon=1, path=path)):
        with pytest.raises(LedgerError) as caught:
            use()
        assert "not writable" in spoken(caught.value)
    path.chmod(0o600)
    assert budget.events == ()


@pytest.mark.parametrize(
    "terms", [(2.0, 1e-6, "basic"), (1.0, 1e-7, "basic"), (1.0, 0.0, "basic"), (1.0, 1e-6, "zcdp")]
)
def test_it_is_opened_with_its_own_terms(
    path: Path, terms: tuple[float, float, str], spoken: Callable[[BaseException], str]
) -> None:
    dp.Budget(1.0, 1e-6, path=path).spend(TENTH)
    with pytest.raises(LedgerError) as caught:
        dp.Budget(*terms, path=path)
    assert "epsilon 1, delta 1e-06 and the accountant basic" in spoken(caught.value)
    assert dp.Budget(1, 1e-6, path=path).spent.epsilon == 0.1


def damage(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


FAULTS: dict[str, Callable[[Path], object]] = {
    "no database": lambda path: path.write_bytes(b"no database at all" * 100),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "emptied": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(
        path.read_bytes()[:4096] + os.urandom(len(path.read_bytes()) - 4096)
    ),
    "no table": lambda path: damage(path, "DROP TABLE events"),
    "no terms": lambda path: damage(path, "DELETE FROM meta WHERE name = 'epsilon'"),
    "another format": lambda path: damage(path, "UPDATE meta SET value = 9 WHERE name = 'format'"),
    "a gap": lambda path: damage(path, "DELETE FROM events WHERE number = 2"),
    "negative": lambda path: damage(path, "UPDATE events SET epsilon = -1 WHERE number = 2"),
    "a text": lambda path: damage(path, "UPDATE events SET epsilon = 'much' WHERE number = 2"),
    "no bound": lambda path: damage(path, "UPDATE events SET epsilon = NULL WHERE number = 2"),
    "infinite": lambda path: damage(path, "UPDATE events SET epsilon = 9e999 WHERE number = 2"),
    "never": lambda path: damage(path, "UPDATE events SET times = 0 WHERE number = 2"),
    "another kind": lambda path: damage(path, "UPDATE events SET kind = 'none' WHERE number = 2"),
    "a delta": lambda path: damage(path, "UPDATE events SET delta = 7 WHERE number = 2"),
    "a date": lambda path: damage(path, "UPDATE events SET at = 1e300 WHERE number = 2"),
    "a folder": as_folder,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_file_is_refused(
    path: Path, fault: str, silent: Callable[[BaseException], None]
) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    for _ in range(3):
        budget.spend(TENTH, note="xanthippe")
    FAULTS[fault](path)
    with pytest.raises(LedgerError) as caught:
        dp.Budget(epsilon=1, path=forgotten(path))
    silent(caught.value)


@pytest.mark.parametrize("fault", ["no database", "emptied", "no table", "no terms", "a folder"])
def test_a_file_that_is_damaged_meanwhile_is_refused(path: Path, fault: str) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    budget.spend(TENTH)
    FAULTS[fault](path)
    for use in (lambda: budget.spend(TENTH), lambda: budget.spent, lambda: budget.events):
        with pytest.raises(LedgerError):
            use()


def test_a_ledger_that_vanished_is_not_begun_anew(
    path: Path, spoken: Callable[[BaseException], str]
) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    budget.spend(TENTH)
    kept = path.with_name("copy")
    shutil.copy2(path, kept)
    path.unlink()
    for use in (lambda: budget.spend(TENTH), lambda: dp.Budget(epsilon=1, path=path)):
        with pytest.raises(LedgerError) as caught:
            use()
        assert "is missing" in spoken(caught.value)
        assert not path.exists()
    kept.rename(path)  # what was put back counts
    budget.spend(TENTH)
    assert dp.Budget(epsilon=1, path=path).spent.epsilon == 0.2


def test_a_ledger_that_knows_less_is_refused(
    path: Path, spoken: Callable[[BaseException], str]
) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    budget.spend(TENTH)
    older = path.with_name("older")
    shutil.copy2(path, older)
    budget.spend(TENTH)
    another = path.with_name("another")
    dp.Budget(epsilon=1, path=another).spend(TENTH, 9)
    for other in (older, another):
        other.replace(path)
        for use in (lambda: budget.spend(TENTH), lambda: dp.Budget(epsilon=1, path=path)):
            with pytest.raises(LedgerError) as caught:
                use()
            assert "lost charges" in spoken(caught.value)


def test_who_comes_late_takes_the_ledger_that_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dp.Budget(epsilon=1, path=path).spend(TENTH)
    monkeypatch.setattr(Path, "exists", lambda path: False)  # as it was when it was looked for
    assert dp.Budget(epsilon=1, path=forgotten(path)).spent.epsilon == 0.1


def test_a_charge_that_cannot_be_written_is_not_made(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    budget.spend(TENTH)

    def full(*given: object) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(charges, "write_event", full)
        with pytest.raises(LedgerError, match="full"):
            budget.spend(TENTH)
    assert budget.spent.epsilon == 0.1


def test_a_file_that_another_holds_is_waited_for_and_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, spoken: Callable[[BaseException], str]
) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    monkeypatch.setattr(charges, "_WAIT", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError) as caught:
        budget.spend(TENTH)
    assert "another program" in spoken(caught.value)
    other.execute("ROLLBACK")
    other.close()
    budget.spend(TENTH)


def test_a_refusal_writes_nothing(path: Path) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    budget.spend(TENTH, 9)
    before = path.read_bytes()
    with pytest.raises(BudgetError):
        budget.spend(TENTH, 2)
    assert path.read_bytes() == before


def test_no_folder_is_made(tmp_path: Path, spoken: Callable[[BaseException], str]) -> None:
    with pytest.raises(LedgerError) as caught:
        dp.Budget(epsilon=1, path=tmp_path / "nowhere" / "ledger")
    spoken(caught.value)
    with pytest.raises(LedgerError, match="is missing"):
        dp.Budget(epsilon=1, path=tmp_path / "ledger", make=False)
    assert list(tmp_path.iterdir()) == []


def test_a_charge_by_a_plugin_that_is_gone_still_counts(path: Path) -> None:
    budget = dp.Budget(5, 1e-6, "pld", path=path)
    budget.spend(TENTH, 3)
    damage(path, "UPDATE events SET spec = 'no_such_mechanism(epsilon=1)'")
    again = dp.Budget(5, 1e-6, "pld", path=path)
    assert again.spent.epsilon == pytest.approx(0.3, rel=1e-3)
    assert "no_such_mechanism" in str(again.events[0].cost)
