"""TERN: one value of three for a list."""

import numpy as np

from veil.core.types import Floats
from veil.sensitive.measures.judged import Judged, Prices


def tern(judged: Judged, prices: Prices) -> Floats:
    """Return -M if any sensitive document is shown, else 1 if any relevant one is, else 0.

    References
    ----------
    Sayed, Oard. Jointly Modeling Relevance and Sensitivity for Search Among Sensitive Content.
    SIGIR 2019. doi:10.1145/3331184.3331256
    """
    relevant = (judged.grades > 0).any(axis=1)
    return np.where(judged.any_sensitive, -prices.penalty, relevant.astype(np.float64))


def tern_documents(judged: Judged, prices: Prices) -> Floats:
    """Return the same of each document shown (n, k): -M sensitive, else 1 relevant, else 0."""
    return np.where(judged.sensitive, -prices.penalty, (judged.grades > 0).astype(np.float64))
