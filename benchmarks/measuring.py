"""Print the figures of measuring: the attack on a large log, a whole grid, a cluster, the claims.

Name parts to run those alone. Whatever needs data or room that is not there is skipped, with the
reason in its row.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import cluster
from benchmarks.inference import DIM, GIGABYTES, QUERIES, VARIANTS, seconds_of
from benchmarks.report import Report
from tests.reference import broken

import veil
from veil.data.fetch import cache_folder
from veil.measures.quipu import quipu as score
from veil.text.measures.claims import ClaimAudit, audit_claim
from veil.text.vectors.catalogue import vectors_folder
from veil.text.vectors.embeddings import FORMAT

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".benchmarks"
SHARED = ROOT.parent / "shared" / "data"
GRID = ROOT / "studies" / "quipu-dl19-pool.toml"
FETCHED = (
    *(f"vectors/glove-100d-{FORMAT}/{each}" for each in ("meta.json", "vectors.npy", "words.txt")),
    "encoders/minilm-l6-v2",
    "encoders/wordllama-l2-supercat-256",
    "wordnet/3.1",
)
SMALL = {"custext": ", k=6", "wbb": ", k=2, n=3"}  # groups and boxes for ten words
SAMPLES, SEED = 20_000, 1


@contextmanager
def cache(*fetched: str) -> Iterator[dict[str, str]]:
    """Give the environment of a new cache that holds nothing but what was fetched."""
    with tempfile.TemporaryDirectory(prefix="cache-", dir=WORK) as name:
        for each in fetched:
            found, target = cache_folder() / each, Path(name) / each
            target.parent.mkdir(parents=True, exist_ok=True)
            if found.is_dir():
                shutil.copytree(found, target)
            else:
                shutil.copy2(found, target)
        yield {**os.environ, "VEIL_CACHE": name}


def inference(report: Report) -> None:
    """Attack a log of 750,000 queries, the first time and then again."""
    what = "inference attack"
    free = shutil.disk_usage(WORK).free / 1e9
    if free < 1.2 * GIGABYTES:
        report.add(what, f"skipped: needs {GIGABYTES:.1f} GB of disk, {free:.1f} GB are free")
        return
    with cache() as environment:
        first, found = (_apart(part, environment) for part in ("first", "again"))
    what += f", log of {first['queries']:,.0f} x {DIM}"
    report.add(
        f"{what}: {QUERIES} queries of {VARIANTS} variants", f"{first['attack']:.0f} s cold"
    )
    report.add(f"{what}: with the vectors on disk", f"{found['attack']:.2f} s", "below 3 s")
    report.add(f"{what}: counting ranks alone", f"{found['ranks']:.2f} s")
    figure = f"{found['memory']:.0f} MB, {found['whole']:.0f} MB with counting the log"
    report.add(f"{what}: memory beside the mapped vectors", figure, "below 300 MB")
    figure = f"{found['right']:.0f} of {found['checked']:.0f} as by a plain loop"
    report.add(f"{what}: ranks", f"{figure}; {found['guessed']:.0%} guessed at once", "all")
    report.add("the same log: counted and packed", f"{found['log']:.2f} s")


def _apart(part: str, environment: dict[str, str]) -> dict[str, float]:
    """Run one half of the attack in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.inference", part]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def quipu(report: Report) -> None:
    """Compare scores with the published ones, where the figures show every point."""
    what, file = "QuIPU against the published scores", SHARED / "quipu" / "figure_points.json"
    if not file.is_file():
        report.add(what, f"skipped: no {file.name}")
        return
    rows: list[dict[str, Any]] = [row for row in json.loads(file.read_text()) if row["exact"]]
    gaps = [abs(score(*zip(*row["points"], strict=True)) - row["published"]) for row in rows]
    report.add(what, f"{len(gaps)} curves, largest deviation {max(gaps):.4f}", "0.0011")


def grid(report: Report) -> None:
    """Run a study of 86 configurations from nothing but what is fetched, and then again."""
    what = f"veil audit {GRID.name}"
    missing = [each for each in FETCHED if not (cache_folder() / each).exists()]
    if missing or not (SHARED / "collections" / "dl19-pool").is_dir():
        report.add(what, f"skipped: no {missing[0] if missing else 'collection dl19-pool'}")
        return
    with cache(*FETCHED) as environment, tempfile.TemporaryDirectory(prefix="veil-") as out:
        veil_command = Path(sys.executable).parent / "veil"
        command = [str(veil_command), "audit", str(GRID), "--out", out]

        def audit() -> None:
            subprocess.run(command, check=True, capture_output=True, env=environment)

        report.add(f"{what}: cold", f"{seconds_of(audit) / 60:.1f} min", "20 min")
        report.add(f"{what}: repeated", f"{seconds_of(audit):.1f} s", "10 s")


def dask(report: Report) -> None:
    """Time a study without searches on one worker of a cluster, and on two."""
    what, allowed = "Dask cluster, protecting and encoding", cluster.processors()
    if importlib.util.find_spec("distributed") is None or len(allowed) < 2:
        report.add(what, "skipped: needs the extra 'dask' and two processors that can be named")
        return
    if not vectors_folder("glove-100d").is_dir():
        report.add(what, "skipped: no glove-100d")
        return
    study = cluster.restricted()
    one, two = (cluster.seconds(study, allowed[:count]) for count in (1, 2))
    figure = f"{one / two:.2f} times as fast ({one:.0f} s and {two:.0f} s)"
    report.add(f"{what}: two workers against one", figure, "1.7")


def claims(report: Report) -> None:
    """Hold every claim against samples, and see that false ones are exposed."""
    for name in veil.MECHANISMS.builtin:
        mechanism = veil.MECHANISMS.parse(f"{name}(epsilon=1{SMALL.get(name, '')})")
        audit = audit_claim(mechanism, broken.ring(), samples=SAMPLES, rng=SEED)
        proved = audit.worst.source == "proved"
        target = "not refuted" if proved else "none: it is the paper's claim, not ours"
        report.add(f"claim of {name}", _verdict(audit), target)
    for what, (mechanism, space, words) in broken.violations().items():
        audit = audit_claim(mechanism, space, words, samples=SAMPLES, rng=SEED)
        report.add(f"false claim: {what}", _verdict(audit), "refuted")


def _verdict(audit: ClaimAudit) -> str:
    worst = audit.worst
    said = f"measured at least {worst.lower:.3f}, {worst.source} {worst.claimed:.3f}"
    return f"{said}: {'refuted' if audit.exceeded else 'not refuted'}"


PARTS: dict[str, Callable[[Report], None]] = {
    "inference": inference,
    "quipu": quipu,
    "claims": claims,
    "dask": dask,
    "grid": grid,
}


def main() -> None:
    """Run the parts that were named, or all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}  [default: all]")
    named = parser.parse_args().parts
    if not set(named) <= set(PARTS):
        parser.error(f"the parts are {', '.join(PARTS)}")
    WORK.mkdir(exist_ok=True)
    report = Report()
    print(f"{os.cpu_count()} cores")
    for name, part in PARTS.items():
        if not named or name in named:
            part(report)
    table = report.table()
    (WORK / "measuring.md").write_text(table + "\n", encoding="utf-8")
    print(f"\n{table}")


if __name__ == "__main__":
    main()
