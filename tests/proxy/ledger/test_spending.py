"""The budget: 24 hours that slide, in no time zone, by a clock that never goes back."""

import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from veil.core.errors import BudgetError, LedgerError
from veil.proxy.ledger.database import FILE
from veil.proxy.ledger.entries import Entry, Limits, Price
from veil.proxy.ledger.ledger import Ledger

NOON = datetime(2100, 11, 16, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "veil") as made:
        yield made


def spend(ledger: Ledger, name: str, spent: float, now: datetime, limit: float = 100) -> None:
    entry = Entry(ledger.key.query(name), "cmp", ("a",), spent=spent, cost=spent, words=1)
    ledger.record(entry, 0, Limits(limit), now)


def test_midnight_makes_nothing_free(ledger: Ledger) -> None:
    late = NOON.replace(hour=23, minute=59)
    spend(ledger, "one", 60, late)
    with pytest.raises(BudgetError, match="some of it comes free at"):
        spend(ledger, "two", 60, late + timedelta(minutes=2))


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="time zones cannot be set here")
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12", "UTC"])
def test_another_time_zone_makes_nothing_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    with Ledger(tmp_path / "veil") as ledger:
        ledger.record(
            Entry(ledger.key.query("a"), "cmp", ("a",), spent=60.0, cost=60.0, words=1),
            0,
            Limits(60),
        )
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        with Ledger(tmp_path / "veil") as ledger:
            assert ledger.budget(Limits(60)).left == 0
            with pytest.raises(BudgetError):
                ledger.check(Price(1), Limits(60))
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_24_hours_slide(ledger: Ledger) -> None:
    spend(ledger, "one", 30, NOON)
    spend(ledger, "two", 40, NOON + 6 * HOUR)
    state = ledger.budget(Limits(100), NOON + 23 * HOUR)
    assert (state.spent, state.left) == (70, 30)
    assert state.free == NOON + 24 * HOUR
    state = ledger.budget(Limits(100), NOON + 24 * HOUR)
    assert (state.spent, state.free) == (40, NOON + 30 * HOUR)
    assert state.day == "2100-11-17"
    assert ledger.budget(Limits(100), NOON + 30 * HOUR).spent == 0
    spend(ledger, "three", 60, NOON + 24 * HOUR)
    with pytest.raises(BudgetError, match="would cost 1, but only 0 of the 100"):
        spend(ledger, "four", 1, NOON + 29 * HOUR)


@pytest.mark.parametrize("back", [timedelta(minutes=1), 30 * HOUR, timedelta(days=40_000)])
def test_a_clock_that_goes_back_makes_nothing_free(
    ledger: Ledger, tmp_path: Path, back: timedelta
) -> None:
    spend(ledger, "one", 60, NOON)
    for now in (NOON - back, NOON + HOUR):
        assert ledger.budget(Limits(100), now).spent == 60
        with pytest.raises(BudgetError):
            spend(ledger, "two", 60, now)
    spend(ledger, "three", 40, NOON - back)
    with Ledger(tmp_path / "veil") as again:
        assert again.budget(Limits(100), NOON - back).left == 0
        # What was spent by a clock that was behind is dated by the latest moment seen.
        assert again.budget(Limits(100), NOON + 23 * HOUR).left == 0
        assert again.budget(Limits(100), NOON + 24 * HOUR).left == 100


def test_asking_again_is_seen_by_the_clock(ledger: Ledger) -> None:
    spend(ledger, "one", 60, NOON)
    ledger.touch(1, NOON + 20 * HOUR)
    spend(ledger, "two", 40, NOON)
    assert ledger.budget(Limits(100), NOON + 40 * HOUR).spent == 40


def test_releases_without_a_bound_are_counted_for_24_hours(ledger: Ledger) -> None:
    ledger.note_plain("one", NOON)
    ledger.note_plain("one", NOON + HOUR)
    assert ledger.budget(Limits(), NOON + 2 * HOUR).unproved == 2
    assert ledger.budget(Limits(), NOON + 24 * HOUR).unproved == 1
    assert ledger.budget(Limits(), NOON + 2 * HOUR).free is None


def older(folder: Path, *days: tuple[object, object]) -> None:
    """Make a ledger one of the first format, which had sums of days."""
    Ledger(folder).close()
    db = sqlite3.connect(folder / FILE)
    db.execute("DROP TABLE spendings")
    db.execute("CREATE TABLE days (day TEXT PRIMARY KEY, spent REAL NOT NULL, unproved INTEGER)")
    db.executemany("INSERT INTO days VALUES (?, ?, 1)", days)
    db.execute("ALTER TABLE releases DROP COLUMN tied")
    db.execute("ALTER TABLE releases DROP COLUMN bits")
    db.execute("DELETE FROM meta WHERE name IN ('begun', 'clock')")
    db.execute("UPDATE meta SET value = 1 WHERE name = 'format'")
    db.commit()
    db.close()


def test_an_older_ledger_keeps_what_was_spent(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    today, yesterday, before = (now - timedelta(days=n) for n in (0, 1, 9))
    older(tmp_path, *((f"{day:%Y-%m-%d}", 60.0) for day in (today, yesterday, before)))
    for _ in range(2):
        with Ledger(tmp_path) as ledger:
            state = ledger.budget(Limits(100))
            assert state.spent in (60, 120)  # yesterday may be within 24 hours somewhere on earth
            assert state.unproved in (1, 2)
            with pytest.raises(BudgetError):
                ledger.check(Price(60), Limits(100))
            assert ledger.budget(Limits(100), now + timedelta(hours=23)).spent >= 60
            assert ledger.budget(Limits(100), now + timedelta(hours=25)).spent == 0
            assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_day_to_come_counts_until_it_is_over(tmp_path: Path) -> None:
    older(tmp_path, ("2100-11-16", 60.0))
    with Ledger(tmp_path) as ledger:
        assert ledger.budget(Limits(100)).spent == 60
        assert ledger.budget(Limits(100), NOON).spent == 60
        assert ledger.budget(Limits(100), NOON + timedelta(days=3)).spent == 0


@pytest.mark.parametrize(
    "row", [("2026-11-16", "many"), ("2026-11-16", -1.0), ("soon", 1.0), (b"\0", 1.0), ("", 1.0)]
)
def test_an_older_ledger_that_is_damaged_stays_as_it_is(
    tmp_path: Path, row: tuple[object, object]
) -> None:
    older(tmp_path, row)
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before
