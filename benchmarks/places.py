"""Print what masking, counting and guessing places cost, as ratios within one run.

Each measurement runs in a process of its own, so that its memory is its own, too. The peer
maskmypy is installed into an environment of its own under ``.benchmarks``; ``--no-peer`` leaves it
out.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.report import Report, best

from veil import places
from veil.core.rng import generator
from veil.core.types import Floats

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".benchmarks"
MILLION, SOME = 1_000_000, 30_000
DONUT = "donut(low=50, high=500)"
PEER = "maskmypy==1.1.0"


def town(n: int, side: float = 1e5, seed: int = 1) -> Floats:
    """Draw n points over a square."""
    return np.random.default_rng(seed).uniform(0, side, (n, 2))


def masking() -> dict[str, float]:
    """Mask a million points, beside the draws and sines that any donut needs."""
    points = places.Points(town(MILLION))

    def draws() -> None:
        uniform = generator(None).random((MILLION, 2))
        angle = 2 * math.pi * uniform[:, 1]
        np.sin(angle), np.cos(angle), np.sqrt(uniform[:, 0])

    ours = best(lambda: places.protect(points, DONUT), 5)
    return {"seconds": ours, "draws": best(draws, 5)}


def counting() -> dict[str, float]:
    """Count k of 30,000 points against a million, beside one tree that is asked once."""
    from scipy.spatial import cKDTree

    people = town(MILLION)
    original, population = places.Points(people[:SOME]), places.Points(people)
    masked = places.protect(original, DONUT, rng=1)
    reach = np.linalg.norm(masked.xy[0] - original.xy, axis=1)
    ours = best(lambda: places.spatial_k(original, masked, population), 3)
    tree = cKDTree(people)
    return {
        "seconds": ours,
        "built": best(lambda: cKDTree(people), 3),
        "asked": best(lambda: tree.query_ball_point(masked.xy[0], reach), 3),
    }


def guessing(n: int, m: int, passes: int) -> dict[str, float]:
    """Guess n points among m addresses by the law of the method."""
    addresses = town(m, side=100 * math.sqrt(m))
    original, register = places.Points(addresses[:n]), places.Points(addresses)
    masked = places.protect(original, DONUT, rng=1)
    return {"seconds": best(lambda: places.attack(masked, original, register, "bayes"), passes)}


TASKS: dict[str, Callable[[], dict[str, float]]] = {
    "masking": masking,
    "counting": counting,
    "guessing few": lambda: guessing(324, 324, 5),
    "guessing many": lambda: guessing(10_000, 100_000, 1),
}


def measured(task: str) -> dict[str, float]:
    """Run a task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.places", "--task", task]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
    found: dict[str, float] = json.loads(told.stdout)
    return found


def peer(report: Report, ours: float) -> None:
    """Install the peer into its own environment, measure it there, and print the ratio."""
    env = WORK / "peer-places-env"
    python = env / "bin" / "python"
    try:
        if not (env / "ready").is_file():
            venv.create(env, with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", PEER]
            subprocess.run(install, check=True, capture_output=True)
            (env / "ready").touch()
        command = [str(python), str(HERE / "places_peer.py")]
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        report.add("donut against the peer", f"not measured ({type(error).__name__})")
        return
    found = json.loads(told.stdout)
    each = found["seconds"] / found["points"]
    report.add("peer: donut, a point", f"{1e6 * each:,.1f} microseconds")
    report.add("donut against the peer, a point", f"{each / ours:,.0f} times", "500 times")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peer", action="store_true", help="leave out the peer")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        found = TASKS[options.task]()
        found["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    print("Places:")
    report = Report()
    mask = measured("masking")
    each = mask["seconds"] / MILLION
    report.add("donut of 1 M points", f"{1e6 * each:.3f} microseconds a point")
    ratio = mask["seconds"] / mask["draws"]
    report.add("  beside its own draws and sines", f"{ratio:.2f} times", "at most 3")
    report.add("  peak memory", f"{mask['mb']:,.0f} MB", "below 400")
    if not options.no_peer:
        peer(report, each)
    count = measured("counting")
    whole = count["built"] + count["asked"]
    report.add("k of 30,000 against 1 M", f"{count['seconds']:.2f} s")
    ratio = count["seconds"] / whole
    report.add("  beside one cKDTree, built and asked", f"{ratio:.2f} times", "at most 1.5")
    ratio = count["seconds"] / count["asked"]
    report.add("  beside the query alone, ours with its tree", f"{ratio:.2f} times")
    few, many = measured("guessing few"), measured("guessing many")
    report.add("bayes, 324 points x 324 addresses", f"{1e3 * few['seconds']:.1f} ms")
    report.add("bayes, 10,000 x 100,000", f"{many['seconds']:.1f} s", "below 60")
    report.add("  peak memory", f"{many['mb']:,.0f} MB", "below 500")


if __name__ == "__main__":
    main()
