"""Golden values of ratings and the data they were made of, where they are at hand."""

import json
from pathlib import Path

import pytest

_NEAR = [one / "shared" / "data" for one in Path(__file__).resolve().parents[4:6]]
SHARED = next((one for one in _NEAR if one.is_dir()), _NEAR[0])
JESTER = SHARED / "ratings" / "jester" / "ratings.csv.gz"
_FILE = SHARED / "golden" / "ratings.json"

needs_golden = pytest.mark.skipif(
    not _FILE.is_file(), reason="the golden values of ratings are not at hand"
)
needs_jester = pytest.mark.skipif(not JESTER.is_file(), reason="the jester set is not at hand")


def golden_sum() -> dict[str, str]:
    """Return the values of the secure sum; lists as JSON."""
    text = json.loads(_FILE.read_text(encoding="utf-8"))["secure_sum"]
    return {
        key: entry if isinstance(entry, str) else json.dumps(entry) for key, entry in text.items()
    }
