"""The ledger: whole, private, honest about what was spent, and without any query."""

import math
import os
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from veil.core.errors import BudgetError, LedgerError
from veil.proxy.ledger.database import FILE, LOCK
from veil.proxy.ledger.entries import Entry, Limits, Price
from veil.proxy.ledger.key import FILE as KEY_FILE
from veil.proxy.ledger.ledger import Ledger, StaleError, forget_all

NOON = datetime(2100, 11, 16, 12, tzinfo=UTC)  # later than when the ledger is made


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "veil")


def entry(ledger: Ledger, text: str, spent: float = 10.0, setting: str = "cmp") -> Entry:
    words = ledger.key.words(tuple(text.split()), setting)
    draws = dict.fromkeys(words, ("one", "two"))
    return Entry(
        ledger.key.query(text), setting, ("a b", "c d"), draws, spent=spent, cost=spent,
        words=len(words),
    )  # fmt: skip


def test_what_is_recorded_is_found_again(ledger: Ledger, tmp_path: Path) -> None:
    record = entry(ledger, "skin cancer")
    number, spent = ledger.record(record, 0, Limits(), NOON)
    assert spent == Price(10)
    ledger.close()
    again = Ledger(tmp_path / "veil")
    assert again.known(record.query, "cmp") == replace(record, number=number)
    assert again.known(record.query, "tem") is None
    assert again.known(again.key.query("skin"), "cmp") is None


def test_a_release_of_which_nothing_was_sent_is_taken_back(ledger: Ledger) -> None:
    survivor, _ = ledger.record(entry(ledger, "bone"), 0, Limits(), NOON)
    for spent in (10.0, math.inf, 0.0):
        record = entry(ledger, "skin cancer", spent)
        before = ledger.budget(Limits(), NOON)
        number, price = ledger.record(record, 0, Limits(), NOON)
        assert ledger.take_back(number, price)
        assert ledger.known(record.query, "cmp") is None
        assert ledger.related(tuple(record.draws), len(record.draws))[0] == {}
        assert ledger.budget(Limits(), NOON) == before
        assert not ledger.take_back(number, price)
    assert [release.number for release in ledger.releases(10)] == [survivor]


def test_a_release_that_may_be_in_use_is_not_taken_back(ledger: Ledger) -> None:
    number, price = ledger.record(entry(ledger, "skin cancer"), 0, Limits(), NOON)
    ledger.touch(number, NOON)  # another tab sends it
    assert not ledger.take_back(number, price)
    other, price = ledger.record(entry(ledger, "skin"), 0, Limits(), NOON)
    ledger.record(entry(ledger, "skin bone"), 0, Limits(), NOON)  # it may share the draws
    assert not ledger.take_back(other, price)
    assert ledger.budget(Limits(), NOON).spent == 30


def test_files_and_folder_are_for_the_owner_alone(ledger: Ledger, tmp_path: Path) -> None:
    ledger.record(entry(ledger, "skin cancer"), 0)
    folder = tmp_path / "veil"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {item.name: item.stat().st_mode & 0o777 for item in folder.iterdir()} == {
        FILE: 0o600,
        KEY_FILE: 0o600,
        LOCK: 0o600,
    }


@pytest.mark.parametrize("name", ["", FILE, KEY_FILE])
def test_what_others_can_read_is_refused(ledger: Ledger, tmp_path: Path, name: str) -> None:
    ledger.close()
    path = tmp_path / "veil" / name
    path.chmod(path.stat().st_mode | 0o040)
    with pytest.raises(LedgerError, match="must be private"):
        Ledger(tmp_path / "veil")


def test_no_word_of_a_query_is_in_any_file(ledger: Ledger, tmp_path: Path) -> None:
    ledger.record(entry(ledger, "quokkapox zebrafish"), 0)
    ledger.forget_query("other")
    for file in (tmp_path / "veil").iterdir():
        content = file.read_bytes().lower()
        assert b"quokka" not in content
        assert b"zebra" not in content


def test_the_budget_of_a_day_is_kept_and_begins_anew(ledger: Ledger) -> None:
    ledger.record(entry(ledger, "one", 60), 0, Limits(100), NOON)
    with pytest.raises(
        BudgetError, match=r"would cost 60, but only 40 of the 100 for 24 hours are left"
    ):
        ledger.record(entry(ledger, "two", 60), 0, Limits(100), NOON)
    assert ledger.budget(Limits(100), NOON).spent == 60
    assert ledger.budget(Limits(100), NOON).left == 40
    assert ledger.known(ledger.key.query("two"), "cmp") is None
    ledger.record(entry(ledger, "three", 40), 0, Limits(100), NOON)
    tomorrow = NOON + timedelta(days=1)
    assert ledger.budget(Limits(100), tomorrow).spent == 0
    ledger.record(entry(ledger, "two", 60), 0, Limits(100), tomorrow)


