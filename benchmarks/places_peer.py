"""Measure the donut of the peer package ``maskmypy``, in an environment of its own.

Run by the interpreter of that environment; one JSON object goes to standard output. Nothing of the
peer is copied here: its published function is called as it is.
"""

import json
import sys
import time

POINTS, PASSES = 5_000, 3


def main() -> None:
    """Mask some points, several times, and tell the best pass."""
    import geopandas
    import numpy as np
    from maskmypy import donut

    xy = np.random.default_rng(1).uniform(0, 1e5, (POINTS, 2))
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*xy.T), crs=32633)
    seconds = []
    for _ in range(PASSES):
        start = time.perf_counter()
        donut(frame, low=50, high=500)
        seconds.append(time.perf_counter() - start)
    json.dump({"points": POINTS, "seconds": min(seconds)}, sys.stdout)


if __name__ == "__main__":
    main()
