"""Former results of attacks: names, parameters and attributes of the last release.

All attacks return `veil.core.outcome.Outcome` today. Remove this module in 0.4.
"""

from collections.abc import Callable, Mapping

import numpy as np

from veil.core import outcome as results
from veil.core.estimate import Estimate
from veil.core.former import warn_renamed
from veil.core.types import Floats, Ids

Result = results.Outcome

ATTRIBUTES: Mapping[str, tuple[str, Callable[[Result], object]]] = {
    "first": ("ranks", lambda result: result.ranks),
    "tied": ("ties", lambda result: result.ties),
    "among": ("candidates", lambda result: int(result.candidates[0])),
    "absent": ("details['absent']", lambda result: result.details["absent"]),
    "listed": ("details['listed']", lambda result: result.details["listed"]),
    "outcome": ("the Outcome itself", lambda result: lambda: result),
    "ranked": ("the Outcome itself", lambda result: lambda: result),
    "hits": ("per_record", lambda result: result.per_record),
    "exposed": ("details['exposed']", lambda result: result.details["exposed"]),
    "inferred": ("details['inferred']", lambda result: result.details["inferred"]),
    "false_alarms": ("details['false_alarms']", lambda result: result.details["false_alarms"]),
}
"""Former attribute -> what replaces it, and its value."""


class Found(results.Outcome):
    """Former result of an attack on places."""

    first: Ids
    tied: Ids
    among: int
    absent: int
    listed: float
    outcome: Callable[[], Result]

    def __init__(self, first: Ids, tied: Ids, among: int, absent: int = 0) -> None:
        warn_renamed("veil.places.Found", "veil.core.outcome.Outcome")
        n = len(first)
        super().__init__(
            first,
            np.full(n, among, dtype=np.int64),
            np.arange(n),
            "household",
            ties=tied,
            details={"absent": absent, "listed": 1 - absent / n},
        )


class Outcome(results.Outcome):
    """Former result of an attack on ratings."""

    hits: Floats
    ranked: Callable[[], Result]

    def __init__(
        self,
        hits: Floats,
        baseline: float,
        success: Estimate,
        ranks: Ids | None = None,
        ties: Ids | None = None,
        candidates: Ids | None = None,
        unit: str = "user",
        details: Mapping[str, float] | None = None,
        subjects: Ids | None = None,
        upper: float | None = None,
    ) -> None:
        warn_renamed("veil.ratings.Outcome", "veil.core.outcome.Outcome")
        none = np.zeros(0, dtype=np.int64)
        super().__init__(
            none if ranks is None else ranks,
            none if candidates is None else candidates,
            none if subjects is None else subjects,
            unit,
            ties=ties,
            per_record=hits,
            baseline=baseline,
            excess=True,
            mean=success,
            upper=upper,
            details=details or {},
        )


class Exposure(results.Outcome):
    """Former result of an attack on sensitive documents."""

    exposed: Estimate
    inferred: Estimate
    false_alarms: Estimate
    of: Callable[..., Result]

    def __init__(
        self, exposed: Estimate, inferred: Estimate, false_alarms: Estimate, risk: Estimate
    ) -> None:
        warn_renamed("veil.sensitive.Exposure", "veil.core.outcome.Outcome")
        details = {"exposed": exposed, "inferred": inferred, "false_alarms": false_alarms}
        super().__init__(per_record=np.zeros(0), estimate=risk, details=details)
