"""No test reaches the user's own keyring or data folder."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VEIL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("VEIL_KEYRING", "off")
