"""What an attack on a table, or on a table of cells, achieves."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from veil.core.types import Floats


@dataclass(frozen=True, eq=False)
class Attack:
    """The risk that an attacker is right, and for whom.

    Attributes
    ----------
    risk
        Between 0 and 1.
    per_record
        The risk of each record (n,), or of each sensitive cell; never written to a file.
    baseline
        What who sees nothing achieves, where that is known.
    control
        What the same attack achieves on records that were not in the data, where there are any.
    low, high
        An interval of 95 % of `risk`; both are `risk` where nothing is drawn.
    details
        What else was found, by name.
    """

    risk: float
    per_record: Floats
    baseline: float | None = None
    control: float | None = None
    low: float = 0.0
    high: float = 1.0
    details: Mapping[str, object] = field(default_factory=dict)
