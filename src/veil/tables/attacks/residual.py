"""What an attack tells of those in the data beyond what it tells of everybody."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from veil.core.errors import InputError, ParameterError

Trials = tuple[int, int]  # how many attacks, and how many of them hit


@dataclass(frozen=True)
class Residual:
    """The risk that the release adds.

    Attributes
    ----------
    risk
        (main - control) / (1 - control), in [0, 1].
    low, high
        Its interval.
    succeeded
        Whether the attack is better than chance; if not, it is too weak, and nothing is claimed.
    main_rate, baseline_rate, control_rate
        Share of hits on the data, by chance, and on who was never in the data (Wilson centres).
    main_error, baseline_error, control_error
        Half the width of their intervals.
    """

    risk: float
    low: float
    high: float
    succeeded: bool
    main_rate: float
    main_error: float
    baseline_rate: float
    baseline_error: float
    control_rate: float
    control_error: float


def residual(
    main: Trials, baseline: Trials, control: Trials | None = None, confidence: float = 0.95
) -> Residual:
    r"""Take what an attack achieves on strangers off what it achieves on those in the data.

    .. math:: R = \frac{r - r_c}{1 - r_c}, \qquad
       \delta_R^2 = \frac{\delta^2}{(1 - r_c)^2} + \frac{(1 - r)^2 \delta_c^2}{(1 - r_c)^4}

    where r and its error are centre and half width of Wilson's interval. Each argument is how many
    attacks there were and how many of them hit; without a control nothing is taken off.

    References
    ----------
    Giomi, Boenisch, Wehmeyer, Tasnádi. A unified framework for quantifying privacy risk in
    synthetic data. PoPETs 2023(2), section 4. doi:10.56553/popets-2023-0055

    Examples
    --------
    >>> found = residual(main=(100, 30), baseline=(100, 5), control=(100, 10))
    >>> round(found.risk, 4), round(found.low, 4), round(found.high, 4), found.succeeded
    (0.2176, 0.1046, 0.3305, True)
    """
    if not 0 < confidence < 1:
        raise ParameterError(f"The confidence must be between 0 and 1. Got {confidence} instead.")
    rate, error = _wilson(main, confidence, "main")
    base, base_error = _wilson(baseline, confidence, "baseline")
    other, other_error = (0.0, 0.0) if control is None else _wilson(control, confidence, "control")
    risk = (rate - other) / (1 - other)
    spread = math.hypot(error / (1 - other), (rate - 1) * other_error / (1 - other) ** 2)
    return Residual(
        _unit(risk),
        _unit(risk - spread),
        _unit(risk + spread),
        rate > base,
        rate,
        error,
        base,
        base_error,
        other,
        other_error,
    )


def _wilson(trials: Trials, confidence: float, what: str) -> tuple[float, float]:
    """Return centre and half width of Wilson's interval of a share."""
    n, hits = trials
    if n < 1 or not 0 <= hits <= n:
        raise InputError(
            f"The {what} attacks must be (how many, hits), with at least one attack and no more"
            f" hits than attacks. Got ({n}, {hits}) instead."
        )
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    centre = (hits + z2 / 2) / (n + z2)
    half = math.sqrt(z2) / (n + z2) * math.sqrt(hits * (n - hits) / n + z2 / 4)
    return centre, half


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
