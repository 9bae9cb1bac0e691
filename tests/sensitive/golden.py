"""Golden values and collections of sensitive documents, where they are at hand."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
SHARED = Path(os.environ.get("VEIL_SHARED", _BESIDE))
_FILE = SHARED / "golden" / "sensitive.json"
COLLECTIONS = SHARED / "collections"
SARA = COLLECTIONS / "sara"

needs_sara = pytest.mark.skipif(not SARA.is_dir(), reason="the collection SARA is not at hand")


def golden(key: str) -> list[Any]:
    """Return what stands under a key; nothing where the file is not at hand."""
    return list(json.loads(_FILE.read_text(encoding="utf-8"))[key]) if _FILE.is_file() else []
