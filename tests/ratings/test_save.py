"""Released ratings as files: whole or not at all, with a card, and with nobody in them."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.ratings.people import PERSON, town

from veil.cli import veil
from veil.core.errors import InputError, VeilError
from veil.ratings import load, of_arrays, protect
from veil.ratings.release import card_of, read_card, read_release, save


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the ratings of a town."""
    data = town()
    rows = zip(data.user.tolist(), data.item.tolist(), data.value.tolist(), strict=True)
    lines = [f"{data.users[u]},{data.items[i]},{int(v)}" for u, i, v in rows]
    (tmp_path / "train.csv").write_text("\n".join(["user,item,rating", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    actual = CliRunner().invoke(veil, ["ratings", "protect", *arguments], catch_exceptions=False)
    assert actual.exit_code == 0, actual.output
    assert PERSON not in actual.output
    return actual.output


def refused(*arguments: str) -> str:
    actual = CliRunner().invoke(veil, ["ratings", "protect", *arguments])
    assert isinstance(actual.exception, VeilError), actual.output
    assert PERSON not in str(actual.exception)
    return str(actual.exception)


def test_a_release_is_read_back_as_it_was(tmp_path: Path) -> None:
    data = town()
    timed = replace(data, time=np.arange(len(data)) / 2)
    for spec in ("pseudonyms()", "kprofiles(k=3)"):
        release = protect(timed, spec, rng=1)
        assert release.data is not None
        save(release, tmp_path / "out.csv")
        actual = read_release(tmp_path / "out.csv")
        assert actual.data is not None
        assert actual.data.users == release.data.users
        assert np.array_equal(actual.data.value, release.data.value)
        assert (actual.data.time is None) == (release.data.time is None)
        assert actual.data.scale == (1.0, 5.0)
        assert actual.mechanism == release.mechanism
        assert (actual.seeded, actual.rows, actual.cost.kind) == (True, None, "none")


def test_files_hold_nobody_and_belong_to_their_owner(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    save(protect(town(), "krr(epsilon=1)"), out)
    for path in (out, card_of(out)):
        assert PERSON not in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    card = json.loads(card_of(out).read_text())
    assert card["kind"] == "local-dp"
    assert card["mechanism"] == "krr(epsilon=1.0, step=None)"
    assert "does not hide which items are rated" in card["caveat"]
    assert card["seeded"] is False
    assert "rows" not in card


def test_nothing_is_left_where_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> object:
        raise OSError("the disk is full")

    monkeypatch.setattr("veil.ratings.release._rows", broken)
    with pytest.raises(OSError, match="full"):
        save(protect(town(), "pseudonyms()"), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    assert [path.name for path in tmp_path.glob("*.csv")] == []


def test_what_cannot_be_written_or_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv"):
        save(protect(town(), "pseudonyms()"), tmp_path / "out.txt")
    with pytest.raises(InputError, match="model"):
        save(protect(town(), "dppopularity(epsilon=1)"), tmp_path / "out.csv")
    card_of(tmp_path / "out.csv").write_text("{}")
    with pytest.raises(InputError, match="not a release card"):
        read_card(tmp_path / "out.csv")


def test_the_command_writes_a_release_and_says_what_it_is(folder: Path) -> None:
    text = run("train.csv", "-m", "kprofiles(k=3)", "-o", "out.csv")
    assert "k-anonymity: k = 3, per user" in text
    assert "not differentially private" in text
    assert "not private" not in text
    assert PERSON not in (folder / "out.csv").read_text()
    text = run(
        "train.csv", "-m", "krr(epsilon=1)", "-o", "out.csv", "--scale", "1", "5", "--seed", "3"
    )
    assert "local-dp: epsilon 1, per rating" in text
    assert "used a seed" in text
    assert read_card(folder / "out.csv").seeded


def test_the_command_refuses_before_it_writes(folder: Path) -> None:
    before = (folder / "train.csv").read_bytes()
    assert "overwrite the input" in refused("train.csv", "-m", "pseudonyms()", "-o", "train.csv")
    (folder / "link.csv").symlink_to("train.csv")
    assert "overwrite the input" in refused("train.csv", "-m", "pseudonyms()", "-o", "link.csv")
    card = ("out.csv.veil.json", "-m", "pseudonyms()", "-o", "out.csv")
    assert "replace the input" in refused(*card)
    assert "declared scale" in refused("train.csv", "-m", "krr(epsilon=1)", "-o", "out.csv")
    assert "releases a model" in refused("train.csv", "-m", "dpals(epsilon=1)", "-o", "out.csv")
    assert "krr" in refused("train.csv", "-m", "kr(epsilon=1)", "-o", "out.csv")
    assert (folder / "train.csv").read_bytes() == before
    assert not (folder / "out.csv").exists()


def test_a_catalogue_says_which_items_there_are(folder: Path) -> None:
    (folder / "items.csv").write_text(
        "item,title\n" + "".join(f"item-{entry:03},t\n" for entry in range(20))
    )
    data = load("train.csv", scale=(1, 5), catalogue="items.csv")
    assert (data.m, data.public) == (20, True)
    assert load("train.csv", catalogue=[f"item-{entry:03}" for entry in range(13)]).m == 13
    assert [load("train.csv", catalogue=entry).public for entry in (None, True, False)] == [
        None,
        True,
        False,
    ]
    with pytest.raises(InputError, match="lacks 11 rated items"):
        load("train.csv", catalogue=["item-000"])
    text = run("train.csv", "-m", "bits(epsilon=20)", "-o", "out.csv", "--scale", "1", "5",
               "--catalogue", "items.csv")  # fmt: skip
    assert "20 bits cost epsilon 400" in text
    assert "not declared whether" not in text


def test_a_zero_is_a_rating(tmp_path: Path) -> None:
    data = of_arrays(["a", "b"], ["x"], np.array([0, 1]), np.array([0, 0]), np.array([0.0, 2.5]),
                     scale=(0, 3))  # fmt: skip
    save(protect(data, "pseudonyms()"), tmp_path / "out.csv")
    values = [line.split(",")[2] for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert sorted(values) == ["0", "2.5", "rating"]
