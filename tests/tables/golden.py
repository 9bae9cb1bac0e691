"""Golden values of tables, where they are at hand."""

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
_FILE = SHARED / "golden" / "tables.json"
SDC = SHARED / "tables" / "sdc"
ADULT = SHARED / "tables" / "adult"

needs_golden = pytest.mark.skipif(
    not _FILE.is_file(), reason="the golden values of tables are not at hand"
)


def golden(key: str) -> Any:  # noqa: ANN401 - as the file has it
    """Return what stands under a key; nothing where the file is not at hand."""
    return json.loads(_FILE.read_text(encoding="utf-8"))[key] if _FILE.is_file() else {}
