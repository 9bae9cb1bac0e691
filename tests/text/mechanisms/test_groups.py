"""Groups of CusText: kept beside the vectors, and never trusted blindly."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space

import veil
from veil.core.types import Floats
from veil.text.mechanisms.words import custext as _groups
from veil.text.vectors import embeddings
from veil.text.vectors.embeddings import Embeddings, open_folder, write_table


@pytest.fixture
def stored(tmp_path: Path) -> Embeddings:
    make_space(60, 4).save(tmp_path / "v")
    return open_folder(tmp_path / "v")


def _law(space: Embeddings) -> Floats:
    return veil.law(veil.CusText(epsilon=2, k=7), space, list(space.words))


def test_groups_are_computed_once_for_a_space_on_disk(
    stored: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _law(stored)
    assert stored.path is not None
    monkeypatch.setattr(_groups, "partition", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(_law(open_folder(stored.path)), expected)


@pytest.mark.parametrize(
    "fault",
    [
        b"junk",
        b"",
        np.zeros((5, 7), dtype=np.int32),
        np.arange(60, dtype=np.int32)[:, None],
        np.arange(60, dtype=np.int32),
    ],
    ids=["junk", "empty", "zeros", "every word alone", "flat"],
)
def test_a_broken_file_of_groups_is_not_trusted(stored: Embeddings, fault: object) -> None:
    expected = _law(stored)
    assert stored.path is not None
    file = stored.path / "groups-euclidean-7.table"
    assert file.is_file()
    if isinstance(fault, bytes):
        file.write_bytes(fault)
    else:
        write_table(file, stored.content, np.asarray(fault))
    np.testing.assert_array_equal(_law(open_folder(stored.path)), expected)


def test_one_bit_of_the_groups_is_noticed(stored: Embeddings) -> None:
    expected = _law(stored)
    assert stored.path is not None
    file = stored.path / "groups-euclidean-7.table"
    data = bytearray(file.read_bytes())
    data[128:132], data[156:160] = data[156:160], data[128:132]  # still a partition: another one
    file.write_bytes(data)
    np.testing.assert_array_equal(_law(open_folder(stored.path)), expected)


def test_groups_of_other_vectors_are_not_taken(stored: Embeddings, tmp_path: Path) -> None:
    other = make_space(60, 4, seed=1)
    other.save(tmp_path / "other")
    expected = _law(other)
    _law(stored)
    assert stored.path is not None
    for name in ("vectors.npy", "meta.json"):
        shutil.copy(tmp_path / "other" / name, stored.path / name)
    np.testing.assert_array_equal(_law(open_folder(stored.path)), expected)


def test_a_folder_that_cannot_be_written_is_no_obstacle(
    stored: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(embeddings, "whole_file", full)
    assert _law(stored).sum() == pytest.approx(60)
