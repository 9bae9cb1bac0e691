"""Reports in a file come back as they are, or not at all."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veil.core.component import example
from veil.core.errors import InputError
from veil.dp.local import files
from veil.dp.local.files import load_reports, oracle_of, read_blocks, report_to, save_reports
from veil.dp.local.oracles import ORACLES, oracle
from veil.dp.local.reports import Desk, Reports, report

Members = dict[str, bytes]


def values_of(name: str) -> list[Any]:
    kinds: dict[str, list[Any]] = {"texts": ["a", "b"], "codes": [0, 1], "reals": [0.0, 0.5]}
    return kinds[ORACLES.get(name).takes] * 20


@pytest.mark.parametrize("name", ORACLES.names())
def test_reports_come_back(name: str, tmp_path: Path) -> None:
    made = report(values_of(name), example(ORACLES.get(name)), users=["p", "q"] * 20, rng=1)
    save_reports(made, tmp_path / "r.npz")
    back = load_reports(tmp_path / "r.npz")
    assert (back.oracle, back.seeded, back.most) == (made.oracle, True, 20)
    assert back.cost == made.cost
    np.testing.assert_array_equal(back.data, made.data)
    assert back.data.dtype == made.data.dtype
    if made.index is not None:
        np.testing.assert_array_equal(np.asarray(back.index), made.index)
    with np.load(tmp_path / "r.npz", allow_pickle=False) as plain:
        np.testing.assert_array_equal(plain["data"], made.data)
    assert oracle_of(tmp_path / "r.npz") == made.oracle


def test_memoised_reports_come_back_as_such(tmp_path: Path) -> None:
    users = [1, 1, 2, 2, 2, 3]
    made = report([1, 2, 1, 1, 1, 1], "one_bit(epsilon=1, high=2)", users=users, key=bytes(32))
    save_reports(made, tmp_path / "r.npz")
    back = load_reports(tmp_path / "r.npz")
    assert (back.memoised, back.overlap, back.seeded) == (True, 14 / 6, False)
    assert back.cost == made.cost
    assert (back.values, back.cost.epsilon) == (2, 2)


def test_many_blocks_are_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BLOCK", 2_000)
    chosen = oracle("cms(epsilon=2, hashes=4, width=64)")
    monkeypatch.setattr(type(chosen), "rows", 30)
    texts, users = [f"w{i}" for i in range(500)], [i % 400 for i in range(500)]
    told = report_to(Desk(chosen, True, None, 1), iter(texts), iter(users), tmp_path / "r.npz")
    whole = report(texts, chosen, users=users, rng=1)
    assert told.cost == whole.cost
    assert told.cost.epsilon == 4
    blocks = list(read_blocks(tmp_path / "r.npz"))
    assert [block.n for block in blocks] == [150, 150, 150, 50]
    back = load_reports(tmp_path / "r.npz")
    np.testing.assert_array_equal(back.data, whole.data)
    np.testing.assert_array_equal(np.asarray(back.index), whole.index)
    assert back.cost == whole.cost


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    texts = ["a"] * 10 + [7]
    desk = Desk(oracle("hcms(epsilon=2)"), False, None, None)
    with pytest.raises(InputError):
        report_to(desk, texts, None, tmp_path / "r.npz")
    with pytest.raises(InputError, match="At least one value"):
        report_to(desk, [], None, tmp_path / "r.npz")
    assert list(tmp_path.iterdir()) == []


def test_two_files_of_the_same_seed_are_the_same(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        save_reports(report(["a"] * 9, "hcms(epsilon=2)", rng=1), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def array(values: object, dtype: str = "") -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array(values, dtype=dtype or None), allow_pickle=True)
    return stream.getvalue()


def about(members: Members, **changed: object) -> Members:
    facts = json.loads(np.load(io.BytesIO(members["about.npy"])).tobytes())
    facts |= changed
    text = json.dumps({key: value for key, value in facts.items() if value != "gone"}).encode()
    return members | {"about.npy": array(list(text), "u1")}


DAMAGE: dict[str, Callable[[Members], Members]] = {
    "no data": lambda m: {name: m[name] for name in m if name != "data.npy"},
    "no index": lambda m: {name: m[name] for name in m if name != "index.npy"},
    "no about": lambda m: {name: m[name] for name in m if name != "about.npy"},
    "more": lambda m: m | {"more.npy": m["data.npy"]},
    "a program": lambda m: m | {"x.py": b"import os"},
    "another type": lambda m: m | {"data.npy": array([1] * 40, "f8")},
    "objects": lambda m: m | {"data.npy": array([{"a": 1}] * 40, "O")},
    "too few": lambda m: m | {"data.npy": array([1] * 39, "i1")},
    "a bit of 2": lambda m: m | {"data.npy": array([2] * 40, "i1")},
    "a bit below 0": lambda m: m | {"data.npy": array([-1] * 40, "i1")},
    "a function too many": lambda m: m | {"index.npy": array([[64, 1]] * 40, "i4")},
    "a negative entry": lambda m: m | {"index.npy": array([[1, -1]] * 40, "i4")},
    "a flat index": lambda m: m | {"index.npy": array([1] * 40, "i4")},
    "cut": lambda m: m | {"data.npy": m["data.npy"][:-3]},
    "a long tail": lambda m: m | {"data.npy": m["data.npy"] + b"xxx"},
    "a false header": lambda m: m | {"data.npy": m["data.npy"].replace(b"(40,)", b"(9**9,)")},
    "another oracle": lambda m: about(m, oracle="cms"),
    "no oracle": lambda m: about(m, oracle="nothing"),
    "another width": lambda m: about(m, parameters={"epsilon": 2, "width": 3}),
    "no parameters": lambda m: about(m, parameters={}),
    "a list of parameters": lambda m: about(m, parameters=[1]),
    "another format": lambda m: about(m, format=3),
    "another n": lambda m: about(m, n=41),
    "more blocks": lambda m: about(m, blocks=2),
    "no blocks": lambda m: about(m, blocks=0),
    "blocks as text": lambda m: about(m, blocks="1"),
    "seeded is gone": lambda m: about(m, seeded="gone"),
    "seeded is a text": lambda m: about(m, seeded="false"),
    "memoised": lambda m: about(m, memoised=True, most=1),
    "no values": lambda m: about(m, values="gone"),
    "values are a text": lambda m: about(m, values="1"),
    "no person": lambda m: about(m, most=0),
    "overlap below 1": lambda m: about(m, overlap=0.5),
    "overlap is nothing": lambda m: about(m, overlap=float("nan")),
    "about is no JSON": lambda m: m | {"about.npy": array([65, 66], "u1")},
    "about is a list": lambda m: m | {"about.npy": array(list(b"[1]"), "u1")},
    "about is huge": lambda m: m | {"about.npy": array([32] * (2**20 + 1), "u1")},
}  # fmt: skip


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Members:
    path = tmp_path_factory.mktemp("reports") / "r.npz"
    save_reports(report(["xanthippe"] * 40, "hcms(epsilon=2)", rng=1), path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def put(path: Path, members: Members, kind: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, octets in members.items():
            archive.writestr(name, octets)
    return path


def test_what_is_not_damaged_is_read(members: Members, tmp_path: Path) -> None:
    assert isinstance(load_reports(put(tmp_path / "r.npz", members)), Reports)


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(
    damage: str, members: Members, tmp_path: Path, silent: Callable[[BaseException], None]
) -> None:
    path = put(tmp_path / "r.npz", DAMAGE[damage](members))
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of the family, and one sentence
        load_reports(path)
    assert type(caught.value).__module__ == "veil.core.errors"
    silent(caught.value)


def test_no_byte_can_be_changed_unseen(members: Members, tmp_path: Path) -> None:
    """Of every byte of the stored arrays; the names and dates around them carry no reports."""
    path = put(tmp_path / "r.npz", members)
    octets = path.read_bytes()
    start = octets.index(members["data.npy"][:50])
    for at in range(start, start + len(members["data.npy"]), 7):
        path.write_bytes(octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :])
        with pytest.raises(InputError):
            load_reports(path)


def test_packed_files_are_refused(members: Members, tmp_path: Path) -> None:
    """A small file must not take much memory."""
    with pytest.raises(InputError, match="damaged"):
        load_reports(put(tmp_path / "r.npz", members, zipfile.ZIP_DEFLATED))


@pytest.mark.parametrize("octets", [b"", b"PK\x03\x04", b"text", b"\x93NUMPY\x01\x00"])
def test_other_files_are_refused(octets: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.npz").write_bytes(octets)
    with pytest.raises(InputError, match="contains no reports"):
        load_reports(tmp_path / "r.npz")
    with pytest.raises(InputError, match="does not exist"):
        load_reports(tmp_path / "none.npz")


def test_bits_beyond_the_width_are_refused(tmp_path: Path) -> None:
    made = report([1] * 4, "oue(epsilon=1, size=5)", rng=1)
    with pytest.raises(InputError, match="beyond its width"):
        Reports(made.oracle, made.data | 1, None, seeded=True)
    made = report([1] * 4, "dbitflip(epsilon=1, size=5, d=2)", rng=1)
    with pytest.raises(InputError, match="twice"):
        Reports(made.oracle, made.data, np.zeros_like(made.index), seeded=True)
    made = report(["a"] * 4, "sfp(epsilon=1)", rng=1)
    index = np.array(made.index)
    index[0, 0] = 3
    with pytest.raises(InputError, match="odd"):
        Reports(made.oracle, made.data, index, seeded=True)
    with pytest.raises(InputError, match="not reports of sfp"):
        Reports(made.oracle, made.data, None, seeded=True)
