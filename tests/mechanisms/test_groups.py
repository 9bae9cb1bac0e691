"""Groups of CusText: kept beside the vectors, and never trusted blindly."""

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space

import veil
from veil.core.types import Floats
from veil.data import embeddings
from veil.data.embeddings import Embeddings, open_folder
from veil.mechanisms.words import _groups


@pytest.fixture
def stored(tmp_path: Path) -> Embeddings:
    make_space(60, 4).save(tmp_path / "v")
    return open_folder(tmp_path / "v")


def _law(space: Embeddings) -> Floats:
    return veil.law(veil.CusText(epsilon=2, k=7), space, list(space.words))


def test_groups_are_computed_once_for_a_space_on_disk(
    stored: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = _law(stored)
    assert stored.path is not None
    monkeypatch.setattr(_groups, "partition", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(_law(open_folder(stored.path)), wanted)


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
    wanted = _law(stored)
    assert stored.path is not None
    file = stored.path / "groups-euclidean-7.npy"
    assert file.is_file()
    if isinstance(fault, bytes):
        file.write_bytes(fault)
    else:
        np.save(file, fault)  # type: ignore[arg-type]
    np.testing.assert_array_equal(_law(open_folder(stored.path)), wanted)


def test_a_folder_that_cannot_be_written_is_no_obstacle(
    stored: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(embeddings, "whole_file", full)
    assert _law(stored).sum() == pytest.approx(60)
