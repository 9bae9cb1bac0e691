"""Measure what a second worker of a Dask cluster is worth: a real scheduler, real processes.

Each worker is bound to one processor before it loads anything, so that every pool of threads in it
has one thread. Searches are left out: what is timed is drawing variants and encoding them.
"""

import importlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from veil.studies.domains import compute, open_experiment, parse_study
from veil.studies.experiment import Step
from veil.studies.pool import dask_executor
from veil.studies.store import Result, Store
from veil.studies.study import Grid, Study
from veil.studies.sweep import sweep

ROOT = Path(__file__).resolve().parents[1]
STUDY = """
collection = "icd10cm"
queries = 40
sizes = [15]
attackers = ["inference"]

[[mechanism]]
spec = "cmp"
parameter = "epsilon"
values = [5, 10, 20]

[[mechanism]]
spec = "mahalanobis"
parameter = "epsilon"
values = [5, 10, 20]

[[mechanism]]
spec = "vickrey"
parameter = "epsilon"
values = [5, 10, 20]

[[mechanism]]
spec = "custext"
parameter = "epsilon"
values = [1, 5, 10]
"""
_RUN = """
import os, sys
if sys.argv[1]:
    os.sched_setaffinity(0, {int(sys.argv[1])})
from distributed.cli.dask_%s import main
sys.exit(main(sys.argv[2:]))
"""


def restricted() -> Study:
    """Return the study that is timed."""
    return parse_study(STUDY, "cluster.toml", ROOT)


def warm(study: Study, steps: Sequence[Step]) -> None:
    """Open in this process everything that the steps of a study need."""
    made = compute(study, steps[0], None)
    for step in steps[1:]:
        compute(study, step, made)


def other_steps(study: Study) -> list[Step]:
    """Return the steps of a small configuration that the study does not have."""
    grid = Grid(spec="cmp(epsilon=7)")
    other = study.model_copy(update={"mechanism": (grid,), "sizes": (2,)})
    cell = open_experiment(other).cells()[0]
    return [cell.release, *(step for step in cell.steps if step.kind != "search")]


def seconds(study: Study, processors: Sequence[int]) -> float:
    """Time a sweep into a new store, with one worker on each of these processors."""
    distributed: Any = importlib.import_module("distributed")
    with (
        tempfile.TemporaryDirectory(prefix="veil-") as scratch,
        cluster(processors, Path(scratch)) as address,
        dask_executor(address) as executor,
    ):
        out, steps = Path(scratch) / "out", other_steps(study)
        without_searches(study, out)
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(len(processors), timeout=120)
            workers = client.scheduler_info()["workers"]
            tasks = [client.submit(warm, study, steps, workers=[w], pure=False) for w in workers]
            client.gather(tasks)
        start = time.perf_counter()
        sweep(study, out, executor=executor)
        return time.perf_counter() - start


def without_searches(study: Study, out: Path) -> None:
    """Have what every worker needs on disk, and put an empty result in place of each search."""
    experiment = open_experiment(study)
    steps = [step for cell in experiment.cells() for step in cell.steps]
    experiment.prepare([step for step in steps if step.kind == "attack"])
    searches = [step for step in steps if step.kind == "search"]
    with Store(out) as store:
        for step in (*experiment.plain(), *searches):
            store.put(step.key, step.kind, step.spec, Result())


@contextmanager
def cluster(processors: Sequence[int], scratch: Path) -> Iterator[str]:
    """Start a scheduler and a worker on each of these processors; yield the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    address, here = f"tcp://127.0.0.1:{port}", ["--no-dashboard", "--host", "127.0.0.1"]
    with ExitStack() as running:
        running.enter_context(_started("scheduler", "", [*here, "--port", str(port)]))
        for number in processors:
            options = [address, *here, "--no-nanny", "--nthreads", "1"]
            options += ["--local-directory", str(scratch / f"worker{number}")]
            running.enter_context(_started("worker", str(number), options))
        yield address


@contextmanager
def _started(kind: str, processor: str, options: list[str]) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN % kind, processor, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def processors() -> list[int]:
    """Return the processors that this process may use; none where they cannot be told apart."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
