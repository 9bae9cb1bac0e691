"""Measure noise and quantiles of the peer ``opendp``, in an environment of its own.

Run by the interpreter of that environment, with a file of whole numbers, one in a line, if their
median is to be found; one JSON object goes to standard output. Nothing of the peer is copied here:
its published functions are called as they are.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DRAWS, PASSES, MEDIANS, EPSILON = 50_000, 3, 2_000, 0.1


def main() -> None:
    """Time noise of scale 2 for whole numbers and reals, and find medians."""
    import opendp.prelude as peer

    peer.enable_features("contrib")
    whole = peer.vector_domain(peer.atom_domain(T="i32")), peer.l1_distance(T="i32")
    real = peer.vector_domain(peer.atom_domain(T="f64", nan=False)), peer.l1_distance(T="f64")
    figures = {
        "draws": DRAWS,
        "seconds": _seconds(peer.m.make_laplace(*whole, scale=2.0), [0] * DRAWS),
        "real_seconds": _seconds(peer.m.make_laplace(*real, scale=2.0), [0.0] * DRAWS),
    }
    if len(sys.argv) > 1:
        values = [int(line) for line in Path(sys.argv[1]).read_text().split()]
        middle = statistics.median(values)
        space = peer.vector_domain(peer.atom_domain(T=int)), peer.symmetric_distance()

        def quantile(scale: float) -> Any:  # noqa: ANN401 - of the peer
            return peer.m.make_private_quantile(
                *space, peer.max_divergence(), candidates=list(range(101)), alpha=0.5, scale=scale
            )

        median = peer.binary_search_chain(quantile, d_in=1, d_out=EPSILON)
        figures["median_error"] = statistics.mean(
            abs(median(values) - middle) for _ in range(MEDIANS)
        )
    json.dump(figures, sys.stdout)


def _seconds(noise: Callable[[list[float]], object], zeros: list[float]) -> float:
    seconds = []
    for _ in range(PASSES):
        start = time.perf_counter()
        noise(zeros)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
