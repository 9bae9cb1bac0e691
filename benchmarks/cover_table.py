"""Print how long a table of cover groups takes to build and to look a query up in.

The small one is that of the embedded catalogue; the large one has 150,000 texts made of its
words, and vectors near theirs. Vectors are given: to encode texts is timed elsewhere.
"""

import resource
import time

import numpy as np
from benchmarks.report import Report

from veil.core.types import Singles
from veil.cover import Table, Universe, build, read_universe
from veil.encoders.catalogue import encoder
from veil.encoders.vectors import document_vectors

LARGE = 150_000
LOOKED_UP = 50


def main() -> None:
    """Print the figures."""
    report = Report()
    universe = read_universe("icd10cm")
    model = encoder("minilm")
    vectors = np.asarray(document_vectors(universe.texts, model).vectors)
    table, taken = _built(universe, vectors)
    report.add(f"table of {len(universe):,} texts", f"{taken:.1f} s", "below 20 s")
    queries = [f"treatment for {table.texts[i].lower()} at home" for i in range(LOOKED_UP)]
    table.address(queries[:1])
    begun = time.perf_counter()
    for query in queries:
        table.address([query])
    each = (time.perf_counter() - begun) / LOOKED_UP
    report.add("looking a query up", f"{1000 * each:.1f} ms", "below 20 ms")
    large, near = _larger(universe, vectors)
    _, taken = _built(large, near)
    report.add(f"table of {LARGE:,} texts", f"{taken:.0f} s", "below 5 min")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report.add("most memory of all of it", f"{peak:.2f} GB", "below 1 GB and the model")


def _built(universe: Universe, vectors: Singles) -> tuple[Table, float]:
    begun = time.perf_counter()
    table = build(universe, vectors=vectors)
    return table, time.perf_counter() - begun


def _larger(universe: Universe, vectors: Singles) -> tuple[Universe, Singles]:
    """Make more texts, each of two of the universe, with a vector near the first's."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(universe), size=(2, LARGE))
    texts = [
        f"{i} {universe.texts[a]} {universe.texts[b]}"
        for i, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
    ]
    near = np.empty((LARGE, vectors.shape[1]), dtype=np.float32)
    for start in range(0, LARGE, 4096):  # in pieces: memory is measured
        block = slice(start, start + 4096)
        some = vectors[first[block]] + 0.5 * vectors[second[block]]
        near[block] = some / np.linalg.norm(some, axis=1, keepdims=True)
    return Universe.of(texts, "made"), near


if __name__ == "__main__":
    main()
