"""What is put into a store is there for good; what cannot be used is refused in one sentence."""

import multiprocessing
import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest

from veil.core.errors import InputError
from veil.studies.store import FILE, Result, Store


def _result(number: int = 0) -> Result:
    return Result({"a": np.arange(3.0) + number}, {"variants": [["ä", "\ud800"]]}, 1.5)


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    with Store(tmp_path / "new" / "folder") as store:
        store.put("key", "attack", "cmp", _result())
    with Store(tmp_path / "new" / "folder") as store:
        found = store.get("key")
        assert store.keys() == {"key"}
        assert store.get("other") is None
    assert found is not None
    assert found.arrays["a"].tolist() == [0, 1, 2]
    assert found.data == {"variants": [["ä", "\ud800"]]}
    assert found.seconds == 1.5


def test_a_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "out") as store:
        store.put("key", "attack", "cmp", _result())
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "out" / FILE).stat().st_mode) == 0o600
    assert [file.name for file in (tmp_path / "out").iterdir()] == [FILE]


def test_texts_with_quotes_are_data(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.put("'; DROP TABLE steps; --", "attack", "it's", _result())
        assert store.keys() == {"'; DROP TABLE steps; --"}


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.put("key", "attack", "cmp", _result())
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE meta SET value = '2' WHERE name = 'format'")
        db.execute("UPDATE meta SET value = 'veil 9.0' WHERE name = 'written by'")
    db.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(InputError, match=r"written by a newer version \(veil 9.0\)"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"SQLite format 3\0" + b"\xff" * 5000, b"not a database" * 99]
)
def test_a_damaged_store_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged or is not the store of a study. Move it"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_another_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("CREATE TABLE steps (x)")
    db.close()
    with pytest.raises(InputError), Store(tmp_path) as store:
        store.put("key", "attack", "cmp", _result())


def test_a_folder_in_place_of_the_store(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(InputError, match=r"study.sqlite \(Is a directory\)"):
        Store(tmp_path)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.put("first", "attack", "cmp", _result())
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages + 2}")
        large = Result({"a": np.zeros(10_000)})
        with pytest.raises(InputError, match=r"disk is full\). Its contents are kept. Free some"):
            store.put("second", "attack", "cmp", large)
        assert store.keys() == {"first"}
        store.put("third", "attack", "cmp", _result())  # a small one still fits
    with Store(tmp_path) as store:
        assert store.keys() == {"first", "third"}
        store.put("second", "attack", "cmp", large)


def test_a_torn_result_counts_as_missing(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.put("key", "attack", "cmp", _result())
        store._db.execute("UPDATE steps SET arrays = substr(arrays, 1, 20)")
        assert store.get("key") is None
        store.put("key", "attack", "cmp", _result())
        assert store.get("key") is not None


def test_no_object_is_unpickled(tmp_path: Path) -> None:
    with Store(tmp_path) as store, pytest.raises(ValueError, match="pickle"):
        store.put("key", "attack", "cmp", Result({"a": np.array([object()])}))


def _write(folder: Path, start: int) -> None:
    with Store(folder) as store:
        for number in range(start, start + 40):
            store.put(f"{number}", "attack", "cmp", _result(number))


def test_two_processes_may_write_at_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    both = [spawn.Process(target=_write, args=(tmp_path, start)) for start in (0, 20)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
        assert process.exitcode == 0
    with Store(tmp_path) as store:
        assert store.keys() == {str(number) for number in range(60)}
        found = store.get("33")
    assert found is not None
    assert found.arrays["a"].tolist() == [33, 34, 35]
