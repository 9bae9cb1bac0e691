"""The ledger of past releases and their cost; it stores only hashes of the queries."""

import contextlib
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from veil.core.accounting import Account
from veil.core.errors import BudgetError, LedgerError
from veil.core.formatting import bits_of
from veil.proxy.folder import data_folder
from veil.proxy.ledger import database as values
from veil.proxy.ledger.database import (
    FILE,
    LOCK,
    Database,
    in_use,
    read_amount,
    read_count,
    read_moment,
    read_seconds,
)
from veil.proxy.ledger.entries import (
    Draws,
    Entry,
    Limits,
    Price,
    draws_of,
    entry_of,
    release_of,
    write_entry,
)
from veil.proxy.ledger.key import drop_key
from veil.proxy.settings import Budget, Release

DAY = 24 * 3600.0
_ROUNDING = 1e-12  # relative tolerance of sums


@dataclass(frozen=True, slots=True)
class SpendingState:
    """Spending in 24 hours.

    `until` is the end of the 24 hours in seconds since 1970. `unproved` counts releases that no
    sum covers. `free` is when the oldest epsilon expires, or None. `bits` is the leakage of
    releases with bounded leakage, and `free_bits` is when the oldest of it expires.
    """

    until: float
    spent: float
    unproved: int
    free: datetime | None
    bits: float = 0.0
    free_bits: datetime | None = None


def spent_until(db: sqlite3.Connection, at: float) -> SpendingState:
    """Return what was spent in the 24 hours before a time.

    A time before the latest one the ledger has recorded is replaced by that one: setting a clock
    back frees nothing. Spending dated later than the time counts, too.
    """
    until = latest_moment(db, at)
    rows = [
        (read_seconds(when), read_amount(spent), read_count(unproved), read_amount(bits))
        for when, spent, unproved, bits in db.execute(
            "SELECT at, spent, unproved, bits FROM spendings"
        )
    ]
    inside = [row for row in rows if row[0] > until - DAY]
    return SpendingState(
        until,
        math.fsum(spent for _, spent, _, _ in inside),
        sum(unproved for _, _, unproved, _ in inside),
        _free(when for when, spent, _, _ in inside if spent),
        math.fsum(bits for _, _, _, bits in inside),
        _free(when for when, _, _, bits in inside if bits),
    )


def _free(moments: Iterator[float]) -> datetime | None:
    first = min(moments, default=None)
    return None if first is None else read_moment(first + DAY)


def latest_moment(db: sqlite3.Connection, at: float) -> float:
    """Return `at`, or the latest time the ledger has recorded if that is later."""
    (latest,) = db.execute("SELECT value FROM meta WHERE name = 'clock'").fetchone() or (None,)
    return max(read_seconds(at), read_seconds(latest))


def advance_clock(db: sqlite3.Connection, at: float) -> float:
    """Record the latest time, and return it."""
    now = latest_moment(db, at)
    db.execute("UPDATE meta SET value = ? WHERE name = 'clock'", (now,))
    return now


def spend(db: sqlite3.Connection, at: float, price: Price) -> None:
    """Record spending and delete entries older than 24 hours."""
    now = advance_clock(db, at)
    db.execute("DELETE FROM spendings WHERE at <= ?", (now - DAY,))
    if price.epsilon > 0 or price.bits > 0:
        proved = math.isfinite(price.epsilon)
        db.execute(
            "INSERT INTO spendings (at, spent, unproved, bits) VALUES (?, ?, ?, ?)",
            (now, price.epsilon if proved else 0.0, int(not proved), price.bits),
        )


def check_budget(state: SpendingState, price: Price, limits: Limits) -> None:
    """Raise `BudgetError` if a price exceeds what is left."""
    _check_bits(state, price.bits, limits.bits)
    fresh, limit = price.epsilon, limits.epsilon
    if limit is None or fresh <= 0:
        return
    if not math.isfinite(fresh):
        raise BudgetError(
            "The mechanism must have a bound that a budget can count; nothing was sent. Choose"
            " another mechanism, or search without a budget (--budget none)."
        )
    account = Account({"epsilon": limit * (1 + _ROUNDING)}, {"epsilon": state.spent})
    try:
        account.check({"epsilon": fresh})
    except BudgetError:
        free = state.free
        wait = f", or wait: some of it comes free at {free:%Y-%m-%d %H:%M}" if free else ""
        raise BudgetError(
            f"The query would cost {_amount(fresh)}, but only"
            f" {_amount(max(0.0, limit - state.spent))} of the {_amount(limit)} for 24 hours are"
            " left; nothing was sent. Repeat an earlier query, or choose a more private"
            f" setting{wait}."
        ) from None


