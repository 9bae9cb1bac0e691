"""In which order ids stand: as whole numbers if all are, else by code point."""

import re
from collections.abc import Iterable

_WHOLE = re.compile(r"-?[1-9][0-9]*|0")


def in_order(ids: Iterable[str]) -> list[str]:
    """Return each id once, sorted.

    >>> in_order(["10", "9", "9"]), in_order(["10", "9", "09"])
    (['9', '10'], ['09', '10', '9'])
    """
    distinct = set(ids)
    if all(_WHOLE.fullmatch(one) for one in distinct):
        return sorted(distinct, key=int)
    return sorted(distinct)
