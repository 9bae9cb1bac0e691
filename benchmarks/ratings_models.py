"""Print what learning from ratings costs, as ratios within one run, and how far it scales.

Speed is in processor seconds of one thread on goodbooks; ours and each peer take turns, each in a
process of its own. The peers cornac, scikit-surprise and implicit are installed into an
environment of their own under ``.benchmarks``; ``--no-peer`` leaves them out. ``--scale`` adds a
run on generated ratings (20 million by default), with its memory.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.report import Report
from threadpoolctl import threadpool_limits

from veil import ratings
from veil.core.types import Ids
from veil.ratings.ratings import Likes, Ratings, describe, of_arrays
from veil.ratings.reader import open_store, save_store
from veil.ratings.recommenders.als import ALS
from veil.ratings.recommenders.neighbours import ItemLists
from veil.ratings.shards import likes_per_item
from veil.studies.pool import processes

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".benchmarks"
DATA = HERE.parents[1] / "shared" / "data" / "ratings" / "goodbooks"
PEERS = ["cornac==3.0.1", "implicit==0.7.3", "pandas", "scikit-surprise==1.1.5"]
SGD = "sgd(factors=50, rate=0.01, reg=0.1, epochs=20)"
TURNS = 3


def parts() -> tuple[Ratings, Ratings]:
    """Return train and test of goodbooks."""
    return ratings.split(ratings.load(DATA / "ratings.csv.gz", scale=(1, 5)))


def spent(work: Callable[[], object], passes: int = 3) -> float:
    """Return the processor seconds of the cheapest pass, after one that is not counted."""
    work()
    found = []
    for _ in range(passes):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def alone() -> None:
    """Keep to one processor and one thread: two of a library would wait for each other on it."""
    threadpool_limits(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def speed() -> dict[str, float]:
    """Measure ours, one thread, with the quality of each."""
    alone()
    train, test = parts()
    likes = Likes.of(train, 4)
    near = ratings.recommender("userknn(k=40)").fit(train)
    pairs = test.user.astype(np.int64), test.item.astype(np.int64)
    sgd, ials = ratings.recommender(SGD), ratings.recommender("ials")
    found = {
        "sgd": spent(lambda: sgd.fit(train, positive=4, rng=1)),
        "ials": spent(lambda: ials.fit(train, positive=4, rng=1)),
        "lists": spent(lambda: ItemLists.of(likes, 20)),
        "userknn": spent(lambda: near.ratings(*pairs)),
    }
    rmse = ratings.evaluate(sgd.fit(train, positive=4, rng=1), test, measures=["rmse"])
    ndcg = ratings.evaluate(ials.fit(train, positive=4, rng=1), test, measures=["ndcg"])
    found |= {"sgd rmse": float(rmse["rmse"]), "ials ndcg": float(ndcg["ndcg"])}
    return found


def threads() -> dict[str, float]:
    """Measure a larger fit by the clock; who calls says with how many threads."""
    data = generated(20_000, 5_000, 2_000_000)
    fitted = ratings.recommender("sgd(factors=50, epochs=20)")
    fitted.fit(data, rng=1)
    start = time.perf_counter()
    fitted.fit(data, rng=1)
    return {"seconds": time.perf_counter() - start}


def one_thread() -> dict[str, float]:
    """Measure the same with one thread."""
    alone()
    return threads()


def ease() -> dict[str, float]:
    """Measure ease on goodbooks, and its quality."""
    train, test = parts()
    start = time.perf_counter()
    model = ratings.recommender("ease(reg=50)").fit(train, positive=4)
    seconds = time.perf_counter() - start
    ndcg = ratings.evaluate(model, test, measures=["ndcg"])["ndcg"]
    return {"seconds": seconds, "ndcg": float(ndcg)}


def generated(n: int, m: int, count: int, seed: int = 1) -> Ratings:
    """Make ratings 1..5 of n users for m items, popular ones more often."""
    rng = np.random.default_rng(seed)
    popular = rng.permutation(m)
    wanted = int(count * 1.25)
    user = rng.integers(0, n, wanted)
    item = popular[np.minimum((m * rng.random(wanted) ** 2).astype(np.int64), m - 1)]
    pairs: Ids = np.unique(user * np.int64(m) + item)
    kept = np.sort(rng.permutation(len(pairs))[:count])
    pairs = pairs[kept]
    user, item = pairs // m, pairs % m
    taste = rng.normal(0, 0.5, (n, 4)).astype(np.float32), rng.normal(0, 1, (m, 4))
    value = np.empty(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), 2**20):
        some = slice(start, start + 2**20)
        product = np.einsum("nf,nf->n", taste[0][user[some]], taste[1][item[some]])
        value[some] = np.clip(np.round(3.5 + product + rng.normal(0, 0.7, len(product))), 1, 5)
    names = [str(one) for one in range(1, max(n, m) + 1)]
    return of_arrays(
        names[:n], names[:m], user.astype(np.int32), item.astype(np.int32), value, scale=(1, 5)
    )


def scale(count: int) -> dict[str, float]:
    """Describe, split, count and learn from generated ratings in a store."""
    found: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> object:
        start = time.perf_counter()
        result = work()
        found[name] = time.perf_counter() - start
        found[f"{name}: peak MB so far"] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        )
        print(name, found[name], file=sys.stderr, flush=True)  # it takes a while
        return result

    with tempfile.TemporaryDirectory(prefix="veil-ratings-") as name:
        folder = Path(name) / "store"
        sizes = max(count // 100, 10), max(count // 1_000, 10)
        timed("generate and store", lambda: save_store(generated(*sizes, count), folder))
        data = open_store(str(folder))
        found["ratings"] = len(data)
        timed("describe", lambda: describe(data))
        with processes(2) as pool:
            timed("split, two processes", lambda: ratings.split(data, executor=pool))
            timed("counts, two processes", lambda: likes_per_item(data, 4, pool))
        train, test = ratings.split(data)
        model = timed("sgd, 32 factors, 20 epochs", lambda: ratings.recommender(
            "sgd(factors=32, epochs=20)").fit(train, rng=1))  # fmt: skip
        some = test.take(test.user < 20_000)
        mean = ratings.evaluate(ratings.recommender("mean").fit(train), some, measures=["rmse"])
        ours = ratings.evaluate(model, some, measures=["rmse"])  # type: ignore[arg-type]
        found |= {"rmse": float(ours["rmse"]), "rmse of the mean": float(mean["rmse"])}
        timed("als, 8 factors, 1 iteration", lambda: ALS(factors=8, iterations=1).fit(train))
    return found


TASKS: dict[str, Callable[[], dict[str, float]]] = {
    "speed": speed,
    "two threads": threads,
    "one thread": one_thread,
    "ease": ease,
}


def measured(*task: str) -> dict[str, float]:
    """Run a task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.ratings_models", *task]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
    found: dict[str, float] = json.loads(told.stdout)
    return found


