"""What is heavy is loaded where it is used."""

import subprocess
import sys

import pytest

from veil.core.errors import install_hint

HEAVY = "scipy", "pyproj", "shapely", "geopandas", "pandas", "pyarrow"
PLAIN = """
import sys
import numpy as np
from veil import places
points = places.Points(np.zeros((3, 2)), "EPSG:4326")
for spec in ("donut(low=1, high=3)", "laplace(epsilon=0.1)", "gaussian(sigma=3, form='radius')"):
    places.protect(points, spec, size=2)
print(*({*sys.modules} & {%s}))
"""


def test_masking_needs_no_extra() -> None:
    code = PLAIN % ", ".join(map(repr, HEAVY))
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        ("pyproj", "places.Points(np.zeros((3, 2)), 'EPSG:3857')"),
        ("shapely", "places.protect(points, 'disk(radius=1)', within={'type': 'Polygon'})"),
        ("scipy", "places.spatial_k(points, points, points)"),
        ("scipy", "places.protect(points, 'bimodal(low=1, high=3)')"),
        ("scipy", "places.protect(points, 'voronoi()')"),
        ("scipy", "places.displacement('laplace(epsilon=1)').median"),
    ],
)
def test_a_missing_extra_is_named(missing: str, code: str) -> None:
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import numpy as np\n"
        "from veil import places\n"
        "points = places.Points(np.arange(6.0).reshape(3, 2))\n"
        f"try:\n    {code}\nexcept ImportError as error:\n    print(type(error).__name__, error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("MissingExtraError ")
    assert f"{missing}: {install_hint('places')}" in told.stdout
