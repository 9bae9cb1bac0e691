"""The study of the page, and the figures that the page tells of it."""

import re
from pathlib import Path

import pytest
from tests.places.snow import needs_snow

from veil.places.mechanisms import MECHANISMS
from veil.places.study import STRUCTURE
from veil.studies.domains import load_study
from veil.studies.sweep import sweep

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "studies" / "places" / "snow.toml"
TABLE = re.compile(r"^\| `([a-z]+\(.*?\))` \|((?: [\d.]+ \|){5})$", re.MULTILINE)
STRONGEST = {"rotate": "align", "voronoi": "nearest"}  # where bayes has no law


@needs_snow
def test_the_page_tells_the_figures_of_its_study(tmp_path: Path) -> None:
    result = sweep(load_study(STUDY), tmp_path / "out", workers=0)
    rows = {
        (row.spec, row.kind, row.measure, row.attacker, row.size): row.score for row in result.rows
    }
    told = TABLE.findall((ROOT / "docs" / "places.md").read_text("utf-8"))
    assert len(told) == 14
    for brief, cells in told:
        method = MECHANISMS.parse(brief)
        spec, by = str(method), STRONGEST.get(method.name, "bayes")
        expected = [
            rows[spec, "risk", "lazy", "nearest", 1],
            rows[spec, "risk", "lazy", by, 1],
            rows[spec, "risk", "active", by, 1],
            rows[spec, "risk", "lazy", by, 5],
            rows[spec, "utility", STRUCTURE, "", 1],
        ]
        figures = [float(cell) for cell in cells.split("|") if cell.strip()]
        assert figures == pytest.approx(expected, abs=6e-4), brief
