"""Print what exact noise, local reports and private SQL cost, as ratios within one run.

Draws of the sampler alone are timed next to whole releases (`dp.release`), which also check their
input, round it to the grid and state their cost. The peer opendp is installed into an environment
of its own under ``.benchmarks``; ``--no-peer`` leaves it out.
"""

import argparse
import csv
import json
import math
import resource
import subprocess
import tempfile
import time
import venv
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from benchmarks.report import Report, best

from veil import dp
from veil.core.rng import generator
from veil.dp.exact.samplers import discrete_gaussian, discrete_laplace

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".benchmarks"
PUMS = HERE.parents[1] / "shared" / "data" / "counts" / "pums.csv"
PEER = "opendp==0.16.0"
MILLION = 1_000_000
CLIENTS = 200_000
QUERY = "SELECT COUNT(*) FROM people"
GROUPS = "SELECT town, COUNT(*), SUM(income) FROM people GROUP BY town"


def draws(report: Report) -> float:
    """Draw a million exact whole numbers beside NumPy's floats; return seconds a draw."""
    rng = generator(None)
    ours = best(lambda: discrete_laplace(Fraction(2), MILLION, rng), 7)
    floats = best(lambda: rng.laplace(0.0, 2.0, MILLION), 7)
    report.add("1 M exact discrete Laplace draws, scale 2, sampler alone", f"{1e3 * ours:.1f} ms")
    ratio = ours / floats
    report.add("  beside NumPy's float Laplace", f"{ratio:.2f} times", "at most 1")
    for name, work in (
        ("scale 100", lambda: discrete_laplace(Fraction(100), MILLION, rng)),
        ("scale 1,000,000", lambda: discrete_laplace(Fraction(10**6), MILLION, rng)),
        ("Gaussian, sigma 10", lambda: discrete_gaussian(Fraction(100), MILLION, rng)),
        ("Gaussian, sigma 1,000,000", lambda: discrete_gaussian(Fraction(10**12), MILLION, rng)),
    ):
        report.add(f"  {name}", f"{1e9 * best(work, 3) / MILLION:.0f} ns a draw")
    return ours / MILLION


def releases(report: Report) -> dict[str, float]:
    """Release a million numbers beside NumPy's float noise; return seconds a number."""
    rng, seconds = generator(None), {}
    counts = np.arange(MILLION) % 1_000
    reals = counts + 0.25
    for spec, x, plain in (
        ("geometric(epsilon=0.5)", counts, lambda: counts + rng.laplace(0.0, 2.0, MILLION)),
        ("laplace(epsilon=0.5)", reals, lambda: reals + rng.laplace(0.0, 2.0, MILLION)),
        ("gaussian(sigma=2)", reals, lambda: reals + rng.normal(0.0, 2.0, MILLION)),
    ):
        mechanism = dp.mechanism(spec)
        ours = best(lambda m=mechanism, x=x: dp.release(x, m), 5)  # type: ignore[misc]
        report.add(f"dp.release of 1 M numbers, {spec}", f"{1e3 * ours:.1f} ms")
        report.add("  beside NumPy's float noise", f"{ours / best(plain, 5):.2f} times")
        seconds[mechanism.name] = ours / MILLION
    return seconds


