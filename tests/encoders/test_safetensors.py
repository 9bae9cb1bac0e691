"""Weights are read from where the header says, and only if that is inside the file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.encoders import weights
from veil.encoders.minilm import quantise


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    arrays: dict[str, NDArray[Any]] = {
        "x": np.arange(6, dtype=np.float32).reshape(2, 3),
        "y": np.array([1, 2], dtype=np.float16),
        "z": np.array([[-3], [4]], dtype=np.int8),
    }
    weights.write_tensors(path, arrays)
    for name, array in arrays.items():
        found = weights.read_tensor(path, name)
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)
    assert path.read_bytes()[-24 - 4 - 2 :][:24] == arrays["x"].tobytes()  # in the order given
    with pytest.raises(InputError, match="no tensor called 'w'"):
        weights.read_tensor(path, "w")


def header(entry: object, data: int = 8) -> bytes:
    text = json.dumps({"x": entry}).encode()
    return len(text).to_bytes(8, "little") + text + bytes(data)


GOOD = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 8,
        (2**40).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (2).to_bytes(8, "little") + b"{!",
        header(GOOD, 7),
        header({**GOOD, "data_offsets": [-4, 4]}),
        header({**GOOD, "data_offsets": [8, 0]}),
        header({**GOOD, "data_offsets": [0]}),
        header({**GOOD, "shape": [3]}),
        header({**GOOD, "shape": [-1, -2]}),
        header({**GOOD, "dtype": "PICKLE"}),
        header(None),
    ],
)
def test_broken_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"^a\.safetensors is not a complete safetensors file"):
        weights.read_tensor(path, "x")


def test_int8_rounds_each_column_on_its_own_scale(tmp_path: Path) -> None:
    matrix = np.array([[0.5, -1.0, 0.26], [8, 4, -64], [0, 0, 0]], dtype=np.float32)
    table = np.ones((2, 2), dtype=np.float32)
    arrays = {"encoder.a.weight": matrix, "encoder.a.bias": matrix[0], "embeddings.b": table}
    weights.write_tensors(tmp_path / "in", arrays)
    quantise(tmp_path / "in", tmp_path / "out")
    with weights.open_tensors(tmp_path / "out") as file:
        assert set(file.keys()) == {"encoder.a.weight.int8", "encoder.a.weight.scale"}
    whole = weights.read_tensor(tmp_path / "out", "encoder.a.weight.int8")
    assert whole.tolist() == [[32, 8, 0], [-64, 4, 0], [17, -64, 0]]
    scale = weights.read_tensor(tmp_path / "out", "encoder.a.weight.scale")
    assert scale.tolist() == [1 / 64, 1, 1]
