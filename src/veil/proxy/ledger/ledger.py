"""What was released when, and what it cost: without the queries, of which it knows hashes only."""

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
_ROUNDING = 1e-12  # of sums of what was spent


@dataclass(frozen=True, slots=True)
class SpendingState:
    """What was spent in 24 hours, how many releases no sum covers, and when some of it ends.

    `until` is the end of the 24 hours, in seconds since 1970; `free` is when the oldest of the
    sums is out of them, or None where there is none. `bits` are those of releases whose leakage is
    bounded, and `free_bits` is when the oldest of these is out.
    """

    until: float
    spent: float
    unproved: int
    free: datetime | None
    bits: float = 0.0
    free_bits: datetime | None = None


def spent_until(db: sqlite3.Connection, at: float) -> SpendingState:
    """Return what was spent in the 24 hours before a moment.

    A moment before the latest that the ledger has seen is taken for that one: a clock that is set
    back makes nothing free. What is dated later than the moment counts, too.
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
    """Return a moment, or the latest that the ledger has seen, if that is later."""
    (seen,) = db.execute("SELECT value FROM meta WHERE name = 'clock'").fetchone() or (None,)
    return max(read_seconds(at), read_seconds(seen))


def advance_clock(db: sqlite3.Connection, at: float) -> float:
    """Keep the latest moment, and return it."""
    now = latest_moment(db, at)
    db.execute("UPDATE meta SET value = ? WHERE name = 'clock'", (now,))
    return now


def spend(db: sqlite3.Connection, at: float, price: Price) -> None:
    """Count what is spent now; what is older than 24 hours is not needed any more."""
    now = advance_clock(db, at)
    db.execute("DELETE FROM spendings WHERE at <= ?", (now - DAY,))
    if price.epsilon > 0 or price.bits > 0:
        proved = math.isfinite(price.epsilon)
        db.execute(
            "INSERT INTO spendings (at, spent, unproved, bits) VALUES (?, ?, ?, ?)",
            (now, price.epsilon if proved else 0.0, int(not proved), price.bits),
        )


def check_budget(state: SpendingState, price: Price, limits: Limits) -> None:
    """Refuse what costs more than is left."""
    _check_bits(state, price.bits, limits.bits)
    fresh, limit = price.epsilon, limits.epsilon
    if limit is None or fresh <= 0:
        return
    if not math.isfinite(fresh):
        raise BudgetError(
            "What the mechanism releases has no bound that a budget could count; nothing was sent."
            " Choose another mechanism, or do without a budget (--budget none)."
        )
    account = Account({"epsilon": limit * (1 + _ROUNDING)}, {"epsilon": state.spent})
    try:
        account.check({"epsilon": fresh})
    except BudgetError:
        free = state.free
        wait = f", or wait: some of it comes free at {free:%Y-%m-%d %H:%M}" if free else ""
        raise BudgetError(
            f"The query would cost {_amount(fresh)}, and"
            f" {_amount(max(0.0, limit - state.spent))} of the {_amount(limit)} for 24 hours are"
            " left; nothing was sent. Ask something that was asked before, or choose a more"
            f" private setting{wait}."
        ) from None


def _check_bits(state: SpendingState, fresh: float, limit: float | None) -> None:
    if limit is None or fresh <= 0 or state.bits + fresh <= limit * (1 + _ROUNDING):
        return
    free = state.free_bits
    wait = f", or wait: some of it comes free at {free:%Y-%m-%d %H:%M}" if free else ""
    raise BudgetError(
        f"The query would cost {bits_of(fresh)}, and"
        f" {_amount(max(0.0, limit - state.bits))} of the {bits_of(limit)} for 24 hours are"
        " left; nothing was sent. Ask for something that you asked before, or raise the"
        f" limit (--bits){wait}."
    )


def _amount(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")


NONE = Limits()
PLAIN = "plain"  # the setting of a query that was sent in clear, on request


class StaleError(LedgerError):
    """Somebody else released or forgot variants of the same query at the same time."""


class Ledger:
    """The ledger of one user, in a folder that only the owner can open."""

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
        """Return what was released of a query under a setting, or None."""
        with self._database.reading() as db:
            return entry_of(db, query, setting)

    def related(
        self,
        words: Sequence[bytes],
        length: int | None = None,
        query: bytes = b"",
        own: Draws | None = None,
    ) -> tuple[Draws, bool]:
        """Return earlier draws for words of a query, from releases that it refines or repeats.

        Two queries are related when at least half of the words of the longer one are common;
        releases of one `query` always are, whatever words of it they replaced. The nearest one
        comes first, of equally near ones the newest; but a word has the longest column of draws
        that any of them has, as all of it is out. Where the query has draws of its `own`, only
        columns count that go on from these. Also tells whether one of these releases was chosen by
        a pre-flight check. The hash of a word is of a mechanism and its vectors, too: draws of
        others are not found by it.

        `length` counts all words of the query, where `words` are only those that may be shared.
        """
        wanted = {word: (own or {}).get(word, ()) for word in words}
        longest = len(wanted) if length is None else length
        found = dict(wanted)
        chosen: dict[bytes, bool] = {}
        with self._database.reading() as db:
            common: dict[int, int] = {}
            for word in wanted:
                rows = db.execute(
                    "SELECT release FROM draws WHERE word = ? AND place = 0", (word,)
                )
                for (release,) in rows:
                    common[release] = common.get(release, 0) + 1
            for release in sorted(common, key=lambda one: (-common[one], -one)):
                count, passed, of = db.execute(
                    "SELECT words, chosen, query FROM releases WHERE number = ?", (release,)
                ).fetchone()
                if of == query or 2 * common[release] >= max(longest, values.read_count(count)):
                    longer = _longer(draws_of(db, release), found, wanted)
                    found |= longer
                    chosen |= dict.fromkeys(longer, bool(values.read_count(passed)))
        return {word: found[word] for word in chosen}, any(chosen.values())

    def earlier(self, query: bytes, setting: str) -> float:
        """Return what other settings released of the same query: epsilon, added up."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT cost FROM releases WHERE query = ? AND setting <> ?", (query, setting)
            )
            return math.fsum(values.read_amount(cost) for (cost,) in rows)

    def earlier_bits(self, query: bytes, setting: str) -> float:
        """Return what other settings leaked of the same query at most: bits, added up."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT bits FROM releases WHERE query = ? AND setting <> ?", (query, setting)
            )
            return math.fsum(values.read_amount(bits) for (bits,) in rows)

    def was_sent(self, group: bytes) -> bool:
        """Whether a group of texts, by its hash, is in any release: it is out already."""
        with self._database.reading() as db:
            row = db.execute("SELECT 1 FROM draws WHERE word = ? AND place = 0", (group,))
            return row.fetchone() is not None

    def latest(self, setting: str, seconds: float, now: datetime | None = None) -> Entry | None:
        """Return the release of a setting that was asked with last, if that is not long ago."""
        at = _now(now).timestamp()
        with self._database.reading() as db:
            row = db.execute(
                "SELECT query FROM releases WHERE setting = ? AND last >= ?"
                " ORDER BY last DESC, number DESC LIMIT 1",
                (setting, at - seconds),
            ).fetchone()
            return None if row is None else entry_of(db, values.read_hash(row[0]), setting)

    def holds(self, texts: Iterable[str]) -> int:
        """Count how many of these texts were asked for: the queries of the ledger's owner."""
        with self._database.reading() as db:
            known = {query for (query,) in db.execute("SELECT DISTINCT query FROM releases")}
        return sum(self.key.query(text) in known for text in texts) if known else 0

    def check(self, price: Price, limits: Limits, now: datetime | None = None) -> None:
        """Refuse what the budget does not allow, before it is drawn; `record` decides."""
        with self._database.reading() as db:
            check_budget(spent_until(db, _now(now).timestamp()), price, limits)

    def record(
        self, entry: Entry, before: int, limits: Limits = NONE, now: datetime | None = None
    ) -> tuple[int, Price]:
        """Write a release down, before anything is sent, if the budget allows it.

        Parameters
        ----------
        entry
            The whole release; its `spent` in all.
        before
            How many variants of it were there before: it is refused as stale if that is not so.
        limits
            What may be spent in 24 hours.

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
                raise StaleError("The same query was released at the same time; try again.")
            epsilon = entry.spent - paid if math.isfinite(paid) else entry.spent
            fresh = Price(epsilon, max(0.0, entry.bits - paid_bits))
            check_budget(spent_until(db, at.timestamp()), fresh, limits)
            number = write_entry(db, entry, number, at)
            spend(db, at.timestamp(), fresh)
        return number, fresh

    def take_back(self, number: int, price: Price) -> bool:
        """Undo the latest release, of which nothing was sent; False if it may be in use.

        It stays where it was asked with again, or another release came after it, which may have
        taken draws from it.
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
        """Write down, before it is sent, that a query goes in clear; its text is not kept."""
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
        """Note that a release is asked with once more.

        Raises
        ------
        StaleError
            If it was forgotten meanwhile: what is sent must have an entry.
        """
        at = _now(now).timestamp()
        with self._database.writing() as db:
            touched = db.execute(
                "UPDATE releases SET asked = asked + 1, last = ? WHERE number = ?", (at, number)
            ).rowcount
            if not touched:
                raise StaleError("The release was forgotten at the same time; try again.")
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
        """Return entries, newest first; those with a number below `before`."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT number, made, last, asked, setting, words, shared, spent, chosen, bits"
                " FROM releases WHERE ? IS NULL OR number < ? ORDER BY number DESC LIMIT ?",
                (before, before, count),
            ).fetchall()
            return tuple(release_of(db, row) for row in rows)

    def forget(self, number: int) -> bool:
        """Delete an entry; what it cost stays spent. False if there is none."""
        return self._delete("number = ?", number) > 0

    def forget_query(self, text: str) -> int:
        """Delete all entries of a query, and return how many there were."""
        return self._delete("query = ?", self.key.query(text))

    def forget_before(self, moment: datetime) -> int:
        """Delete all entries that were last asked with before a moment."""
        return self._delete("last < ?", moment.timestamp())

    def _delete(self, which: str, value: object) -> int:
        with self._database.writing() as db:
            count = db.execute(f"DELETE FROM releases WHERE {which}", (value,)).rowcount  # noqa: S608 - one of three fixed texts
        if count:
            self._database.shrink()
        return count

    def choice(self, name: str) -> str | None:
        """Return something that the user chose on the page, or None."""
        with self._database.reading() as db:
            row = db.execute("SELECT value FROM choices WHERE name = ?", (name,)).fetchone()
            return None if row is None else values.read_text(row[0])

    def choose(self, name: str, value: str) -> None:
        """Keep something that the user chose on the page."""
        with self._database.writing() as db:
            db.execute("INSERT OR REPLACE INTO choices VALUES (?, ?)", (name, value))


def _longer(draws: Draws, found: Draws, own: Draws) -> Draws:
    """Return the columns that are longer than those found, and go on from the query's own."""
    return {
        word: column
        for word, column in draws.items()
        if word in found
        and len(column) > len(found[word])
        and column[: len(own[word])] == own[word]
    }


def has_ledger(folder: Path | None = None) -> bool:
    """Whether there is a ledger, without making one."""
    return ((data_folder() if folder is None else folder) / FILE).is_file()


def forget_all(folder: Path | None = None) -> bool:
    """Delete a ledger and its key, also a damaged one; False if there was nothing of it.

    The next one begins with nothing known of what was released and spent before.
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
        there = drop_key(where)  # first: without it, what may be left is worth nothing
        there = there or os.fstat(handle).st_size > 0
        for end in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                (where / f"{FILE}{end}").unlink()
                there = True
        (where / LOCK).unlink(missing_ok=True)
    finally:
        os.close(handle)
    return there


def _now(now: datetime | None) -> datetime:
    return datetime.now().astimezone() if now is None else now
