"""The faults of the source that tests must notice, as listed in `tests/mutants`."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def listed() -> list[dict[str, Any]]:
    """Read the mutants of all packages."""
    return [
        mutant
        for path in sorted((ROOT / "tests" / "mutants").glob("*.toml"))
        for mutant in tomllib.loads(path.read_text())["mutant"]
    ]
