"""What a release may be asked for; no message quotes a text."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from veil.core.errors import InputError, ParameterError

MAX_SIZE = 100_000  # variants of one text


def check_request(texts: object, size: object, max_chars: object) -> None:
    """Say what is wrong with the arguments that every mechanism shares."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence | np.ndarray):
        raise InputError(
            "The 'texts' argument must be a list of strings; put a single text into a list."
        )
    if not _whole(size) or not 1 <= cast(int, size) <= MAX_SIZE:
        raise ParameterError(
            f"The 'size' argument must be a whole number from 1 to {MAX_SIZE:,}. Got {size!r:.40}"
            " instead."
        )
    if not _whole(max_chars) or cast(int, max_chars) < 1:
        raise ParameterError("The 'max_chars' argument must be a whole number >= 1.")


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
