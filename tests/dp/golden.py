"""Golden values of dp, where they are at hand."""

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
_FILE = SHARED / "golden" / "dp.json"

needs_golden = pytest.mark.skipif(
    not _FILE.is_file(), reason="the golden values of dp are not at hand"
)


def golden(key: str) -> list[Any]:
    """Return the cases of a key; none where the file is not at hand."""
    if not _FILE.is_file():
        return []
    found: list[Any] = json.loads(_FILE.read_text(encoding="utf-8"))[key]
    return found
