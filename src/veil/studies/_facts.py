"""What must be known to repeat a study, and what must be known to read it."""

import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from veil.attacks import ATTACKS
from veil.core.parallel import cores
from veil.studies.bench import Bench
from veil.studies.cells import Cell

_PACKAGES = ("numpy", "bm25s", "onnxruntime", "ir_measures")


def facts(material: Bench, spent: float, seconds: float | None) -> tuple[tuple[str, str], ...]:
    """Return pairs of a name and a value."""
    from veil.core.version import __version__

    study = material.study
    found = [
        ("command", _command()),
        ("veil", __version__),
        ("python", platform.python_version()),
        *((name, _version(name)) for name in _PACKAGES),
        ("seed", str(study.seed)),
        (
            "collection",
            f"{material.collection.name}, {len(material.collection.documents):,} documents",
        ),
        ("queries", f"{len(material.names):,}"),
        ("vectors", f"{study.vectors if '/' not in study.vectors else Path(study.vectors).name}"),
        ("engines", ", ".join(study.engine)),
        ("encoder", study.encoder),
        ("results per variant", str(study.k)),
        ("cores", str(cores())),
        ("time of all steps", f"{spent:,.0f} s"),
    ]
    if _uses_log(material):
        found.insert(9, ("log", f"{len(material.log):,} distinct queries"))
    if seconds is not None:
        found.append(("time of this run", f"{seconds:,.0f} s"))
    return tuple((name, value) for name, value in found if value)


def notes(material: Bench, cells: Sequence[Cell], missing: int) -> tuple[str, ...]:
    """Return sentences that a reader of the figures must know."""
    told = ["The releases are seeded, so that they can be repeated: they are not private."]
    if missing:
        told.append(f"{missing:,} steps are not computed yet: their figures are not here.")
    if material.missing if _uses_log(material) else 0:
        lacking = f"{material.missing} of the queries were not in the log"
        told.append(
            f"{lacking} and were added to it."
            if material.study.add_queries_to_log
            else f"{lacking}: an attacker cannot find them, and the risk is a lower bound."
        )
    if any(cell.parameter == "" for cell in cells):
        told.append("A mechanism without a swept parameter is a single point of the plane.")
    return tuple(told)


def _uses_log(material: Bench) -> bool:
    return any("log" in ATTACKS.parse(each).needs for each in material.study.all_attackers)


def _command() -> str:
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv[0] else ""


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
