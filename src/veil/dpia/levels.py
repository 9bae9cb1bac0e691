"""The four levels of severity and likelihood, and how a measured risk becomes a likelihood."""

from collections.abc import Sequence

THRESHOLDS = (0.01, 0.05, 0.2)
LEVELS = {1: "negligible", 2: "limited", 3: "significant", 4: "maximum"}


def likelihood(risk: float, thresholds: Sequence[float] = THRESHOLDS) -> int:
    """Return the level of a risk: one more for each threshold that it reaches.

    >>> [likelihood(risk) for risk in (0.0, 0.01, 0.05, 0.2, 1.0)]
    [1, 2, 3, 4, 4]
    """
    return 1 + sum(risk >= threshold for threshold in thresholds)


def level(number: int) -> str:
    """Write a level.

    >>> level(3)
    '3 of 4 (significant)'
    """
    return f"{number} of 4 ({LEVELS[number]})"


def scale(thresholds: Sequence[float]) -> str:
    """Say which risks have which likelihood.

    >>> scale(THRESHOLDS)
    'below 0.01: 1, below 0.05: 2, below 0.2: 3, otherwise 4'
    """
    told = [f"below {bound:g}: {number}" for number, bound in enumerate(thresholds, start=1)]
    return ", ".join([*told, f"otherwise {len(thresholds) + 1}"])