def peer(split: Path) -> dict[str, float] | str:
    """Measure the peers in their own environment; say why where they cannot be had."""
    env = WORK / "peer-ratings-env"
    python = env / "bin" / "python"
    try:
        if not (env / "ready").is_file():
            venv.create(env, with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", *PEERS]
            subprocess.run(install, check=True, capture_output=True)
            (env / "ready").touch()
        command = [str(python), str(HERE / "ratings_peer.py"), str(split)]
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.SubprocessError) as error:
        return type(error).__name__
    found: dict[str, float] = json.loads(told.stdout.splitlines()[-1])
    return found


ROWS = (
    ("sgd", "cornac", "sgd against cornac MF", "at least 1"),
    ("sgd", "svd", "sgd against surprise SVD", "at least 6"),
    ("ials", "als", "ials against implicit ALS", "at least 2"),
    ("lists", "cosine", "item lists against implicit", "at least 1"),
    ("userknn", "knn", "userknn against surprise KNNWithMeans", "at least 40"),
)


def against(report: Report, ours: dict[str, float]) -> None:
    """Take turns with the peers, and print the ratios of the cheapest turns."""
    train, test = parts()
    with tempfile.TemporaryDirectory(prefix="veil-ratings-") as name:
        split = Path(name) / "split.npz"
        columns = {"user": train.user, "item": train.item, "value": train.value}
        held = {"tu": test.user, "ti": test.item, "tv": test.value}
        np.savez(split, allow_pickle=False, **columns, **held)
        theirs: dict[str, float] = {}
        for turn in range(TURNS):
            found = peer(split)
            if isinstance(found, str):
                report.add("peers", f"not measured ({found})")
                return
            theirs = {key: min(value, theirs.get(key, value)) for key, value in found.items()}
            if turn:
                again = measured("--task", "speed")
                ours.update({key: min(value, ours[key]) for key, value in again.items()})
    for key, other, what, target in ROWS:
        report.add(what, f"{theirs[other] / ours[key]:.1f} times ({theirs[other]:.2f} s)", target)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peer", action="store_true", help="leave out the peers")
    parser.add_argument("--scale", type=int, nargs="?", const=20_000_000, metavar="RATINGS",
                        help="run on generated ratings, too")  # fmt: skip
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--large", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task or options.large:
        print(json.dumps(TASKS[options.task]() if options.task else scale(options.large)))
        return
    print("Ratings:")
    report = Report()
    if DATA.is_dir():
        goodbooks(report, peers=not options.no_peer)
    else:
        report.add("goodbooks", "not measured: the ratings are not at hand")
    ratio = (
        measured("--task", "one thread")["seconds"] / measured("--task", "two threads")["seconds"]
    )
    report.add("sgd, 2 M ratings: two threads against one", f"{ratio:.2f} times", "1.7")
    if options.scale:
        for key, value in measured("--large", str(options.scale)).items():
            report.add(f"{options.scale:,} ratings: {key}", f"{value:,.2f}")


def goodbooks(report: Report, *, peers: bool) -> None:
    """Print what is measured on goodbooks."""
    ours = measured("--task", "speed")
    if peers:
        against(report, ours)
    for key in ("sgd", "ials", "lists", "userknn"):
        report.add(f"{key}, processor seconds", f"{ours[key]:.3f}")
    report.add("RMSE of sgd", f"{ours['sgd rmse']:.4f}", "at most 0.8660")
    report.add("nDCG@10 of ials", f"{ours['ials ndcg']:.4f}", "at least 0.2604")
    found = measured("--task", "ease")
    report.add("ease(reg=50): nDCG@10", f"{found['ndcg']:.4f}", "0.3180 to 0.3200")
    report.add("  seconds", f"{found['seconds']:.1f}")


if __name__ == "__main__":
    main()
