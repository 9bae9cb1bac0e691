"""Laws of losses, convolved by dp-accounting; the only place that knows it."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from veil.core.errors import MissingExtraError
from veil.dp.accounting.laws import Law

_ROUNDING = 1e-13  # of the transforms, in delta: ten times what was seen, and as much below
_EACH = 1e-15  # of every release beyond
_VISIBLE = 10  # times the rounding is a delta that can be told from it
_TAILS = 1e-15  # of losses that are taken for infinite, in each composition
_STEP = 1e-4  # of losses, or finer where they are small
_CELLS = 2**20  # of the lattice of losses, at most


def convolved(laws: Mapping[Law, int], delta: float) -> float:
    """Return the epsilon at a delta of all losses together, infinite where there is none.

    The transforms round up to 1e-16 of delta for every release, in either direction: a multiple
    of it is taken off, and a delta that is not far above it has no epsilon.
    """
    rounding = _ROUNDING + _EACH * sum(laws.values())
    if delta < _VISIBLE * rounding:
        return math.inf
    pld, common = _library()
    step = _step(laws)
    whole = None
    with np.errstate(over="ignore", under="ignore"):
        for law, times in sorted(laws.items(), key=repr):
            losses = _losses(pld, common, law, step)
            losses = losses.self_compose(times, _TAILS) if times > 1 else losses
            whole = losses if whole is None else whole.compose(losses, _TAILS)
        assert whole is not None  # noqa: S101 - there is a law
        return float(whole.get_epsilon_for_delta(delta - rounding))


def _library() -> tuple[Any, Any]:
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise MissingExtraError(
            "The accountant pld needs dp-accounting: pip install 'veil[accounting]'."
        ) from None
    return privacy_loss_distribution, common


def _losses(pld: Any, common: Any, law: Law, step: float) -> Any:  # noqa: ANN401 - it has no types
    """Return the distribution of the losses of one release, rounded to the safe side."""
    if law.form == "pair":
        pair = common.DifferentialPrivacyParameters(law.size, law.delta)
        return pld.from_privacy_parameters(pair, value_discretization_interval=step)
    options = {
        "value_discretization_interval": step,
        "sampling_prob": law.rate,
        "use_connect_dots": True,
    }
    if law.form == "laplace":
        return pld.from_laplace_mechanism(1 / law.size, **options)
    if law.form == "discrete laplace":
        return pld.from_discrete_laplace_mechanism(law.size / law.steps, law.steps, **options)
    if law.form == "gaussian":
        return pld.from_gaussian_mechanism(1 / law.size, **options)
    return pld.from_discrete_gaussian_mechanism(law.steps / law.size, law.steps, **options)


def _step(laws: Mapping[Law, int]) -> float:
    """Return a step that is small beside every loss, and leaves the lattice at a size."""
    spreads = {law: _spread(law) for law in laws}
    squares = math.fsum(times * spreads[law] ** 2 for law, times in laws.items())
    most = math.fsum(times * _range(law) for law, times in laws.items())
    reach = min(most, squares / 2 + 10 * math.sqrt(squares))
    fine = min([_STEP, *(spread / 20 for spread in spreads.values() if spread)])
    return max(fine, reach / _CELLS, max(map(_range, laws)) / _CELLS)


def _spread(law: Law) -> float:
    """Return about the standard deviation of the losses of one release."""
    if "gaussian" in law.form:
        far = law.rate * math.sqrt(math.expm1(min(law.size**2, 50.0)))
        return min(law.size, far)
    return _range(law)


def _range(law: Law) -> float:
    """Return about the largest loss of one release."""
    if "gaussian" in law.form:
        return law.size**2 / 2 + 10 * law.size
    return math.log1p(law.rate * math.expm1(min(law.size, 700.0)))
