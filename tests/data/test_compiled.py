"""What numba keeps is loaded only from a folder that nobody else can write to."""

import os
import pickle
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from veil.data.files import is_own, make_own

_compiled = pytest.importorskip("veil.data.compiled", reason="numba is not installed")


def add(a: int, b: int) -> int:
    return a + b


class Trap:
    """A pickle that leaves a mark when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.fixture
def reached() -> Iterator[Path]:
    """A folder that others get to; pytest's own are closed further up."""
    with tempfile.TemporaryDirectory(prefix="veil-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VEIL_KERNELS", str(tmp_path / "kernels"))
    folder: Path = _compiled.kernels_folder()
    assert folder.is_relative_to(tmp_path)
    return folder


def compiled_add() -> int:
    return int(_compiled.compiled()(add)(2, 3))


def loads(folder: Path) -> bool:
    """Compile in a fresh dispatcher, and tell whether that took what is on disk."""
    made = _compiled.compiled()(add)
    assert made(2, 3) == 5
    hits: int = sum(made.stats.cache_hits.values())
    assert folder == Path(made.stats.cache_path)
    return hits == 1


def spring(folder: Path, tmp_path: Path) -> Path:
    """Put a trap into every file of the folder."""
    for file in folder.iterdir():
        file.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    return tmp_path / "sprung"


def test_compiled_once_for_the_owner_alone(kernels: Path) -> None:
    assert not loads(kernels)
    assert loads(kernels)
    for folder in (kernels, kernels.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.suffix for path in kernels.iterdir()} == {".nbi", ".nbc"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kernels.iterdir()} == {0o600}


def test_the_trap_would_work(kernels: Path, tmp_path: Path) -> None:
    """So that the tests below can fail."""
    compiled_add()
    mark = spring(kernels, tmp_path)
    assert compiled_add() == 5  # a file that cannot be used is done without
    assert mark.exists()


def open_to_writing(folder: Path) -> None:
    folder.chmod(0o777)


def open_to_reading(folder: Path) -> None:
    folder.chmod(0o755)


def open_file(folder: Path) -> None:
    next(folder.glob("*.nbi")).chmod(0o666)


def group_may_write_a_file(folder: Path) -> None:
    next(folder.glob("*.nbc")).chmod(0o660)


def linked(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


def linked_file(folder: Path) -> None:
    file = next(folder.glob("*.nbi"))
    elsewhere = folder.parent / file.name
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def parent_open(folder: Path) -> None:
    folder.parent.chmod(0o777)


def parent_open_to_the_group(folder: Path) -> None:
    folder.parent.chmod(0o775)


def further_up_open(folder: Path) -> None:
    folder.parent.parent.chmod(0o757)


def anothers_folder(folder: Path) -> None:
    _as_root(folder)


def anothers_file(folder: Path) -> None:
    _as_root(next(folder.glob("*.nbi")))


def anothers_parent(folder: Path) -> None:
    _as_root(folder.parent)


def _as_root(path: Path) -> None:
    try:
        os.chown(path, 12345, -1)
    except PermissionError:
        pytest.skip("only root can give files away")


def _led_to(folder: Path, way: Path) -> None:
    """Move the cache to another place, and lead to it by a link to a link in `way`."""
    cache = folder.parent.parent
    place = cache.with_name("place")
    cache.rename(place)
    way.mkdir()
    (way / "second").symlink_to(place)
    cache.symlink_to(way / "second")


def link_between_in_an_open_folder(folder: Path) -> None:
    way = folder.parent.parent.with_name("way")
    _led_to(folder, way)
    way.chmod(0o777)


def link_between_below_an_open_folder(folder: Path) -> None:
    way = folder.parent.parent.with_name("way")
    way.mkdir()
    _led_to(folder, way / "in")
    way.chmod(0o777)


def link_between_of_another(folder: Path) -> None:
    way = folder.parent.parent.with_name("way")
    _led_to(folder, way)
    way.chmod(0o1777)
    try:
        os.chown(way / "second", 12345, -1, follow_symlinks=False)
    except PermissionError:
        pytest.skip("only root can give files away")


FAULTS = [
    *(link_between_in_an_open_folder, link_between_below_an_open_folder, link_between_of_another),
    *(open_to_writing, open_to_reading, open_file, group_may_write_a_file, linked, linked_file),
    *(parent_open, parent_open_to_the_group, further_up_open),
    *(anothers_folder, anothers_file, anothers_parent),
]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
@pytest.mark.parametrize("fault", FAULTS)
def test_what_others_could_have_put_there_is_not_loaded(
    reached: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[[Path], None]
) -> None:
    monkeypatch.setenv("VEIL_KERNELS", str(reached / "cache" / "kernels"))
    kernels = _compiled.kernels_folder()
    compiled_add()
    mark = spring(kernels, reached)
    fault(kernels)
    assert not is_own(kernels)
    assert compiled_add() == 5
    assert not mark.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_a_closed_folder_above_shields_what_is_below(reached: Path) -> None:
    reached.chmod(0o700)
    folder = reached / "cache" / "kernels" / "one"
    assert make_own(folder)
    (reached / "cache").chmod(0o775)  # as with a umask of 002
    assert is_own(folder)
    reached.chmod(0o710)
    assert not is_own(folder)
    reached.chmod(0o700)
    (reached / "cache").chmod(0o777)
    assert not is_own(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_links_that_nobody_else_can_exchange_are_no_danger(reached: Path) -> None:
    kernels = reached / "cache" / "kernels" / "one"
    assert make_own(kernels)
    _led_to(kernels, reached / "way")
    assert is_own(kernels)
    (reached / "near").symlink_to("way/../way/second/../cache")  # `second` leads to `place`
    assert is_own(reached / "near" / "kernels" / "one")
    (reached / "round").symlink_to("round")
    assert not is_own(reached / "round" / "kernels")
    (reached / "way").chmod(0o777)
    assert not is_own(kernels)
    assert not is_own(reached / "near" / "kernels" / "one")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_sticky_folders_are_no_danger(reached: Path) -> None:
    folder = reached / "kernels" / "one"
    assert make_own(folder)
    reached.chmod(0o1777)
    assert is_own(folder)


def test_numba_is_not_asked_where_to_look(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setattr(config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator", raising=False)
    compiled_add()
    assert loads(kernels)
    assert not (tmp_path / "numba").exists()


def test_no_kernel_goes_round_it() -> None:
    """Numba's own cache is used nowhere."""
    source = Path(_compiled.__file__).parents[1]
    for file in source.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "cache=True" not in text
        assert "njit" not in text or file.name == "compiled.py"


def test_a_place_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("VEIL_KERNELS", str(tmp_path / "file"))
    assert compiled_add() == 5
    assert compiled_add() == 5
