"""Ratings from files: the quick and the careful reader give the same, and what is refused."""

import gzip
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from veil import ratings
from veil.core.errors import InputError
from veil.ratings import reader
from veil.ratings.ratings import Ratings
from veil.ratings.release import write_ratings

LOAD = import_module("veil.ratings.reader")  # whose verb has the same name
ROWS = "user,item,rating\n10,b,5\n9,a,0\n10,a,2.5\n"


def same(one: Ratings, two: Ratings) -> bool:
    text = [(part.users, part.items, part.scale, part.declared) for part in (one, two)]
    arrays = ("user", "item", "value")
    return text[0] == text[1] and all(
        np.array_equal(getattr(one, name), getattr(two, name)) for name in arrays
    )


def written(folder: Path, text: str, name: str = "r.csv") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def read_both(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Ratings]:
    """Read with pyarrow, with the csv module, and row by row."""
    quick = ratings.load(path)
    with monkeypatch.context() as patched:
        patched.setattr(reader, "_by_arrow", lambda data, mark, header, at: reader._by_rows(
            data, mark, len(header), at))  # fmt: skip
        unprotected = ratings.load(path)
    with monkeypatch.context() as patched:
        patched.setattr(LOAD, "read_columns", lambda *given: None)
        return [quick, unprotected, ratings.load(path)]


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz"])
@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        ROWS.replace("\n", "\r\n"),
        ROWS.replace(",", ";"),
        ROWS.replace(",", "\t"),
        "\ufeff" + ROWS,
        ROWS + "\n\n",
        ROWS.replace("user,item,rating", "rating,USER,movieId").replace("10,b,5", "5,10,1"),
        ROWS.replace("b", '"b, c"'),
        ROWS.replace("10", " 10"),
        ROWS.replace("b", "é"),
    ],
)
def test_all_readers_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str
) -> None:
    quick, unprotected, slow = read_both(written(tmp_path, text, name), monkeypatch)
    assert same(quick, slow)
    assert same(unprotected, slow)


def test_zeros_are_ratings_and_ids_stand_in_order(tmp_path: Path) -> None:
    data = ratings.load(written(tmp_path, ROWS), scale=(0, 5))
    assert (data.users, data.items) == (("9", "10"), ("a", "b"))
    assert data.value.tolist() == [0.0, 2.5, 5.0]
    assert data.declared
    assert not ratings.load(written(tmp_path, ROWS)).declared


def test_times_are_read(tmp_path: Path) -> None:
    text = "user,item,rating,timestamp\n1,a,3,100\n2,a,4,50\n"
    data = ratings.load(written(tmp_path, text))
    assert data.time is not None
    assert data.time.tolist() == [100.0, 50.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("user,item,rating\n1,a,x\n", "Row 1 .* not a number"),
        ("user,item,rating\n1,a,\n", "Row 1 .* not a number"),
        ("user,item,rating\n1,a,3\n1,b,nan\n", "Row 2 .* finite"),
        ("user,item,rating\n1,a,inf\n", "Row 1 .* finite"),
        ("user,item,rating\n1,a,3\n1,a,4\n", "1 row too many"),
        ("user,item,rating\n,a,3\n", "without a user"),
        ("user,item,rating\n1,,3\n", "without a user or an item"),
        ("user,item,rating\n1,a\n", "columns"),
        ("user,item,rating\n", "no rating"),
        ("who,what,much\n1,a,3\n", "columns user, item and rating"),
    ],
)
def test_bad_rows_are_refused_by_number(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        ratings.load(written(tmp_path, text))


def test_what_is_outside_the_scale_is_refused_and_not_clipped(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Row 1 .* within the scale"):
        ratings.load(written(tmp_path, ROWS), scale=(0, 4))
    for scale in ((5, 1), (1,), "1-5", (1, float("inf")), ("1", "5"), (1, 10**400), (False, 5), 5):
        with pytest.raises(InputError, match="A scale must be a lowest"):
            ratings.load(written(tmp_path, ROWS), scale=scale)  # type: ignore[arg-type]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "who,what,much\n1,a,3\n")
    assert len(ratings.load(path, columns=["who", "what", "much"])) == 1
    with pytest.raises(InputError, match="three or four"):
        ratings.load(path, columns=["who", "what"])


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    data = ratings.load(written(tmp_path, ROWS), scale=(0, 5))
    write_ratings(data, tmp_path / "out.csv")
    assert same(ratings.load(tmp_path / "out.csv", scale=(0, 5)), data)
    assert (tmp_path / "out.csv").stat().st_mode & 0o077 == 0


def test_the_quick_reader_is_the_one_that_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LOAD, "_row_by_row", None)
    assert len(ratings.load(written(tmp_path, ROWS))) == 3
