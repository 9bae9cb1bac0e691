"""Measure the discrete Laplace noise of the peer ``opendp``, in an environment of its own.

Run by the interpreter of that environment; one JSON object goes to standard output. Nothing of the
peer is copied here: its published functions are called as they are.
"""

import json
import sys
import time

DRAWS, PASSES = 50_000, 3


def main() -> None:
    """Add noise of scale 2 to some whole numbers, several times, and tell the best pass."""
    import opendp.prelude as peer

    peer.enable_features("contrib")
    space = peer.vector_domain(peer.atom_domain(T="i32")), peer.l1_distance(T="i32")
    noise = peer.m.make_laplace(*space, scale=2.0)
    zeros = [0] * DRAWS
    seconds = []
    for _ in range(PASSES):
        start = time.perf_counter()
        noise(zeros)
        seconds.append(time.perf_counter() - start)
    json.dump({"draws": DRAWS, "seconds": min(seconds)}, sys.stdout)


if __name__ == "__main__":
    main()
