"""The toy domain of docs/add-a-domain.md, installed for a test."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from veil.studies.domains import domain, open_experiment

PAGE = Path(__file__).resolve().parents[1] / "docs" / "add-a-domain.md"
MASKS = [
    {"spec": "laplace", "parameter": "epsilon", "values": [0.001, 0.01]},
    {"spec": "disc", "parameter": "radius", "values": [100.0, 2000.0]},
]


def code() -> str:
    """Return the file that the page shows."""
    return str(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])


def install(folder: Path, text: str) -> None:
    """Put the plugin and some homes into a folder."""
    (folder / "veil_town.py").write_text(text)
    told = folder / "veil_town-1.dist-info"
    told.mkdir(exist_ok=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: veil-town\nVersion: 1\n")
    (told / "entry_points.txt").write_text("[veil.domains]\ntown = veil_town:Town\n")
    homes = np.random.default_rng(1).uniform(0, 5000, (40, 2))
    np.savetxt(folder / "homes.csv", homes, fmt="%.2f", delimiter=",", header="x,y", comments="")


def forget() -> None:
    """Load the domain anew the next time."""
    sys.modules.pop("veil_town", None)
    domain.cache_clear()
    open_experiment.cache_clear()


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the plugin, which is installed, and homes."""
    install(tmp_path, code())
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    forget()
    yield tmp_path
    forget()
