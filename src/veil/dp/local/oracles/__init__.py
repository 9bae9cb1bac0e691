"""The table of oracles; each row is loaded on first use."""

from veil.core.registry import Registry
from veil.dp.local.oracle import Oracle as Oracle

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
"""Oracles for local reports, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def oracle(spec: str | Oracle) -> Oracle:
    """Return the oracle that a spec such as ``hcms(epsilon=4)`` names."""
    return spec if isinstance(spec, Oracle) else ORACLES.parse(spec)
