"""Entries of the ledger, and the price of a release."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from veil.core.formatting import brief
from veil.proxy.ledger import database as values
from veil.proxy.settings import Release


@dataclass(frozen=True, slots=True)
class Price:
    """What a release costs, in epsilon and bits of leakage, which are never added to each other.

    An infinite `epsilon` means that no sum covers the release.
    """

    epsilon: float = 0.0
    bits: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the spending in 24 hours; None means no limit."""

    epsilon: float | None = None
    bits: float | None = None


Draws = Mapping[bytes, tuple[str, ...]]  # the samples of each word, by its hash


@brief()
@dataclass(frozen=True, slots=True)
class Entry:
    """A release as stored in the ledger.

    `query` and the keys of `draws` are keyed hashes. `draws[word][j]` is the sample for variant j,
    with the words in the order of the variants, and `form` is their layout. `spent` is what was
    paid for the entry, `cost` what its variants cost in total, including samples shared with
    releases that were paid for earlier. `tied` means that the decoys of out-of-vocabulary words
    depend on the word and this query; in entries of earlier versions they depend on the word only.
    `bits` is the leakage that was paid for.
    """

    query: bytes
    setting: str
    variants: tuple[str, ...] = ()
    draws: Draws = field(default_factory=dict)
    shared: int = 0
    spent: float = 0.0
    cost: float = 0.0
    chosen: bool = False
    words: int = 0
    form: str = ""
    number: int = 0
    tied: bool = True
    bits: float = 0.0


def entry_of(db: sqlite3.Connection, query: bytes, setting: str) -> Entry | None:
    """Return the entry of a query with a setting, or None."""
    row = db.execute(
        "SELECT number, words, shared, spent, cost, chosen, form, tied, bits FROM releases"
        " WHERE query = ? AND setting = ?",
        (query, setting),
    ).fetchone()
    if row is None:
        return None
    number, words, shared, spent, cost, chosen, form, tied, bits = row
    return Entry(
        query, setting, _variants_of(db, number), draws_of(db, number), values.read_count(shared),
        values.read_amount(spent), values.read_amount(cost), bool(values.read_count(chosen)),
        values.read_count(words), values.read_form(form), number, bool(values.read_count(tied)),
        values.read_amount(bits),
    )  # fmt: skip


def draws_of(db: sqlite3.Connection, number: int) -> Draws:
    """Return the samples of each word of a release, in the order of the words."""
    samples: dict[bytes, list[str]] = {}
    rows = db.execute(
        "SELECT word, place, spot, drawn FROM draws WHERE release = ? ORDER BY spot, place",
        (number,),
    )
    for word, place, spot, sample in rows:
        column = samples.setdefault(values.read_hash(word), [])
        if values.read_count(spot) < 0 or place != len(column):
            raise sqlite3.DatabaseError  # a sample is missing
        column.append(values.read_text(sample))
    return {word: tuple(sample) for word, sample in samples.items()}


def _variants_of(db: sqlite3.Connection, number: int) -> tuple[str, ...]:
    rows = db.execute(
        "SELECT place, text FROM variants WHERE release = ? ORDER BY place", (number,)
    ).fetchall()
    if [place for place, _ in rows] != list(range(len(rows))):
        raise sqlite3.DatabaseError  # a variant is missing
    return tuple(values.read_text(text) for _, text in rows)


def write_entry(db: sqlite3.Connection, entry: Entry, number: int | None, at: datetime) -> int:
    """Write a new entry, or update the entry `number`; return its number."""
    moment = at.timestamp()
    if number is None:
        cursor = db.execute(
            "INSERT INTO releases"
            " (query, setting, made, last, asked, words, shared, spent, cost, chosen, form,"
            " tied, bits) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)",
            (entry.query, entry.setting, moment, moment, entry.words, entry.shared, entry.spent,
             entry.cost, entry.chosen, entry.form, entry.tied, entry.bits),
        )  # fmt: skip
        number = int(cursor.lastrowid or 0)
    else:
        db.execute(
            "UPDATE releases SET last = ?, asked = asked + 1, words = ?, shared = ?, spent = ?,"
            " cost = ?, chosen = MAX(chosen, ?), bits = ? WHERE number = ?",
            (
                moment,
                entry.words,
                entry.shared,
                entry.spent,
                entry.cost,
                entry.chosen,
                entry.bits,
                number,
            ),
        )
    db.executemany(
        "INSERT OR IGNORE INTO variants VALUES (?, ?, ?)",
        ((number, place, str(text)) for place, text in enumerate(entry.variants)),
    )
    db.executemany(
        "INSERT OR IGNORE INTO draws VALUES (?, ?, ?, ?, ?)",
        (
            (number, word, place, spot, drawn)
            for spot, (word, column) in enumerate(entry.draws.items())
            for place, drawn in enumerate(column)
        ),
    )
    return number


def release_of(db: sqlite3.Connection, row: tuple[Any, ...]) -> Release:
    """Return a row of the ledger as a `Release`."""
    number, created, last, uses, setting, words, shared, spent, selected, bits = row
    return Release(
        number, values.read_moment(created), values.read_moment(last), values.read_count(uses),
        values.read_text(setting), _variants_of(db, number), values.read_count(words),
        values.read_count(shared), values.read_amount(spent), bool(values.read_count(selected)),
        values.read_amount(bits),
    )  # fmt: skip
