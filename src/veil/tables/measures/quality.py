"""How much a release still tells: classes, levels and labels compared with the original."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError
from veil.tables.measures.labelled import lost
from veil.tables.measures.pair import Pair, require_tables
from veil.tables.release import Release
from veil.tables.table import Table, row_classes


@dataclass(frozen=True)
class Quality:
    """What is left to be told; None where a release has labels that are not generalisations.

    Attributes
    ----------
    discernibility
        The sum of squared class sizes, and n for each row that was removed: the higher, the less
        rows can be told apart. That is less utility; it is no measure of privacy.
    c_avg
        The mean class size over k.
    precision
        1 - mean of level/height over all cells; a suppressed one counts as its top.
    entropy_bits
        The bits that labels tell less than values did, summed over all cells.
    ncp
        The mean over cells of the share of the domain that a label covers; 1 if suppressed.
    """

    discernibility: int
    c_avg: float
    precision: float | None
    entropy_bits: float | None
    ncp: float | None


def quality(original: Table, release: Release | Table, k: int | None = None) -> Quality:
    """Measure how much a release tells of the quasi-identifiers of the original.

    Parameters
    ----------
    original, release
        A release, or a table whose row i is row i of the original.
    k
        What classes are compared with in `c_avg`; by default the k of the guarantee, else that of
        the smallest class.

    References
    ----------
    Bayardo, Agrawal. Data privacy through optimal k-anonymization. ICDE 2005 (discernibility).
    LeFevre, DeWitt, Ramakrishnan. Mondrian multidimensional k-anonymity. ICDE 2006 (c_avg).
    Sweeney. Achieving k-anonymity privacy protection using generalization and suppression. IJUFKS
    10(5), 2002 (precision). Gionis, Tassa. k-anonymization with minimal loss of information. IEEE
    TKDE 21(2), 2009 (entropy). Xu et al. Utility-based anonymization using local recoding. KDD
    2006 (ncp).
    """
    require_tables(original, release)
    names = original.require_qi()
    pair = Pair.of(original, release, names)
    table, rows = pair.released, pair.required_rows
    if not len(table):
        raise InputError("The release has no rows.")
    left = np.ones(len(original), dtype=np.bool_)
    left[rows] = False
    gone = np.flatnonzero(left)[: pair.removed]
    sizes = np.bincount(row_classes([table.column(name).codes for name in names], len(table)))
    if k is None:
        told = release.guarantee.k if isinstance(release, Release) else 1
        k = told if told > 1 else int(sizes.min())
    levels = {**(release.levels if isinstance(release, Release) else {}), **pair.levels}
    parts = [lost(pair, name, gone, levels.get(name)) for name in names]
    cells = (len(table) + len(gone)) * len(names)
    level, bits, width = (
        _sum([getattr(part, name) for part in parts]) for name in ("level", "bits", "width")
    )
    sure = len(original) == len(table) + len(gone)  # else which rows were suppressed is unknown
    return Quality(
        int(np.dot(sizes, sizes)) + len(gone) * len(original),
        len(table) / (len(sizes) * k),
        None if level is None else 1 - level / cells,
        bits if sure or not len(gone) else None,
        None if width is None else width / cells,
    )


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return float(sum(known)) if len(known) == len(parts) else None
