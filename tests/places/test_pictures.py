"""Maps as files: whole, for all or for their owner, never more than was handed in."""

import re
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.random import Generator

from veil import places
from veil.core.errors import InputError, ParameterError
from veil.places.pictures import Kind
from veil.places.points import Points


@pytest.fixture
def homes(rng: Generator) -> Points:
    return Points(np.column_stack([rng.normal(-0.13, 0.004, 50), rng.normal(51.5, 0.003, 50)]),
                  "EPSG:4326")  # fmt: skip


def test_a_map_of_a_release(homes: Points, tmp_path: Path) -> None:
    release = places.protect(homes, "donut(low=20, high=90)", size=2, rng=1)
    path = places.plot(release, tmp_path / "map.svg")
    text = path.read_text()
    assert "donut(low=20.0, high=90.0" in text
    assert "not for release" not in text
    assert f"{release.xy[0, 0, 1]:.3f}" not in text  # no coordinate is written out
    other = places.plot(release, tmp_path / "other.svg", release=1).read_text()
    assert other != text
    with pytest.raises(InputError, match="must be from 0 to 1"):
        places.plot(release, tmp_path / "no.svg", release=2)


def test_a_map_with_originals_is_for_its_owner(homes: Points, tmp_path: Path) -> None:
    release = places.protect(homes, "donut(low=20, high=90)", rng=1)
    path = places.plot(release, tmp_path / "map.svg", original=homes)
    assert "not for release" in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("kind", ["density", "rose"])
def test_other_drawings_need_the_originals(homes: Points, tmp_path: Path, kind: Kind) -> None:
    release = places.protect(homes, "donut(low=20, high=90)", rng=1)
    path = places.plot(release, tmp_path / "map.svg", homes, kind=kind)
    assert "not for release" in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="needs the originals"):
        places.plot(release, tmp_path / "no.svg", kind=kind)
    with pytest.raises(ParameterError, match="one of map"):
        places.plot(release, tmp_path / "no.svg", kind=cast(Kind, "tiles"))


def test_degrees_are_drawn_with_one_scale(homes: Points, tmp_path: Path) -> None:
    text = places.plot(homes, tmp_path / "map.svg").read_text()
    draws = re.findall(r' d="([^"]*)"[^>]*\breleased"', text)[0]
    spots = np.array([part.split() for part in draws.replace("h0", "").split("M")[1:]], float)
    wide = places.distance(
        [[homes.xy[:, 0].min(), 51.5]], [[homes.xy[:, 0].max(), 51.5]], homes.crs
    )[0]
    high = np.ptp(homes.xy[:, 1]) * np.pi / 180 * 6_371_008.8
    ratio = np.ptp(spots[:, 0]) / np.ptp(spots[:, 1])
    assert ratio == pytest.approx(wide / high, rel=5e-3)


def test_what_cannot_be_drawn_leaves_no_file(homes: Points, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ends in .svg"):
        places.plot(homes, tmp_path / "map.png")
    with pytest.raises(InputError, match="one per original"):
        places.plot(homes, tmp_path / "map.svg", original=homes.take(np.arange(3)))
    with pytest.raises(InputError, match="one coordinate system"):
        places.plot(homes, tmp_path / "map.svg", original=Points(homes.xy))
    assert list(tmp_path.iterdir()) == []
