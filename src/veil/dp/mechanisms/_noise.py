r"""Logarithms of two-sided geometric laws, :math:`P(z) \propto q^{|z|}` with q = e^-slope."""

import math

import numpy as np

from veil.core.types import Floats


def log_mass(z: Floats, slope: float) -> Floats:
    """Return log P[Z = z]."""
    found: Floats = math.log(math.tanh(slope / 2)) - slope * np.abs(z)  # (1 - q) / (1 + q)
    return found


def log_at_most(z: Floats, slope: float) -> Floats:
    """Return log P[Z <= z]; that of Z >= z is the same of -z."""
    whole = math.log1p(math.exp(-slope))
    upper = np.log1p(-np.exp(-slope * (np.maximum(z, 0.0) + 1) - whole))
    return np.where(z < 0, slope * np.minimum(z, 0.0) - whole, upper)
