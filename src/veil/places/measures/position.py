"""Whether the points are where they were, and as far apart, on the whole."""

import numpy as np

from veil.core.types import Floats
from veil.places.measures.frame import Frame, alike, standard_distance


def centre(original: Floats, released: Floats, frame: Frame) -> float:
    """Return 1 - min(1, distance of the two mean centres / standard distance)."""
    del original  # its centre is that of the frame
    away = float(np.linalg.norm(released.mean(axis=0) - frame.centre))
    return 1 - min(1.0, away / frame.spread)


def dispersion(original: Floats, released: Floats, frame: Frame) -> float:
    """Compare the standard distances, smaller by larger."""
    del original
    return alike(frame.spread, standard_distance(released))
