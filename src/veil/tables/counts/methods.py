"""Methods for tables of cells, by name."""

import re

from veil.core.registry import Registry
from veil.tables.counts.method import CellMethod

CELL_METHODS: Registry[CellMethod] = Registry(
    noun="method for cells",
    group="veil.mechanisms.cells",
    builtin={
        "cta": "veil.tables.counts.cta:CTA",
        "rollup": "veil.tables.counts.rollup:Rollup",
        "round": "veil.tables.counts.rounding:Round",
        "sample": "veil.tables.counts.sample:Sample",
        "suppress": "veil.tables.counts.suppress:Suppress",
    },
)
"""Methods for tables of counts, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
_GROUPS = re.compile(r"\s*rollup\(\s*('[^']*'|\"[^\"]*\")\s*\)\s*")


def cell_method(spec: str | CellMethod) -> CellMethod:
    """Return a method from its spec, as ``suppress(threshold=5)`` or ``rollup('a,b=c')``."""
    if isinstance(spec, CellMethod):
        return spec
    named = _GROUPS.fullmatch(spec) if isinstance(spec, str) else None
    return CELL_METHODS.parse(spec if named is None else f"rollup(groups={named[1]})")
