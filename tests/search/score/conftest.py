"""A folder with a whole pipeline of somebody's own, and an encoder that is not fetched."""

from pathlib import Path

import pytest
from tests.search.score.material import write_pipeline

from veil.encoders import ENCODERS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(ENCODERS.builtin, "bag", "tests.reference.bag_plugin:Bag")
    write_pipeline(tmp_path)
    return tmp_path
