"""Tables of records and of counts: masked, made k-anonymous, attacked, and compared.

>>> from veil import tables
>>> t = tables.load({"age": [31, 34, 52], "illness": ["flu", "flu", "gout"]}, qi=["age"])
>>> t["age"].tolist(), t.qi
([31.0, 34.0, 52.0], ('age',))
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from veil.tables.attack import Attack as Attack
    from veil.tables.attack import attack as attack
    from veil.tables.attacks import ATTACKS as ATTACKS
    from veil.tables.attacks.anonymeter import residual as residual
    from veil.tables.blocks import Blocks as Blocks
    from veil.tables.blocks import protect_blocks as protect_blocks
    from veil.tables.cells.audit import audit as audit
    from veil.tables.cells.cells import Cells as Cells
    from veil.tables.cells.cells import tabulate as tabulate
    from veil.tables.cells.release import CELL_MECHANISMS as CELL_MECHANISMS
    from veil.tables.describe import describe as describe
    from veil.tables.hierarchy import dates as dates
    from veil.tables.hierarchy import intervals as intervals
    from veil.tables.hierarchy import prefix as prefix
    from veil.tables.measures.anonymity import anonymity as anonymity
    from veil.tables.measures.loss import loss as loss
    from veil.tables.measures.loss import quality as quality
    from veil.tables.measures.utility import utility as utility
    from veil.tables.mechanism import Mechanism as Mechanism
    from veil.tables.mechanism import Release as Release
    from veil.tables.mechanism import invert as invert
    from veil.tables.mechanism import protect as protect
    from veil.tables.mechanisms import MECHANISMS as MECHANISMS
    from veil.tables.mechanisms import mechanism as mechanism
    from veil.tables.plane import plane as plane
    from veil.tables.schema import Source as Source
    from veil.tables.schema import load as load
    from veil.tables.table import Table as Table

    # `veil.dpia` is above the domains, so it is imported by name.
    def dpia(study: str | Path | Mapping[str, Any], path: str | Path) -> object:
        """Write the impact assessment of a study to `path`, and return it."""
        ...


_PLACES = {
    "veil.dpia.write": "dpia",
    "veil.tables.attack": "Attack attack",
    "veil.tables.attacks": "ATTACKS",
    "veil.tables.attacks.anonymeter": "residual",
    "veil.tables.blocks": "protect_blocks Blocks",
    "veil.tables.hierarchy": "dates intervals prefix",
    "veil.tables.cells.audit": "audit",
    "veil.tables.cells.cells": "Cells tabulate",
    "veil.tables.cells.release": "CELL_MECHANISMS",
    "veil.tables.describe": "describe",
    "veil.tables.mechanism": "invert protect Mechanism Release",
    "veil.tables.schema": "load Source",
    "veil.tables.measures.anonymity": "anonymity",
    "veil.tables.measures.loss": "loss quality",
    "veil.tables.measures.utility": "utility",
    "veil.tables.mechanisms": "MECHANISMS mechanism",
    "veil.tables.plane": "plane",
    "veil.tables.table": "Table",
}

_FORMER = {
    "CELL_METHODS": "CELL_MECHANISMS",
    "METHODS": "MECHANISMS",
    "Method": "Mechanism",
    "method": "mechanism",
}

facade(__name__, _PLACES, former=_FORMER)
