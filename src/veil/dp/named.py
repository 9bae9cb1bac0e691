"""Mechanisms and oracles by their specs, where either may be named."""

from veil.core.registry import read_spec, unknown_name
from veil.dp.local.oracle import Oracle
from veil.dp.local.oracles import ORACLES
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import MECHANISMS


def named(spec: str | Mechanism | Oracle) -> Mechanism | Oracle:
    """Return the mechanism or the oracle that a spec names.

    >>> named("hcms(epsilon=4)").guarantee.kind, named("laplace(epsilon=1)").guarantee.kind
    ('local-dp', 'dp')
    """
    if isinstance(spec, Mechanism | Oracle):
        return spec
    name, _ = read_spec(spec)
    if name in MECHANISMS.builtin or (name not in ORACLES.builtin and name in MECHANISMS.names()):
        return MECHANISMS.parse(spec)  # names of plugins are read from files, where needed
    if name in ORACLES.builtin or name in ORACLES.names():
        return ORACLES.parse(spec)
    raise unknown_name("mechanism or oracle", name, [*MECHANISMS.names(), *ORACLES.names()])