def _check_bits(state: SpendingState, fresh: float, limit: float | None) -> None:
    if limit is None or fresh <= 0 or state.bits + fresh <= limit * (1 + _ROUNDING):
        return
    free = state.free_bits
    wait = f", or wait: some of it comes free at {free:%Y-%m-%d %H:%M}" if free else ""
    raise BudgetError(
        f"The query would cost {bits_of(fresh)}, but only"
        f" {_amount(max(0.0, limit - state.bits))} of the {bits_of(limit)} for 24 hours are"
        f" left; nothing was sent. Repeat an earlier query, or raise the limit (--bits){wait}."
    )


def _amount(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")


NONE = Limits()
PLAIN = "plain"  # the setting of a query sent unprotected on request


class StaleError(LedgerError):
    """Another process released or deleted variants of the same query at the same time."""


class Ledger:
    """The ledger of a user, in a folder only its owner can open."""

    def __init__(self, folder: Path | None = None) -> None:
        self._database = Database(data_folder() if folder is None else folder)
        self.key = self._database.key
        self.begun = self._database.begun

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def known(self, query: bytes, setting: str) -> Entry | None:
        """Return the entry of a query with a setting, or None."""
        with self._database.reading() as db:
            return entry_of(db, query, setting)

    def related(
        self,
        words: Sequence[bytes],
        length: int | None = None,
        query: bytes = b"",
        own: Draws | None = None,
    ) -> tuple[Draws, bool]:
        """Return samples of the query's words in related releases, and whether any was selected.

        Two queries are related if at least half of the words of the longer one are common;
        releases of the same `query` always are. The nearest release
        comes first, newest first among ties, but a word gets the longest column of samples
        of any of them, because all of it was released. If the query has `own` samples, only
        columns that continue these count. The second value is whether a pre-flight check
        selected one of the releases. A word's hash depends on the mechanism and its vectors, so
        samples of others are never found.

        `length` is the number of all words of the query, if `words` are only those that may be
        shared.
        """
        prefixes = {word: (own or {}).get(word, ()) for word in words}
        longest = len(prefixes) if length is None else length
        columns = dict(prefixes)
        selected: dict[bytes, bool] = {}
        with self._database.reading() as db:
            common: dict[int, int] = {}
            for word in prefixes:
                rows = db.execute(
                    "SELECT release FROM draws WHERE word = ? AND place = 0", (word,)
                )
                for (release,) in rows:
                    common[release] = common.get(release, 0) + 1
            for release in sorted(common, key=lambda number: (-common[number], -number)):
                count, passed, owner = db.execute(
                    "SELECT words, chosen, query FROM releases WHERE number = ?", (release,)
                ).fetchone()
                if owner == query or 2 * common[release] >= max(longest, values.read_count(count)):
                    longer = _longer(draws_of(db, release), columns, prefixes)
                    columns |= longer
                    selected |= dict.fromkeys(longer, bool(values.read_count(passed)))
        return {word: columns[word] for word in selected}, any(selected.values())

    def earlier(self, query: bytes, setting: str) -> float:
        """Return the total epsilon of the query's releases with other settings."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT cost FROM releases WHERE query = ? AND setting <> ?", (query, setting)
            )
            return math.fsum(values.read_amount(cost) for (cost,) in rows)

    def earlier_bits(self, query: bytes, setting: str) -> float:
        """Return the total bound on the leakage of the query's releases with other settings."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT bits FROM releases WHERE query = ? AND setting <> ?", (query, setting)
            )
            return math.fsum(values.read_amount(bits) for (bits,) in rows)

    def was_sent(self, group: bytes) -> bool:
        """Return whether any release contains the group with this hash."""
        with self._database.reading() as db:
            row = db.execute("SELECT 1 FROM draws WHERE word = ? AND place = 0", (group,))
            return row.fetchone() is not None

    def latest(self, setting: str, seconds: float, now: datetime | None = None) -> Entry | None:
        """Return the most recently used release of a setting, if used in the last `seconds`."""
        at = _now(now).timestamp()
        with self._database.reading() as db:
            row = db.execute(
                "SELECT query FROM releases WHERE setting = ? AND last >= ?"
                " ORDER BY last DESC, number DESC LIMIT 1",
                (setting, at - seconds),
            ).fetchone()
            return None if row is None else entry_of(db, values.read_hash(row[0]), setting)

    def holds(self, texts: Iterable[str]) -> int:
        """Return how many of the texts are queries in the ledger."""
        with self._database.reading() as db:
            queries = {query for (query,) in db.execute("SELECT DISTINCT query FROM releases")}
        return sum(self.key.query(text) in queries for text in texts) if queries else 0

    def check(self, price: Price, limits: Limits, now: datetime | None = None) -> None:
        """Raise `BudgetError` if the budget does not allow a price; `record` checks again."""
        with self._database.reading() as db:
            check_budget(spent_until(db, _now(now).timestamp()), price, limits)

    def record(
        self, entry: Entry, before: int, limits: Limits = NONE, now: datetime | None = None
    ) -> tuple[int, Price]:
        """Record a release before anything is sent, if the budget allows it.

        Parameters
        ----------
        entry
            The whole release; its `spent` is the total.
        before
            Number of variants recorded earlier; if it differs, the release is stale.
        limits
            Limits for 24 hours.

        Returns
        -------
        The number of the entry, and what it added.

        Raises
        ------
        BudgetError
            If the budget does not allow it; nothing is written then.
        """
        at = _now(now)
        with self._database.writing() as db:
            row = db.execute(
                "SELECT number, spent, bits,"
                " (SELECT COUNT(*) FROM variants WHERE release = number)"
                " FROM releases WHERE query = ? AND setting = ?",
                (entry.query, entry.setting),
            ).fetchone()
            number, paid, paid_bits, count = row or (None, 0.0, 0.0, 0)
            paid, paid_bits = values.read_amount(paid), values.read_amount(paid_bits)
            if count != before:
                raise StaleError("The same query was released at the same time. Try again.")
            epsilon = entry.spent - paid if math.isfinite(paid) else entry.spent
            fresh = Price(epsilon, max(0.0, entry.bits - paid_bits))
            check_budget(spent_until(db, at.timestamp()), fresh, limits)
            number = write_entry(db, entry, number, at)
            spend(db, at.timestamp(), fresh)
        return number, fresh

    def take_back(self, number: int, price: Price) -> bool:
        """Undo the latest release if none of it was sent; return whether it was undone.

        It is not undone if it was used again, or if a later release exists, which may share its
        samples. The caller knows that nothing was sent.
        """
        proved = math.isfinite(price.epsilon)
        with self._database.writing() as db:
            row = db.execute(
                "SELECT asked, number = (SELECT MAX(number) FROM releases) FROM releases"
                " WHERE number = ?",
                (number,),
            ).fetchone()
            if row != (1, 1):
                return False
            db.execute("DELETE FROM releases WHERE number = ?", (number,))
            if price.epsilon > 0 or price.bits > 0:
                db.execute(
                    "DELETE FROM spendings WHERE number = (SELECT MAX(number) FROM spendings"
                    " WHERE spent = ? AND unproved = ? AND bits = ?)",
                    (price.epsilon if proved else 0.0, int(not proved), price.bits),
                )
        self._database.shrink()
        return True

    def note_plain(self, query: str, now: datetime | None = None) -> int:
        """Record that the query itself is about to be sent; its text is not stored."""
        at, hashed = _now(now), self.key.query(query)
        with self._database.writing() as db:
            row = db.execute(
                "SELECT number FROM releases WHERE query = ? AND setting = ?", (hashed, PLAIN)
            ).fetchone()
            entry = Entry(hashed, PLAIN, spent=math.inf, cost=math.inf)
            number = write_entry(db, entry, row[0] if row else None, at)
            spend(db, at.timestamp(), Price(math.inf))
        return number

    def touch(self, number: int, now: datetime | None = None) -> None:
        """Record that a release is used again.

        Raises
        ------
        StaleError
            If it was deleted meanwhile: everything that is sent must have an entry.
        """
        at = _now(now).timestamp()
        with self._database.writing() as db:
            touched = db.execute(
                "UPDATE releases SET asked = asked + 1, last = ? WHERE number = ?", (at, number)
            ).rowcount
            if not touched:
                raise StaleError("The release was deleted at the same time. Try again.")
            advance_clock(db, at)

    def budget(self, limits: Limits = NONE, now: datetime | None = None) -> Budget:
        """Return what was spent in the last 24 hours, and what is left."""
        with self._database.reading() as db:
            state = spent_until(db, _now(now).timestamp())
        day = datetime.fromtimestamp(state.until, UTC).date().isoformat()
        return Budget(
            day, state.spent, limits.epsilon, state.unproved, state.free, state.bits, limits.bits
        )

    def releases(self, count: int, before: int | None = None) -> tuple[Release, ...]:
        """Return entries, newest first; with `before`, only those with a lower number."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT number, made, last, asked, setting, words, shared, spent, chosen, bits"
                " FROM releases WHERE ? IS NULL OR number < ? ORDER BY number DESC LIMIT ?",
                (before, before, count),
            ).fetchall()
            return tuple(release_of(db, row) for row in rows)

    def forget(self, number: int) -> bool:
        """Delete an entry; False if there is none. Its cost stays spent."""
        return self._delete("number = ?", number) > 0

    def forget_query(self, text: str) -> int:
        """Delete all entries of a query, and return their number."""
        return self._delete("query = ?", self.key.query(text))

    def forget_before(self, moment: datetime) -> int:
        """Delete all entries last used before a time, and return their number."""
        return self._delete("last < ?", moment.timestamp())

    def _delete(self, which: str, value: object) -> int:
        with self._database.writing() as db:
            count = db.execute(f"DELETE FROM releases WHERE {which}", (value,)).rowcount  # noqa: S608 - one of three fixed texts
        if count:
            self._database.shrink()
        return count

    def choice(self, name: str) -> str | None:
        """Return a choice the user made on the page, or None."""
        with self._database.reading() as db:
            row = db.execute("SELECT value FROM choices WHERE name = ?", (name,)).fetchone()
            return None if row is None else values.read_text(row[0])

    def choose(self, name: str, value: str) -> None:
        """Save a choice the user made on the page."""
        with self._database.writing() as db:
            db.execute("INSERT OR REPLACE INTO choices VALUES (?, ?)", (name, value))


def _longer(draws: Draws, columns: Draws, own: Draws) -> Draws:
    """Return the columns that are longer than those in `columns` and continue the query's own."""
    return {
        word: column
        for word, column in draws.items()
        if word in columns
        and len(column) > len(columns[word])
        and column[: len(own[word])] == own[word]
    }


def has_ledger(folder: Path | None = None) -> bool:
    """Return whether there is a ledger, without creating one."""
    return ((data_folder() if folder is None else folder) / FILE).is_file()


def forget_all(folder: Path | None = None) -> bool:
    """Delete a ledger, even a damaged one, and its key; False if nothing existed.

    The next ledger starts without any record of earlier releases and spending.
    """
    where = data_folder() if folder is None else folder
    if not where.is_dir():
        return drop_key(where)
    try:
        return _remove(where)
    except OSError as error:
        raise LedgerError(f"The ledger in {where} cannot be removed ({error.strerror}).") from None


def _remove(where: Path) -> bool:
    handle = in_use(where, alone=True)
    try:
        existed = drop_key(where)  # first: without it, anything left over is useless
        existed = existed or os.fstat(handle).st_size > 0
        for end in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                (where / f"{FILE}{end}").unlink()
                existed = True
        (where / LOCK).unlink(missing_ok=True)
    finally:
        os.close(handle)
    return existed


def _now(now: datetime | None) -> datetime:
    return datetime.now().astimezone() if now is None else now
