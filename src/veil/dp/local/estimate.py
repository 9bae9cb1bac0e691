"""From reports to counts and means."""

from collections.abc import Iterable

from veil.core.errors import InputError
from veil.dp.local.aggregate import Aggregate, listed, readable
from veil.dp.local.counts import Candidate, Counts, Mean
from veil.dp.local.iterables import is_several
from veil.dp.local.oracle import Oracle
from veil.dp.local.oracles import oracle as named
from veil.dp.local.reports import Reports

Some = Reports | Iterable[Reports]
_NONE = "Estimates are made of Reports, or of an iterable of them."


@readable()
def aggregate(oracle: str | Oracle, candidates: Iterable[Candidate] | None = None) -> Aggregate:
    """Return what adds up reports of an oracle, in memory that does not grow with them.

    ``.add(reports)`` takes block after block, ``.estimate(candidates)`` may be asked at any time.
    Of olh the candidates must be named here.
    """
    chosen = named(oracle)
    if candidates is None or chosen.takes == "reals":
        return chosen.aggregate()
    return chosen.aggregate(chosen.check(listed(candidates)))


def estimate(reports: Some, candidates: Iterable[Candidate]) -> Counts:
    """Estimate how many reports are of each candidate: texts or codes, as the oracle takes them.

    Reports may come as an iterable of blocks, which are read once.
    """
    given = listed(candidates)
    return added(reports, given).estimate(given)


def estimate_mean(reports: Some) -> Mean:
    """Estimate the mean of what was reported (one_bit)."""
    return added(reports).mean()


def added(reports: Some, candidates: Iterable[Candidate] | None = None) -> Aggregate:
    """Add up reports, or blocks of reports."""
    if not (isinstance(reports, Reports) or is_several(reports)):
        raise InputError(_NONE)
    total: Aggregate | None = None
    for block in [reports] if isinstance(reports, Reports) else reports:
        if not isinstance(block, Reports):
            raise InputError(_NONE)
        if total is None:
            total = aggregate(block.oracle, candidates)
        total.add(block)
    if total is None:
        raise InputError("There must be at least one report; there is none.")
    return total
