"""What a search uses unless the user says otherwise."""

from veil.data.fetch import Report, silent
from veil.search.locality import Place
from veil.text.mechanisms.mechanism import QueryMechanism, TextMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.text.mechanisms.queries.scramble import size_of

SIZE = 20  # variants of a mechanism that leaves their number to the user
_USUAL: dict[Place, str] = {
    "stand-in": "cover(table=icd10cm)",  # what the embedded catalogue holds
    "own": "cover(table=icd10cm)",
    "elsewhere": "cover(table=wordnet)",  # nothing is known of what it holds
}


def usual_mechanism(standing: Place) -> str:
    """Return the mechanism for an engine that stands there."""
    return _USUAL[standing]


def usual_size(mechanism: TextMechanism, size: int | None, report: Report = silent) -> int:
    """Return the number of variants: what was asked for, or what a mechanism has by itself."""
    if isinstance(mechanism, Cover):
        mechanism.open(report)  # it may be built now
    if isinstance(mechanism, QueryMechanism) and mechanism.whole:
        return size_of(mechanism, size)
    return SIZE if size is None else size