def peer(report: Report, ours: float, released: dict[str, float]) -> None:
    """Install the peer into its own environment, measure it there, and print the ratios."""
    env = WORK / "peer-dp-env"
    python = env / "bin" / "python"
    try:
        if not (env / "ready").is_file():
            venv.create(env, with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", PEER]
            subprocess.run(install, check=True, capture_output=True)
            (env / "ready").touch()
        command = [str(python), str(HERE / "dp_peer.py")]
        ages = _ages()
        if ages:
            listed = WORK / "peer-dp-ages.txt"
            listed.write_text("\n".join(map(str, ages)))
            command.append(str(listed))
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        report.add("exact draws against the peer", f"not measured ({type(error).__name__})")
        return
    figures = json.loads(told.stdout)
    whole, real = (figures[name] / figures["draws"] for name in ("seconds", "real_seconds"))
    report.add("peer: discrete Laplace, a number", f"{1e6 * whole:,.1f} microseconds")
    report.add("exact draws, sampler alone, against the peer", f"1/{whole / ours:,.0f}", "1/1,000")
    for name, theirs in (("geometric", whole), ("laplace", real)):
        report.add(f"dp.release, {name}, against the peer", f"1/{theirs / released[name]:,.0f}")
    if ages:
        medians(report, ages, figures["median_error"])


def _ages() -> list[int]:
    """Read the ages of 1,000 people, if they are at hand."""
    if not PUMS.is_file():
        return []
    with PUMS.open(newline="", encoding="utf-8") as file:
        return [int(row["age"]) for row in csv.DictReader(file)]


def medians(report: Report, ages: list[int], theirs: float) -> None:
    """Compare the mean error of the median, by its exact law, with that of the peer."""
    law = dp.law("quantile(epsilon=0.1, q=0.5, low=0, high=100)", ages, range(101))
    ours = float(law @ np.abs(np.arange(101) - np.median(ages)))
    report.add("median age of 1,000 people, epsilon 0.1: mean error", f"{ours:.3f} years")
    report.add("  peer", f"{theirs:.3f} years")
    report.add("  beside the peer", f"{ours / theirs:.2f} times", "at most 1.2")


def scalar(report: Report) -> None:
    """Release one number, each time with a fresh generator."""
    for spec in ("geometric(epsilon=0.5)", "laplace(epsilon=0.5)", "gaussian(sigma=4)"):
        mechanism = dp.mechanism(spec)
        times = 300

        def some(mechanism: dp.Mechanism = mechanism, times: int = times) -> None:
            for _ in range(times):
                dp.release(120, mechanism)

        each = 1e6 * best(some, 5) / times
        report.add(f"scalar release, {spec}", f"{each:.0f} microseconds", "at most 200")


def local(report: Report) -> None:
    """Report words of clients."""
    words = [f"word{i % 1000}" for i in range(CLIENTS)]
    codes = np.arange(CLIENTS) % 500
    for spec, values, target in (
        ("grr(epsilon=4, size=500)", codes, ""),
        ("hcms(epsilon=4)", words, "at most 0.5"),
        ("cms(epsilon=4, hashes=64, width=1024)", words, "at most 6"),
        ("rappor(f=0.5, p=0.5, q=0.75, bits=128, hashes=2, cohorts=8)", words, "at most 4"),
        ("oue(epsilon=4, size=500)", codes, ""),
    ):
        oracle = dp.oracle(spec)
        each = 1e6 * best(lambda o=oracle, v=values: dp.report(v, o), 3) / CLIENTS  # type: ignore[misc]
        report.add(f"report of a client, {spec}", f"{each:.2f} microseconds", target)


def stream(report: Report) -> None:
    """Report ten million words one after the other, and estimate; first, so that memory shows."""
    words, before = (f"word{i % 1000}" for i in range(10 * MILLION)), _peak()
    start = time.process_time()
    dp.estimate(dp.report_blocks(words, "hcms(epsilon=4)"), ["word1", "word2"])
    seconds, more = time.process_time() - start, _peak() - before
    report.add(
        "10 M hcms reports, streamed", f"{seconds:.1f} CPU s, {more:.0f} MB more than before"
    )


def _peak() -> float:
    """Return the most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def people(file: Path, rows: int, units: int) -> None:
    """Make a table of people in towns, each with several rows."""
    with duckdb.connect(str(file)) as db:
        db.execute(
            "CREATE TABLE people AS SELECT CAST(hash(i) % ? AS BIGINT) AS person,"
            " CAST(hash(i + 7) % 10 AS BIGINT) AS town,"
            " CAST(hash(i + 13) % 100000 AS BIGINT) AS income FROM range(?) AS t(i)",
            [units, rows],
        )


def sql(report: Report) -> None:
    """Ask a small and a large database, beside the plain query."""
    with tempfile.TemporaryDirectory(prefix="veil-bench-") as scratch:
        small, large = Path(scratch) / "small.duckdb", Path(scratch) / "large.duckdb"
        people(small, 1_000, 1_000)
        people(large, MILLION, 400_000)
        _count(report, small)
        _groups(report, large)


def _count(report: Report, file: Path) -> None:
    policy = {
        "budget": {"epsilon": 1e9, "ledger": "none"},
        "tables": {"people": {"columns": {"town": {"keys": list(range(10))}}}},
    }
    db = dp.connect(f"duckdb:{file}", policy)
    ours = best(lambda: db.sql(QUERY, epsilon=0.5), 30)
    errors = [abs(float(str(db.sql(QUERY, epsilon=0.5).rows[0][0])) - 1_000) for _ in range(2_000)]
    db.close()
    with duckdb.connect(str(file), read_only=True) as plain_db:
        plain = best(lambda: plain_db.execute(QUERY).fetchall(), 30)
    report.add("COUNT, 1,000 rows", f"{1e3 * ours:.2f} ms, plain {1e3 * plain:.2f} ms")
    report.add("  over the plain query", f"{1e3 * (ours - plain):.2f} ms", "at most 10")
    ideal = 1 / math.sinh(0.5)  # E|Z| of the discrete Laplace law, 2q / (1 - q^2)
    ratio = float(np.mean(errors)) / ideal
    report.add("  mean error beside the ideal discrete Laplace", f"{ratio:.2f}", "0.9 to 1.1")


def _groups(report: Report, file: Path) -> None:
    policy = {
        "budget": {"epsilon": 1e9, "ledger": "none"},
        "tables": {
            "people": {
                "unit": "person",  # one row of a unit counts, in one group: as policies begin
                "columns": {
                    "town": {"keys": list(range(10))},
                    "income": {"bounds": [0, 100_000]},
                },
            }
        },
    }
    db = dp.connect(f"duckdb:{file}", policy)
    ours = best(lambda: db.sql(GROUPS, epsilon=1.0), 3)
    count = best(lambda: db.sql("SELECT town, COUNT(*) FROM people GROUP BY town", epsilon=1.0), 3)
    db.close()
    with duckdb.connect(str(file), read_only=True) as plain_db:
        plain_db.execute("SET threads = 1")
        plain = best(lambda: plain_db.execute(GROUPS).fetchall(), 3)
    report.add("GROUP BY with bounding, 1 M rows, 400,000 units", f"{count:.2f} s", "at most 0.35")
    report.add("  with a sum beside the count", f"{ours:.2f} s, plain {plain:.3f} s")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peer", action="store_true", help="leave out the peer")
    options = parser.parse_args()
    print("Counts and answers:")
    report = Report()
    stream(report)
    each = draws(report)
    released = releases(report)
    if not options.no_peer:
        peer(report, each, released)
    scalar(report)
    local(report)
    sql(report)


if __name__ == "__main__":
    main()
