"""Linear programs, solved by the HiGHS of SciPy."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats

if TYPE_CHECKING:
    from types import ModuleType

_OPTIMAL, _LIMIT, _INFEASIBLE, _FAILED = 0, 1, 2, 4
SLACK = 1e-6  # what a solver may be off, for numbers up to a million or so
SECONDS = 60.0  # after which an integer program takes the best that is known


def scipy_module(name: str) -> "ModuleType":
    """Import a part of SciPy, which is optional."""
    from importlib import import_module

    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        raise MissingExtraError(
            "Tables of cells need scipy: pip install 'veil[tables]'."
        ) from None


def minimise(
    cost: Floats,
    equations: Any,  # noqa: ANN401 - a sparse matrix of SciPy
    right: Floats | tuple[Floats, Floats],
    low: Floats,
    high: Floats,
    whole: "Floats | bool" = False,
    seconds: float | None = None,
) -> Floats | None:
    """Return the x of least cost with A x = right (or between two), low <= x <= high.

    `whole` says which of x are whole numbers, all, or none. None: there is no such x. After
    `seconds` the best that is known is returned, if there is any.
    """
    optimize = scipy_module("optimize")
    left, above = right if isinstance(right, tuple) else (right, right)
    if (low > high).any():
        return None
    for presolve in (True, False):  # without, where HiGHS stumbles over its own presolve
        result = optimize.milp(
            cost,
            constraints=optimize.LinearConstraint(equations, left, above),
            bounds=optimize.Bounds(low, high),
            integrality=np.broadcast_to(np.asarray(whole, dtype=np.int64), cost.shape),
            options={"presolve": presolve} | ({} if seconds is None else {"time_limit": seconds}),
        )
        if result.status != _FAILED:
            break
    if result.status == _OPTIMAL or (result.status == _LIMIT and result.x is not None):
        found: Floats = np.clip(result.x, low, high)
        return found
    if result.status == _INFEASIBLE:
        return None
    raise InputError(
        "The solver found no answer for this table; its numbers may be too large, or it has too"
        " many cells: roll it up, or count in larger units."
    )


def solve(
    cost: Floats,
    equations: Any,  # noqa: ANN401 - a sparse matrix of SciPy
    right: Floats,
    low: Floats,
    high: Floats,
    *,
    whole: bool,
) -> Floats | None:
    """Return the x of least cost; whole numbers are asked for only where none come by luck."""
    found = minimise(cost, equations, right, low, high)
    if not whole or found is None:
        return found
    if not is_whole(found):
        found = minimise(cost, equations, right, low, high, True, SECONDS)
    return None if found is None else np.rint(found)


def grain(values: Floats, *, whole: bool) -> float:
    """Return the unit in which sums are solved for: the largest is then about a million.

    It is a power of two, so that nothing is rounded. Counts are solved for as they are.
    """
    most = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return 1.0 if whole or most == 0 else 2.0 ** (math.floor(math.log2(most)) - 20)


def is_whole(values: Floats) -> bool:
    """Tell whether numbers are whole, but for what a solver is off."""
    return bool((np.abs(values - np.rint(values)) <= SLACK).all())
