"""Files and folders appear whole or not at all."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from veil.core.errors import InputError
from veil.data import files
from veil.data.files import digest, new_folder, whole_file, whole_folder


@pytest.fixture
def umask() -> Iterator[int]:
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


@pytest.fixture(params=["nameless", "named"], autouse=True)
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run every test as on a system that has files without a name, and as on one that has not."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    return str(request.param)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_file_appears_only_when_done(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with whole_file(target) as part:
        part.write_text("new")
        assert not target.exists()
        # the same disk, so that the last step cannot tear
        assert part.stat().st_dev == tmp_path.stat().st_dev
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
    with pytest.raises(InputError, match="is a folder. Choose a file"), whole_file(tmp_path):
        pass
    missing = tmp_path / "no" / "out.csv"
    with pytest.raises(InputError, match=r"Folder .* does not exist. Create it first"):
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


# ---- what a killed process leaves

KILLED = """
import os, sys
from pathlib import Path
if sys.argv[1] == "named":
    del os.O_TMPFILE
from veil.data.files import whole_file, whole_folder
from veil.data.releases import open_writer
kind, folder = sys.argv[2], Path(sys.argv[3])
if kind == "folder":
    with whole_folder(folder / "out", private=True) as part:
        (part / "text").write_text("xanthippe has flu")
        print("written", flush=True)
        sys.stdin.read()
with open_writer(folder / f"out{kind}", ["id", "text"], "text", private=True) as writer:
    for number in range(50):
        writer.write([[str(i), f"xanthippe has flu {number} {i}"] for i in range(1000)])
    print("written", flush=True)
    sys.stdin.read()
"""


def kill(system: str, kind: str, folder: Path) -> None:
    """Run the program above until it has written, then kill it as nothing can be caught."""
    scratch = folder / "tmp"
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, system, kind, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(os.environ, TMPDIR=str(scratch)),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.kill()
    assert names(scratch) == []
    scratch.rmdir()


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl", ".txt", ".parquet"])
def test_a_killed_process_leaves_no_text(tmp_path: Path, system: str, kind: str) -> None:
    kill(system, kind, tmp_path)
    if system == "named":  # until the next run
        assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]
        with whole_file(tmp_path / "other") as part:
            part.write_text("x")
        assert names(tmp_path) == ["other"]
    else:
        assert names(tmp_path) == []


def test_a_killed_process_leaves_a_folder_until_the_next_run(tmp_path: Path, system: str) -> None:
    kill(system, "folder", tmp_path)
    assert [mode(path) for path in tmp_path.iterdir()] == [0o700]
    with whole_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == ["out"]


def test_what_is_being_written_is_not_taken_for_stale(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "a") as first, whole_file(tmp_path / "b") as second:
        (first / "x").write_text("x")
        second.write_text("y")
        with whole_file(tmp_path / "c"), whole_folder(tmp_path / "d"):
            pass
        assert (first / "x").exists()
        assert second.read_text() == "y"
    assert sorted(names(tmp_path)) == ["a", "b", "c", "d"]


def test_what_others_wrote_is_left_alone(tmp_path: Path) -> None:
    kept = [".veil-x.part", ".out.csv.ab12cd34.part", ".veil-0123456789abcdef.part.bak"]
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".veil-0123456789abcdef.part").symlink_to(tmp_path / kept[0])
    with whole_file(tmp_path / "out") as part:
        part.write_text("x")
    assert sorted(names(tmp_path)) == sorted([*kept, ".veil-0123456789abcdef.part", "out"])


def test_a_name_as_long_as_the_system_allows(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 251 + ".csv")
    with whole_file(target) as part:
        part.write_text("x")
    assert target.read_text() == "x"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_folder_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    if not at_once:
        monkeypatch.setattr(files, "exchange", lambda *_: False)
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").touch()
    with pytest.raises(FileNotFoundError), new_folder(target) as part:
        (part / "none" / "new").touch()
    assert [path.name for path in target.iterdir()] == ["old"]
    with new_folder(target) as part:
        (part / "new").touch()
        assert (target / "old").exists()  # until the very end
    assert [path.name for path in target.iterdir()] == ["new"]
    assert target.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == [target]


def test_a_scratch_folder_is_ours_alone_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with files.scratch_folder() as folder:
        assert folder.parent == tmp_path
        assert mode(folder) == 0o700
        (folder / "x").write_text("x")
        with files.scratch_folder() as other:  # it is in use, and stays
            assert folder.exists()
            assert other != folder
    assert names(tmp_path) == []


def test_a_scratch_folder_of_a_killed_process_is_cleared_by_the_next(tmp_path: Path) -> None:
    script = (
        "import os, signal\nfrom veil.data.files import scratch_folder\n"
        "with scratch_folder() as folder:\n"
        "    (folder / 'x').write_text('original')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert len(names(tmp_path)) == 1
    again = script.replace("    os.kill(os.getpid(), signal.SIGKILL)\n", "")
    subprocess.run([sys.executable, "-c", again], env=environment, check=True)
    assert names(tmp_path) == []


def test_a_file_that_is_there_stays_when_another_is_settled_first(tmp_path: Path) -> None:
    target = tmp_path / "ledger"
    for text in ("first", "second"):
        handle, part = files.open_part(tmp_path)
        part.write_text(text)
        files.settle_first(handle, part, target)
        files.discard(handle, part)
    assert target.read_text() == "first"
    assert names(tmp_path) == ["ledger"]
