"""Print what the secure sum and encrypted scores cost, and how good federated training is.

Times are CPU seconds of one thread. ``--quality`` also trains on the ratings of a file such as the
jester set: ``python -m benchmarks.ratings_secure --quality ratings.csv.gz --scale -10 10``.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from benchmarks.report import Report

from veil import ratings
from veil.ratings.encrypted import KeyHolder, answer, inner_product
from veil.ratings.federated.client import Client
from veil.ratings.federated.primitives import Words, add_streams
from veil.ratings.federated.secure import secure_sum
from veil.ratings.federated.server import Server

CLIENTS, NUMBERS, DROPPED, LABEL = 100, 100_000, 5, b"benchmark"
SEEDS = (1, 2, 3)
A = TypeVar("A")


class Clock:
    """Adds up the CPU seconds of one party."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def run(self, work: Callable[[], A]) -> A:
        """Do a piece of work."""
        start = time.process_time()
        found = work()
        self.seconds += time.process_time() - start
        return found


def inputs() -> list[Words]:
    """Draw an input for each client."""
    rng = np.random.default_rng(1)
    return [rng.integers(0, 2**64, NUMBERS, dtype=np.uint64) for _ in range(CLIENTS)]


def sum_costs(report: Report) -> None:
    """Run one round, with the time of the clients and of the server apart."""
    given, threshold = inputs(), 2 * CLIENTS // 3 + 1
    mine, theirs = Clock(), Clock()
    server = Server(threshold, NUMBERS, LABEL)
    numbers = range(1, CLIENTS + 1)
    clients = mine.run(lambda: {one: Client(one, threshold, NUMBERS, LABEL) for one in numbers})
    keys = mine.run(lambda: {one: client.keys() for one, client in clients.items()})
    roster = theirs.run(lambda: server.roster(keys))
    shares = mine.run(lambda: {one: client.shares(roster) for one, client in clients.items()})
    parcels = theirs.run(lambda: server.parcels(shares))
    left = list(numbers)[DROPPED:]
    masked = mine.run(
        lambda: {one: clients[one].masked(parcels[one], given[one - 1]) for one in left}
    )
    survivors = theirs.run(lambda: server.survivors(masked))
    signed = mine.run(lambda: {one: clients[one].sign(survivors) for one in left})
    request = theirs.run(lambda: server.request(signed))
    answers = mine.run(lambda: {one: clients[one].unmask(request) for one in left})
    total = theirs.run(lambda: server.total(answers))
    wanted = np.zeros(NUMBERS, dtype=np.uint64)
    for one in left:
        wanted += given[one - 1]
    report.add(
        "sum of 95 of 100 clients", "exact" if (total == wanted).all() else "WRONG", "exact"
    )
    report.add("seconds of a client", f"{mine.seconds / CLIENTS:.3f}", "0.05")
    floor = Clock()
    floor.run(lambda: add_streams(np.zeros(NUMBERS, dtype=np.uint64), [bytes(32)] * CLIENTS))
    report.add("of which its key streams alone", f"{floor.seconds:.3f}")
    report.add("seconds of the server", f"{theirs.seconds:.2f}", "1")


def traffic(report: Report) -> None:
    """Count what a client sends."""
    found = secure_sum(inputs(), drop=list(range(DROPPED)))
    each = (found.sent[50] - 8 * NUMBERS) / (CLIENTS - 1)
    report.add("bytes that a client sends", f"{found.sent[50]:,}", f"{8 * NUMBERS:,} + peers")
    report.add("of which for each peer", f"{each:.0f}", "250")


def scoring(report: Report) -> None:
    """Score items for an encrypted profile."""
    rng = np.random.default_rng(1)
    for d, m in ((8, 10_000), (1000, 20)):
        x, matrix = rng.uniform(-1, 1, d), rng.uniform(-1, 1, (d, m))
        asker, clock = KeyHolder(), Clock()
        question = clock.run(partial(asker.ask, x))
        asked = clock.seconds
        found = clock.run(partial(answer, question, matrix))
        scores = asker.scores(found, m)
        what = f"{m:,} encrypted scores of {d:,} numbers"
        sent = sum(map(len, question.parts)) / 1e6
        report.add(what, f"ask {asked:.2f} s, {sent:.1f} MB; answer {clock.seconds - asked:.2f} s")
        report.add(f"{what}: largest error", f"{np.abs(scores - x @ matrix).max():.1e}", "1.2e-4")


def products(report: Report) -> None:
    """Multiply shared vectors."""
    rng, clock = np.random.default_rng(1), Clock()
    x, y = (rng.integers(-1000, 1000, 100_000) for _ in range(2))
    found = clock.run(lambda: inner_product(x, y))
    exact = "exact" if found.signed == int(x @ y) else "WRONG"
    report.add(
        "inner product of 100,000 shared numbers", f"{exact}, {clock.seconds:.3f} s", "exact"
    )


def quality(report: Report, path: Path, scale: tuple[float, float]) -> None:
    """Train with and without noise of clients, on the split of salt 0."""
    train, test = ratings.split(ratings.load(path, scale=scale))
    users, items = test.user.astype(np.int64), test.item.astype(np.int64)
    for spec in ("federated(delta=1e-5)", "federated(delta=1e-5, secure=False)"):
        errors, clock = [], Clock()
        for seed in SEEDS:
            model = clock.run(partial(ratings.recommender(spec).fit, train, rng=seed))
            found = np.clip(model.ratings(users, items), *scale)
            errors.append(float(np.sqrt(np.mean((found - test.value) ** 2))))
        told = f"RMSE {np.mean(errors):.3f} [{min(errors):.3f}, {max(errors):.3f}]"
        report.add(f"{spec}, {model.guarantee}", told, "4.19")
        report.add(f"{spec}: seconds of a fit", f"{clock.seconds / len(SEEDS):.1f}")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quality", type=Path)
    parser.add_argument("--scale", type=float, nargs=2, default=(-10.0, 10.0))
    given = parser.parse_args()
    report = Report()
    sum_costs(report)
    traffic(report)
    scoring(report)
    products(report)
    if given.quality is not None:
        quality(report, given.quality, (given.scale[0], given.scale[1]))
    print(report.table())


if __name__ == "__main__":
    main()
