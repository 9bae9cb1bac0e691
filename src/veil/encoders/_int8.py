"""Round the matrices of a BERT to whole numbers, one scale per column."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.encoders import _safetensors

# Seven bits: two products of 255 * 64 still fit in the 16 bits in which processors without
# dot-product instructions add them up; with eight, such processors would clip silently.
_LARGEST = 64


def quantise(weights: Path, target: Path) -> None:
    r"""Write the int8 form of every dense matrix of `weights`.

    A matrix W (out, in) becomes Q (in, out) and a scale s (out,), with

    .. math:: s_j = \max_i |W_{ji}| / 64, \quad Q_{ij} = \mathrm{round}(W_{ji} / s_j)

    All steps are exactly rounded, so that every machine writes the same bytes.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for name, place in _safetensors.tensors(weights).items():
        if len(place.shape) == 2 and name.startswith("encoder."):
            matrix = np.asarray(_safetensors.read(weights, name))
            scale = np.abs(matrix).max(axis=1) / np.float32(_LARGEST)
            scale[scale == 0] = 1
            arrays[f"{name}.int8"] = np.rint(matrix / scale[:, None]).astype(np.int8).T
            arrays[f"{name}.scale"] = scale
    _safetensors.write(target, arrays)