def test_more_variants_cost_only_what_is_new(ledger: Ledger) -> None:
    record = entry(ledger, "skin cancer", 20)
    number, _ = ledger.record(record, 0, Limits(), NOON)
    more = replace(record, variants=(*record.variants, "e f"), spent=30.0)
    assert ledger.record(more, 2, Limits(), NOON) == (number, Price(10.0))
    assert ledger.budget(Limits(), NOON).spent == 30
    stored = ledger.known(record.query, "cmp")
    assert stored is not None
    assert stored.variants == ("a b", "c d", "e f")


def test_what_has_no_guarantee_needs_a_day_without_a_limit(ledger: Ledger) -> None:
    record = entry(ledger, "one", math.inf)
    with pytest.raises(BudgetError, match="must have a bound that a budget can count"):
        ledger.record(record, 0, Limits(1e9), NOON)
    ledger.record(record, 0, Limits(), NOON)
    assert ledger.budget(Limits(), NOON).spent == 0
    assert ledger.budget(Limits(), NOON).unproved == 1
    assert ledger.releases(1)[0].spent == math.inf


def test_a_stale_entry_is_refused(ledger: Ledger) -> None:
    record = entry(ledger, "one")
    ledger.record(record, 0)
    with pytest.raises(StaleError):
        ledger.record(record, 0)


