"""Measure the Query Inference Attack on a large log: time, memory, and whether it is right.

The vectors are those of bags of hashed words, so that a log of this size is encoded in a minute;
once they are on disk the attack does not depend on the model. Run by ``benchmarks.measuring``,
first to encode the log and then, in a process of its own, to attack again; prints JSON.
"""

import itertools
import json
import math
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from benchmarks.report import best
from benchmarks.scale import short_texts

import veil
from veil.core.types import Floats, Role, Singles
from veil.text.attacks.inference import centroids, ranks
from veil.text.log import QueryLog

ROWS, DIM, QUERIES, VARIANTS = 750_000, 768, 43, 50
GIGABYTES = 4 * ROWS * DIM / 1e9  # of vectors on disk
_CHECKED = 5  # queries ranked again by a plain loop
_STATUS = Path("/proc/self/status")
Rows = list[list[str]]


class Bag:
    """Sums a fixed random vector per word: quick, and texts that share words are near."""

    key = f"bag of hashed words, {DIM} dimensions"
    dim = DIM

    def __init__(self) -> None:
        self._table = np.random.default_rng(7).standard_normal((2**13, DIM), dtype=np.float32)

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:  # noqa: ARG002
        """Map texts to unit vectors (n, dim)."""
        rows = [[zlib.crc32(w.encode()) % 2**13 for w in text.split() or [""]] for text in texts]
        starts = np.cumsum([0, *map(len, rows[:-1])])
        total = np.add.reduceat(self._table[list(itertools.chain(*rows))], starts, axis=0)
        unit: Singles = total / np.linalg.norm(total, axis=1, keepdims=True)
        return unit


def new_log() -> QueryLog:
    """Count and pack short texts, nothing of which was seen before."""
    return QueryLog.of(itertools.islice(short_texts(), ROWS))


def release(log: QueryLog) -> tuple[list[str], Rows]:
    """Choose queries of the log, and make variants in which every other word is another."""
    rng = np.random.default_rng(11)
    originals = [log.texts[i] for i in rng.choice(len(log), QUERIES, replace=False).tolist()]
    others = " ".join(log.texts[i] for i in rng.choice(len(log), 2000).tolist()).split()

    def variant(text: str) -> str:
        return " ".join(w if rng.random() < 0.5 else rng.choice(others) for w in text.split())

    return originals, [[variant(text) for _ in range(VARIANTS)] for text in originals]


def anonymous() -> float:
    """Return the megabytes of this process that are no file, where the system tells."""
    if not _STATUS.is_file():
        return math.nan
    return int(_STATUS.read_text().split("RssAnon:")[1].split()[0]) / 1000


def peak_of(work: Callable[[], object]) -> float:
    """Return the most megabytes that this process holds, beside files, while some work is done."""
    seen, done = [anonymous()], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            seen.append(anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(seen)


def plain_rank(centre: Floats, vectors: Singles, place: int) -> int:
    """Rank one query by float64 products with all rows, a few at a time."""
    scores = np.concatenate(
        [(some * centre).sum(axis=1) for some in np.array_split(vectors, len(vectors) // 4096 + 1)]
    )
    equal = np.count_nonzero(scores[:place] == scores[place])
    return 1 + int(np.count_nonzero(scores > scores[place])) + int(equal)


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def again(encoder: Bag) -> dict[str, float]:
    """Attack with logs that are new to this process, and vectors that are on disk."""
    before = anonymous()
    logs: list[QueryLog] = []
    counting = peak_of(lambda: logs.append(new_log()))
    originals, rows = release(logs[0])

    def attack() -> None:
        veil.attack(rows, originals, logs[-1], encoder=encoder)

    with_log = anonymous()
    attacking = peak_of(attack)
    times = []
    for _ in range(3):
        logs[1:] = [QueryLog.of(logs[0].texts)]
        times.append(seconds_of(attack))
    return {
        "log": seconds_of(new_log),
        "attack": min(times),
        "memory": attacking - with_log,
        "whole": max(counting, attacking) - before,
        **counted(rows, originals, logs[0], encoder),
    }


def counted(rows: Rows, originals: list[str], log: QueryLog, encoder: Bag) -> dict[str, float]:
    """Time the counting of ranks by itself, and compare some of them with a plain loop."""
    vectors, centres = log.vectors(encoder).vectors, centroids(rows, encoder)
    places = np.array([log.place(text) for text in originals])
    found = veil.attack(rows, originals, log, encoder=encoder)
    units = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    plain = [plain_rank(units[i], vectors, int(places[i])) for i in range(_CHECKED)]
    return {
        "ranks": best(lambda: ranks(centres, vectors, places)[0], 3),
        "checked": len(plain),
        "right": sum(a == b for a, b in zip(plain, found.tolist(), strict=False)),
        "guessed": float((found == 1).mean()),
    }


def main() -> None:
    """Encode the log, or attack it again."""
    encoder = Bag()
    if sys.argv[1] == "again":
        print(json.dumps(again(encoder)))
        return
    log = new_log()
    originals, rows = release(log)
    first = seconds_of(lambda: veil.attack(rows, originals, log, encoder=encoder))
    print(json.dumps({"attack": first, "queries": len(log)}))


if __name__ == "__main__":
    main()
