"""The registry of local mechanisms; each is loaded on first use."""

from typing import Any, overload

from veil.core.registry import Registry, read_spec, unknown_name
from veil.dp.local.oracle import Oracle as Oracle
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import MECHANISMS

ORACLES: Registry[Oracle] = Registry(
    noun="oracle",
    group="veil.oracles.dp",
    former=("veil.dp.oracles",),
    builtin={
        "cms": "veil.dp.local.oracles.cms:CMS",
        "dbitflip": "veil.dp.local.oracles.dbitflip:DBitFlip",
        "grr": "veil.dp.local.oracles.grr:GRR",
        "hcms": "veil.dp.local.oracles.hcms:HCMS",
        "olh": "veil.dp.local.oracles.olh:OLH",
        "one_bit": "veil.dp.local.oracles.one_bit:OneBit",
        "oue": "veil.dp.local.oracles.oue:OUE",
        "rappor": "veil.dp.local.oracles.rappor:RAPPOR",
        "sfp": "veil.dp.local.oracles.sfp:SFP",
    },
)
"""Local mechanisms, including plugins: `names()`, `get(name)`, `parse(spec)`."""


def oracle(spec: str | Oracle) -> Oracle:
    """Return the local mechanism of a spec such as ``hcms(epsilon=4)``."""
    return spec if isinstance(spec, Oracle) else ORACLES.parse(spec)


@overload
def mechanism(spec: Mechanism) -> Mechanism: ...
@overload
def mechanism(spec: Oracle) -> Oracle: ...
@overload
def mechanism(spec: str) -> Any: ...  # noqa: ANN401 - the spec decides
def mechanism(spec: str | Mechanism | Oracle) -> Mechanism | Oracle:
    """Return the central or local mechanism that a spec names.

    >>> mechanism("geometric(epsilon=1)").name, mechanism("grr(epsilon=1, size=4)").name
    ('geometric', 'grr')
    """
    if not isinstance(spec, str):
        return spec
    name, _ = read_spec(spec)
    if name in MECHANISMS.names():
        return MECHANISMS.parse(spec)
    if name in ORACLES.names():
        return ORACLES.parse(spec)
    raise unknown_name("mechanism", name, (*MECHANISMS.names(), *ORACLES.names()))
