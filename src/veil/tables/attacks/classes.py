"""How many rows are like each row, and what follows for its risk."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from veil.core.types import Floats
from veil.tables.attacks.attacker import Scene, Truth
from veil.tables.column import Column
from veil.tables.matching import Matching
from veil.tables.table import row_classes

Reading = Annotated[
    Literal["equal", "any"],
    Field(description="what a missing value matches: missing values, or any value"),
]
Threshold = Annotated[float, Field(ge=0, le=1, description="risk above which a row is at risk")]


def sizes(scene: Scene, missing: str, weights: Floats | None = None) -> Floats:
    """Return how many released rows (or how much weight) match each on the quasi-identifiers."""
    codes = [scene.released.column(name).codes for name in scene.qi]
    if missing == "any":
        return Matching(np.stack(codes, axis=1), weights).counts()
    classes = row_classes(codes, len(scene.released))
    return np.bincount(classes, weights).astype(np.float64)[classes]


def count_classes(scene: Scene) -> int:
    """Return the number of classes of the release."""
    columns: list[Column] = [scene.released.column(name) for name in scene.qi]
    return int(row_classes([one.codes for one in columns], len(scene.released)).max()) + 1


def risky(risks: Floats, truth: Truth, threshold: float, by: str) -> dict[str, object]:
    """Return the worst, the best and the share above a threshold, of risks of released rows."""
    spread = truth.spread(risks, by)
    return {
        "largest": float(risks.max(initial=0.0)),
        "lowest": float(risks.min(initial=1.0)),
        "at_risk": float((spread > threshold).mean()),
        "threshold": threshold,
        "released": float(risks.mean()),
    }
