"""Files and folders appear whole or not at all."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from veil.core.errors import InputError
from veil.data.files import digest, whole_file, whole_folder


@pytest.fixture
def umask() -> Iterator[int]:
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_file_appears_only_when_done(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with whole_file(target) as part:
        part.write_text("new")
        assert not target.exists()
        assert part.parent == tmp_path  # the same disk, so that the last step cannot tear
    assert target.read_text() == "new"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_failed_file_leaves_nothing_and_keeps_the_old(
    tmp_path: Path, failure: type[BaseException]
) -> None:
    target = tmp_path / "out.csv"

    def fill() -> None:
        with whole_file(target) as part:
            part.write_text("half")
            raise failure

    with pytest.raises(failure):
        fill()
    assert names(tmp_path) == []
    target.write_text("old")
    with pytest.raises(failure):
        fill()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.csv"]


def test_success_replaces_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with whole_file(target) as part:
        part.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


def test_permissions_follow_the_umask(tmp_path: Path, umask: int) -> None:
    with whole_file(tmp_path / "open") as part:
        part.write_text("x")
    with whole_folder(tmp_path / "folder") as part:
        (part / "x").write_text("x")
    assert mode(tmp_path / "open") == 0o640
    assert mode(tmp_path / "folder") == 0o750
    assert os.umask(umask) == umask  # left as it was


def test_private_file_is_for_the_owner_alone(tmp_path: Path) -> None:
    target = tmp_path / "private"
    target.write_text("old")
    target.chmod(0o644)
    with whole_file(target, private=True) as part:
        assert mode(part) == 0o600
        part.write_text("x")
    assert mode(target) == 0o600


def test_target_must_be_a_file_in_a_folder_that_exists(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name a file"), whole_file(tmp_path):
        pass
    missing = tmp_path / "no" / "out.csv"
    with pytest.raises(InputError, match=r"There is no folder .*; make it first"):
        whole_file(missing).__enter__()
    assert names(tmp_path) == []


def test_folder_appears_only_when_done(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down"
    with whole_folder(target) as part:
        (part / "x").write_text("x")
        assert not target.exists()
    assert (target / "x").read_text() == "x"
    assert names(target.parent) == ["down"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_failed_folder_leaves_nothing(tmp_path: Path, failure: type[BaseException]) -> None:
    def fill() -> None:
        with whole_folder(tmp_path / "folder") as part:
            (part / "x").write_text("half")
            raise failure

    with pytest.raises(failure):
        fill()
    assert names(tmp_path) == []


def test_the_faster_process_wins(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    with whole_folder(target) as part:
        (part / "x").write_text("slow")
        target.mkdir()
        (target / "x").write_text("fast")
    assert (target / "x").read_text() == "fast"
    assert names(tmp_path) == ["folder"]


def test_folder_cannot_replace_a_file(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.write_text("mine")
    with pytest.raises(NotADirectoryError), whole_folder(target) as part:
        (part / "x").write_text("x")
    assert target.read_text() == "mine"
    assert names(tmp_path) == ["folder"]


def test_digest(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert digest(tmp_path / "x", "sha256") == hashlib.sha256(b"abc").hexdigest()
