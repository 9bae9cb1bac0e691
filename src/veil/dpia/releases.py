"""Releases of a table that are made and attacked at once, as a study is."""

import tempfile
from dataclasses import replace
from pathlib import Path

from veil.core.errors import InputError
from veil.dpia.load import Asked
from veil.dpia.measured import Source, source_of
from veil.studies.domains import domain, make_study
from veil.studies.export import facts_of
from veil.studies.sweep import sweep


def measure(asked: Asked) -> Source:
    """Make the releases, attack them, and return the figures; nothing else of them is kept."""
    grids = [one.model_dump(exclude_none=True) for one in asked.answers.release]
    others = asked.table.get("mechanism", [])
    keys = {**asked.table, "name": Path(str(asked.table["table"])).stem[:100] or "table"}
    keys |= {"domain": "tables", "mechanism": [*grids, *others]}
    keys.setdefault("attackers", ["linkage"])
    study = make_study(keys, asked.name, asked.folder)
    with tempfile.TemporaryDirectory(prefix="veil-dpia-") as scratch:
        found = sweep(study, Path(scratch), workers=0)
    planned = study.mechanism[: len(grids)]
    specs = {
        str(each) for grid in planned for each, _ in grid.mechanisms(domain("tables").mechanisms)
    }
    source = source_of(study.name, found.rows, facts_of(found), f"The table of {asked.name}")
    chosen = {(row.spec, row.size) for row in source.risks if row.spec in specs}
    missing = specs - {spec for spec, _ in chosen}
    if missing:
        raise InputError(
            f"No attacker of {asked.name} could be used against {len(missing)} of its releases, so"
            " that their risk is not known; name other attackers."
        )
    return replace(source, chosen=frozenset(chosen))