def test_two_programs_cannot_overspend_together(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger(tmp_path / "veil")
    errors: list[Exception] = []

    def spend(one: Ledger, first: int) -> None:
        for number in range(first, first + 20):
            try:
                one.record(entry(one, f"query {number}"), 0, Limits(200), NOON)
            except BudgetError as error:
                errors.append(error)

    threads = [threading.Thread(target=spend, args=value) for value in ((ledger, 0), (other, 20))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.budget(Limits(200), NOON).spent == 200
    assert len(errors) == 20


def test_related_queries_share_the_draws_of_common_words(ledger: Ledger) -> None:
    ledger.record(entry(ledger, "skin cancer"), 0)
    ledger.record(entry(ledger, "skin cancer", setting="tem"), 0)
    key = ledger.key
    words = key.words(("skin", "cancer", "treatment"), "cmp")
    assert set(ledger.related(words)[0]) == set(words[:2])
    assert set(ledger.related(words[:1])[0]) == {words[0]}
    far = key.words(("skin", "of", "an", "apple"), "cmp")
    assert ledger.related(far) == ({}, False)
    assert ledger.related(key.words(("skin", "cancer"), "wbb")) == ({}, False)


def test_draws_that_were_chosen_are_told_to_who_shares_them(ledger: Ledger) -> None:
    ledger.record(replace(entry(ledger, "skin cancer"), chosen=True), 0, Limits())
    words = ledger.key.words(("skin", "cancer", "treatment"), "cmp")
    assert ledger.related(words)[1]
    assert not ledger.related(words[2:])[1]


def test_the_nearest_related_query_comes_first(ledger: Ledger) -> None:
    near = entry(ledger, "skin cancer treatment")
    ledger.record(replace(near, draws=dict.fromkeys(near.draws, ("near", "near"))), 0, Limits())
    ledger.record(entry(ledger, "skin pain"), 0)
    words = ledger.key.words(("skin", "cancer"), "cmp")
    assert set(ledger.related(words)[0].values()) == {("near", "near")}


def test_forgetting_leaves_nothing_but_what_was_spent(ledger: Ledger, tmp_path: Path) -> None:
    record = replace(entry(ledger, "one"), variants=("marmalade teapot",))
    number, _ = ledger.record(record, 0, Limits(100), NOON)
    survivor, _ = ledger.record(entry(ledger, "two"), 0, Limits(100), NOON)
    assert ledger.forget(number)
    assert not ledger.forget(number)
    assert [release.number for release in ledger.releases(9)] == [survivor]
    assert b"marmalade" not in (tmp_path / "veil" / FILE).read_bytes()
    assert record.query not in (tmp_path / "veil" / FILE).read_bytes()
    assert ledger.budget(Limits(100), NOON).spent == 20


def test_forgetting_by_query_and_by_date(ledger: Ledger) -> None:
    ledger.record(entry(ledger, "skin cancer"), 0, Limits(), NOON - timedelta(days=9))
    ledger.record(entry(ledger, "skin cancer", setting="tem"), 0, Limits(), NOON)
    ledger.record(entry(ledger, "love"), 0, Limits(), NOON)
    assert ledger.forget_before(NOON - timedelta(days=1)) == 1
    assert ledger.forget_query("Cancer SKIN") == 1
    assert len(ledger.releases(9)) == 1


def test_entries_come_newest_first_and_in_pages(ledger: Ledger) -> None:
    numbers = [ledger.record(entry(ledger, f"q{i}"), 0)[0] for i in range(5)]
    assert [release.number for release in ledger.releases(2)] == numbers[:2:-1]
    assert [release.number for release in ledger.releases(9, before=numbers[2])] == numbers[1::-1]
    ledger.touch(numbers[0])
    assert ledger.releases(9)[-1].asked == 2


def test_a_ledger_without_its_key_is_not_used(ledger: Ledger, tmp_path: Path) -> None:
    ledger.close()
    key = (tmp_path / "veil" / KEY_FILE).read_bytes()
    (tmp_path / "veil" / KEY_FILE).unlink()
    with pytest.raises(LedgerError, match="Restore it"):
        Ledger(tmp_path / "veil")
    (tmp_path / "veil" / KEY_FILE).write_bytes(bytes(32))
    (tmp_path / "veil" / KEY_FILE).chmod(0o600)
    with pytest.raises(LedgerError, match="must be its original key"):
        Ledger(tmp_path / "veil")
    (tmp_path / "veil" / KEY_FILE).write_bytes(key)
    Ledger(tmp_path / "veil").close()


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, None])
def test_a_damaged_ledger_is_told_and_never_begun_anew(
    ledger: Ledger, tmp_path: Path, damage: bytes | None
) -> None:
    for number in range(50):
        ledger.record(entry(ledger, f"query {number}"), 0)
    ledger.close()
    file = tmp_path / "veil" / FILE
    content = file.read_bytes()
    file.write_bytes(damage or content[: len(content) // 2])
    before = file.read_bytes()
    with pytest.raises(LedgerError, match="cannot be used|is damaged"):
        Ledger(tmp_path / "veil")
    assert file.read_bytes() == before
    assert forget_all(tmp_path / "veil")
    assert Ledger(tmp_path / "veil").releases(9) == ()


def test_another_format_is_told(ledger: Ledger, tmp_path: Path) -> None:
    ledger.close()
    with sqlite3.connect(tmp_path / "veil" / FILE) as db:
        db.execute("UPDATE meta SET value = 99 WHERE name = 'format'")
    db.close()
    with pytest.raises(LedgerError, match="another version"):
        Ledger(tmp_path / "veil")


def test_forgetting_all_removes_the_key_too(ledger: Ledger, tmp_path: Path) -> None:
    ledger.close()
    assert forget_all(tmp_path / "veil")
    assert not list((tmp_path / "veil").iterdir())
    assert not forget_all(tmp_path / "veil")


def test_small_amounts_are_told(ledger: Ledger) -> None:
    with pytest.raises(
        BudgetError, match=r"would cost 0.25, but only 0.10 of the 0.10 for 24 hours are left"
    ):
        ledger.check(Price(0.25), Limits(0.1))


def test_what_other_settings_released_adds_up(ledger: Ledger) -> None:
    ledger.record(entry(ledger, "skin", 5, "cmp"), 0)
    ledger.record(replace(entry(ledger, "skin", 0, "tem"), cost=7.0), 0, Limits())
    assert ledger.earlier(ledger.key.query("skin"), "wbb") == 12
    assert ledger.earlier(ledger.key.query("skin"), "cmp") == 7
    ledger.note_plain("SKIN")
    assert ledger.earlier(ledger.key.query("skin"), "cmp") == math.inf


def test_a_fault_of_the_program_is_not_called_damage(ledger: Ledger) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        ledger.record(entry(ledger, "skin", math.nan), 0)
    assert ledger.releases(9) == ()


def test_a_ledger_in_use_is_not_forgotten(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="Stop 'veil serve'"):
        forget_all(tmp_path / "veil")
    ledger.record(entry(ledger, "skin"), 0)
    ledger.close()
    assert forget_all(tmp_path / "veil")


def test_choices_are_kept(ledger: Ledger) -> None:
    assert ledger.choice("setting") is None
    ledger.choose("setting", "a")
    ledger.choose("setting", "b")
    assert ledger.choice("setting") == "b"


_KILLED = """
import os, sys, itertools
from pathlib import Path
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
for number in itertools.count():
    words = ledger.key.words((f"word{number}", "skin"), "cmp")
    draws = {word: tuple("abcdefgh") for word in words}
    query = ledger.key.query(f"q {number}")
    entry = Entry(query, "cmp", tuple("abcdefgh"), draws, spent=8.0, words=2)
    ledger.record(entry, 0)
    print(number, flush=True)
"""


@pytest.mark.parametrize("told", [1, 7, 23])
def test_a_killed_process_leaves_the_ledger_whole(tmp_path: Path, told: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(tmp_path / "veil")],
        stdout=subprocess.PIPE,
        env=os.environ | {"VEIL_KEYRING": "off"},
    ) as process:
        assert process.stdout is not None
        for _ in range(told):
            process.stdout.readline()
        process.kill()
    with Ledger(tmp_path / "veil") as ledger:
        result = ledger.releases(10_000)
        assert len(result) >= told
        assert all(item.variants == tuple("abcdefgh") for item in result)
        assert ledger.budget().spent == 8.0 * len(result)
