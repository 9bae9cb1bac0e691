"""Specs as a person reads them."""

from functools import lru_cache

from veil.core.errors import VeilError
from veil.text.mechanisms.find import mechanism


@lru_cache(1_000)  # a mechanism is looked for among all packages that are installed
def brief(spec: str) -> str:
    """Write the spec of a mechanism without the parameters that have their default.

    >>> brief("tem(epsilon=2.0, beta=0.001, metric='euclidean') in glove-100d"), brief("gone(x=1)")
    ('tem(epsilon=2.0) in glove-100d', 'gone(x=1)')
    """
    head, vectors, name = spec.partition(" in ")
    try:
        return f"{mechanism(head).brief}{vectors}{name}"
    except VeilError:  # a plugin that is gone
        return spec
