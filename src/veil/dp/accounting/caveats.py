"""What a bound on several releases does not cover, in plain words."""

from collections.abc import Iterable

from veil.core.guarantee import Guarantee
from veil.dp.accounting.bound import Bound
from veil.dp.mechanism import REPLACED
from veil.dp.mechanisms.discrete_gaussian import REPLACED as REPLACED_RHO

_GROUP = (
    "To replace a record is to remove one and to add one: epsilon is then twice as large, and"
    " delta 1 + e^epsilon times as large."
)


def without_replaced(caveat: str) -> str:
    """Leave out what a release says of replacing a record."""
    return caveat.replace(REPLACED, "").replace(REPLACED_RHO, "").strip()


def told(guarantees: Iterable[Guarantee], bound: Bound) -> str:
    """Join the caveats of the releases and of the bound; what replacing costs is told anew.

    A release says by what its own epsilon or rho grows then; together it is something else, unless
    all of it is pure, or zCDP.
    """
    sentences: dict[str, None] = {}
    replaced = False
    for one in guarantees:
        rest = without_replaced(one.caveat)
        replaced |= rest != one.caveat.strip()
        sentences |= {rest: None} if rest else {}
    sentences |= dict.fromkeys(bound.caveats)
    if replaced:
        pure = REPLACED if not bound.delta else _GROUP
        sentences[REPLACED_RHO if bound.rho < float("inf") else pure] = None
    counted = f"Counted by {bound.by}." if bound.by and bound.by != "the sum" else ""
    return " ".join([*sentences, *filter(None, [counted])])
