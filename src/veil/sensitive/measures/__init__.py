"""Measures of a list among sensitive documents by name."""

import difflib
from collections.abc import Callable
from importlib import import_module
from typing import cast

from veil.core.errors import ParameterError, UnknownNameError
from veil.core.types import Floats
from veil.sensitive.measures.judged import Judged, Prices

Measure = Callable[[Judged, Prices], Floats]

MEASURES: dict[str, str] = {
    "CS-DCG": "veil.sensitive.measures.cs_dcg:cs_dcg",
    "SENS": "veil.sensitive.measures.sens:sens",
    "TERN": "veil.sensitive.measures.tern:tern",
    "nCS-DCG": "veil.sensitive.measures.ncs_dcg:ncs_dcg",
    "nDCG-visible": "veil.sensitive.measures.visible:visible",
}
DEPTH = 10  # of a measure that names none


def measure(name: str) -> tuple[str, Measure, int]:
    """Return name, function and depth of a measure such as ``nCS-DCG@10``.

    >>> measure("TERN@5")[::2]
    ('TERN', 5)
    """
    if not isinstance(name, str):
        raise ParameterError("A measure is named by a text, for example nCS-DCG@10.")
    told, _, depth = name.partition("@")
    known = told.strip().replace("_", "-")
    if known not in MEASURES:
        raise _unknown(known)
    if depth and not (depth.isascii() and depth.isdigit() and int(depth) >= 1):
        raise ParameterError(f"The depth of {known} must be a whole number >= 1, as {known}@10.")
    module, _, attribute = MEASURES[known].partition(":")
    found = cast(Measure, getattr(import_module(module), attribute))
    return known, found, int(depth or DEPTH)


def _unknown(name: str) -> UnknownNameError:
    """Say that there is no such measure, and which is the nearest whatever the case."""
    lower = {one.lower(): one for one in MEASURES}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f" Did you mean '{lower[near[0]]}'?" if near else ""
    return UnknownNameError(
        f"No measure called '{name[:40]}'.{hint} Known: {', '.join(MEASURES)}."
    )
