"""Print the figures of the README: speed beside a plain product and beside the peer, and memory.

Everything is measured in one run and compared as a ratio; times are the best of several passes
after a warm-up, for ours, the plain product and the peer alike. ``--no-peer`` leaves out the peer,
which is installed from its package into an environment of its own under ``.benchmarks``.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import venv
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.report import Report, best

import veil
from veil.core.types import Ids, Singles
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.vectors.catalogue import at_hand, load_embeddings, vectors_folder
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.nearest import NearestWords, fused_at_hand

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".benchmarks"
QUERIES = HERE.parents[1] / "shared" / "data" / "queries" / "dl19.tsv"
FALLBACK = (
    "treatment for skin cancer",
    "causes of left ventricular hypertrophy",
    "what is the definition of bankruptcy",
    "how long is the life cycle of a flea",
)


def blocked(points: Singles, space: Embeddings, halves: Singles) -> Ids:
    """Find nearest words by float32 products in blocks of 4,096 rows: the yardstick."""
    top = np.full(len(points), -np.inf, dtype=np.float32)
    arg = np.zeros(len(points), dtype=np.int64)
    rows = np.arange(len(points))
    for start in range(0, space.size, 4096):
        scores = points @ space.vectors[start : start + 4096].T
        scores -= halves[start : start + 4096]
        found = scores.argmax(axis=1)
        values = scores[rows, found]
        better = values > top
        top[better], arg[better] = values[better], found[better] + start
    return arg


def queries() -> list[str]:
    """Return the 43 queries of TREC DL 2019 when at hand, else a few of our own."""
    if QUERIES.is_file():
        lines = QUERIES.read_text(encoding="utf-8").splitlines()
        return [line.split("\t")[1] for line in lines]
    print(f"  (no {QUERIES.name}: using {len(FALLBACK)} queries of our own)")
    return list(FALLBACK)


def noise_mechanisms(report: Report, space: Embeddings, texts: list[str]) -> dict[str, float]:
    """Measure words per second of CMP, Mahalanobis and Vickrey through `protect`."""
    size = max(1, 2048 // sum(len(text.split()) for text in texts))
    words = sum(veil.protect(texts, veil.CMP(epsilon=10), space, 1).protected) * size
    rng = np.random.default_rng(0)
    points = space.vectors[rng.integers(space.size, size=words)].astype(np.float32)
    points += rng.normal(size=points.shape).astype(np.float32)
    halves: Singles = (space.squares / 2).astype(np.float32)
    engines: list[str] = ["numpy"] + ["numba"] * fused_at_hand()
    rates: dict[str, float] = {}
    specs = {
        "CMP": veil.CMP(epsilon=10),
        "Mahalanobis": veil.Mahalanobis(epsilon=10),
        "Vickrey": veil.Vickrey(epsilon=10),
    }
    for engine in engines:
        space.__dict__["searcher"] = NearestWords(space.vectors, engine)  # type: ignore[arg-type]
        yard = words / best(lambda: blocked(points, space, halves), 2)
        for name, mechanism in specs.items():
            seconds = best(lambda m=mechanism: veil.protect(texts, m, space, size))  # type: ignore[misc]
            rates[f"{name} {engine}"] = words / seconds
        yard = max(yard, words / best(lambda: blocked(points, space, halves), 2))
        label = "NumPy alone" if engine == "numpy" else "with `fast`"
        goal = "1.0" if engine == "numpy" else "2.0"
        for name in ("CMP", "Mahalanobis"):
            rate = rates[f"{name} {engine}"]
            report.add(
                f"{name}, {label}",
                f"{rate:,.0f} words/s, {rate / yard:.2f} of the blocked product ({yard:,.0f})",
                f"{goal} of the blocked product",
            )
        ratio = rates[f"Vickrey {engine}"] / rates[f"CMP {engine}"]
        report.add(f"Vickrey, {label}", f"{ratio:.2f} of CMP", "0.8 of CMP")
    del space.__dict__["searcher"]
    return rates


DISTINCT = (150, 250)  # words whose laws the cache of a space holds, and too many for it


def closed_form(report: Report, space: Embeddings, texts: list[str]) -> None:
    """Measure cold laws, and warm draws through `protect` and by the kernel alone."""
    for spec in ("santext(epsilon=10)", "tem(epsilon=3)", "wbb(epsilon=10)"):
        _closed_form(report, space, texts, veil.MECHANISMS.parse(spec))


def _closed_form(
    report: Report, space: Embeddings, texts: list[str], mechanism: WordMechanism
) -> None:
    rng = np.random.default_rng(1)
    kernel = mechanism.bind(space)
    name = mechanism.name

    def fresh() -> Ids:
        return rng.choice(min(space.size, 100_000), size=64, replace=False)

    def cold() -> Ids:
        return kernel.sample(fresh(), 1, rng)

    for _ in range(3):  # until the cache is full: memory that was never touched costs extra
        cold()
    seconds = best(cold, 6)
    report.add(
        f"{name}: a cold word, ready to draw from",
        f"{seconds / 64 * 1e3:.1f} ms per word at batch 64",
        "3 ms",
    )
    seconds = best(lambda: veil.law(mechanism, space, [space.words[i] for i in fresh()]), 6)
    report.add(f"{name}: veil.law, float64", f"{seconds / 64 * 1e3:.1f} ms per word", "3 ms")
    size = max(1, 20_000 // sum(len(text.split()) for text in texts))
    # Unknown words are never warm: each text has decoys of its own.
    warm = [" ".join(w for w in text.split() if space.id(w) >= 0) for text in texts]
    release = veil.protect(warm, mechanism, space, size, select="all")
    words = sum(release.protected) * size
    seconds = best(lambda: veil.protect(warm, mechanism, space, size, select="all"), 12)
    report.add(f"{name}: warm, through protect", f"{words / seconds:,.0f} words/s", "300,000")
    for count in DISTINCT:
        ids = rng.choice(min(space.size, 20_000), size=count, replace=False)
        named = [space.words[i] for i in ids]
        many = [" ".join(named[i : i + 5]) for i in range(0, count, 5)]
        often = max(1, 20_000 // count)
        draw = partial(veil.protect, many, mechanism, space, often, select="all")
        seconds = best(draw, 3)
        rate = count * often / seconds
        report.add(f"{name}: {count} distinct words, through protect", f"{rate:,.0f} words/s", "")
    known = np.array([i for t in texts for w in t.split() if (i := space.id(w)) >= 0])
    seconds = best(lambda: kernel.sample(known, size, rng))
    rate = len(known) * size / seconds
    report.add(f"{name}: warm, kernel alone", f"{rate:,.0f} words/s", "1,000,000")


def memory(report: Report) -> None:
    """Measure the whole process on a stream of many texts, and opening the vectors."""
    code = (
        "import sys, time, veil\n"
        "start = time.perf_counter()\n"
        "space = veil.load_embeddings('glove-100d')\n"
        "opened = time.perf_counter() - start\n"
        "texts = (' '.join(space.words[(17 * i + j * j) % 3000] for j in range(5))\n"
        "         for i in range(20000))\n"
        "for _ in veil.protect_stream(texts, veil.MECHANISMS.parse(sys.argv[1]), space, 2): pass\n"
        "status = open('/proc/self/status').read() if sys.platform == 'linux' else ''\n"
        "peak = status.split('VmHWM:')[1].split()[0] if status else 'nan'\n"
        "print(opened, float(peak) / 1024)\n"
    )
    for spec in ("santext(epsilon=10)", "cmp(epsilon=10)"):
        out = subprocess.run(
            [sys.executable, "-c", code, spec], check=True, capture_output=True, text=True
        ).stdout.split()
        report.add(
            f"peak memory, 20,000 texts through {spec.split('(')[0]}",
            f"{float(out[1]):,.0f} MB",
            "below 1,000 MB",
        )
    report.add("opening glove-100d", f"{float(out[0]):.2f} s", "below 0.3 s")


def peer(report: Report, rates: dict[str, float], folder: Path) -> None:
    """Install the peer into its own environment, measure it there, and print the ratios."""
    env, target = WORK / "peer-env", WORK / "peer"
    python = env / "bin" / "python"
    if not (target / "pypantera").is_dir():
        venv.create(env, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "numpy", "pandas", "scipy"], check=True)
        subprocess.run(
            [*pip, "--no-deps", "--target", str(target / "pypantera"), "pypantera==1.0.2"],
            check=True,
        )
    command = [str(python), str(HERE / "peer.py"), "--target", str(target)]
    command += ["--vectors", str(folder / "vectors.npy"), "--words", str(folder / "words.txt")]
    command += ["--queries", str(QUERIES), "--epsilon", "10", "--words-limit", "12"]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    found = json.loads(result.stdout)
    report.add("peer: loading the vectors", f"{found['load_seconds']:.1f} s")
    report.add("peer: peak memory", f"{found['peak_rss_mb']:,.0f} MB")
    for name, key in (("CMP", "cmp"), ("Mahalanobis", "mahalanobis")):
        rate = found["words_per_second"].get(key)
        if rate is None:
            report.add(f"peer: {name}", "failed")
            continue
        detail = found["detail"][key]
        first = found["sample"]["longest_query"] / detail["warm_up_seconds"]
        report.add(f"peer: {name}", f"{rate:.1f} words/s, its first query {first:.1f} words/s")
        for engine, goal in (("numpy", 800), ("numba", 1600)):
            if f"{name} {engine}" in rates:
                ours = rates[f"{name} {engine}"]
                figure = f"{ours / rate:,.0f} times, {ours / first:,.0f} times its first query"
                report.add(f"{name} ({engine}) against the peer", figure, f"{goal:,} times")


def main() -> None:
    """Run all measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peer", action="store_true", help="leave out the peer")
    options = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    if not at_hand("glove-100d"):
        sys.exit("glove-100d is not at hand: run 'veil vectors glove-100d' first.")
    space = load_embeddings("glove-100d")
    texts = queries()
    report = Report()
    print(f"{os.cpu_count()} cores, {space.size:,} words, {len(texts)} queries")
    rates = noise_mechanisms(report, space, texts)
    closed_form(report, space, texts)
    memory(report)
    if not options.no_peer and QUERIES.is_file():
        peer(report, rates, vectors_folder("glove-100d"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report.add("peak memory of this benchmark itself", f"{peak:,.0f} MB")
    table = report.table()
    (WORK / "figures.md").write_text(table + "\n", encoding="utf-8")
    print(f"\n{table}")


if __name__ == "__main__":
    main()
