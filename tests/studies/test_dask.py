"""The same study on a Dask cluster: a real scheduler, two worker processes, one of them killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from veil.core.errors import EngineError, MissingExtraError
from veil.studies.pool import dask_executor
from veil.studies.store import Store
from veil.studies.study import Study
from veil.studies.sweep import sweep

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of a library that is not ours
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="there is no SIGALRM here"),
]
SECONDS = 600  # a busy machine takes its time
ADDRESS = "tcp://127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """End a test that hangs."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError("the cluster took too long")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _dask(*arguments: str) -> "subprocess.Popen[bytes]":
    code = "import sys; from distributed.cli.{0} import main; sys.exit(main(sys.argv[1:]))"
    kind, *rest = arguments
    return subprocess.Popen(
        [sys.executable, "-c", code.format(kind), *rest],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).resolve().parents[2],
    )


def _told(file: Path, scheduler: "subprocess.Popen[bytes]") -> str:
    """Wait until the scheduler has written where it is."""
    while scheduler.poll() is None:
        with suppress(OSError, ValueError, KeyError):
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.1)
    raise AssertionError("the scheduler ended")


@pytest.fixture
def cluster(folder: Path) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """A scheduler and two workers, each a process of its own that nobody restarts."""
    file = folder / "scheduler.json"  # it takes a port that is free, and says which
    options = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0"]
    scheduler = _dask("dask_scheduler", *options, "--scheduler-file", str(file))
    address = _told(file, scheduler)
    one = [address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    workers = [
        _dask("dask_worker", *one, "--local-directory", str(folder / f"worker{number}"))
        for number in range(2)
    ]
    yield address, [*workers, scheduler]
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


def test_a_cluster_gives_the_same_though_a_worker_dies(
    study: Study, folder: Path, cluster: tuple[str, list["subprocess.Popen[bytes]"]]
) -> None:
    address, workers = cluster
    killed: list[int] = []

    def kill_one(message: str, done: int, total: int) -> None:
        if total == 19 and done == 3 and not killed:
            killed.append(workers[0].pid)
            os.kill(workers[0].pid, signal.SIGKILL)

    with dask_executor(address, SECONDS) as executor:
        client = distributed.Client(address, set_as_default=False)
        client.wait_for_workers(2, timeout=300)
        client.close()
        found = sweep(study, folder / "out", executor=executor, report=kill_one)
    assert killed
    assert workers[1].poll() is None
    assert found.rows == sweep(study, folder / "whole", workers=0).rows


def test_a_sweep_ends_when_the_scheduler_dies(
    study: Study,
    folder: Path,
    cluster: tuple[str, list["subprocess.Popen[bytes]"]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, (*_, scheduler) = cluster
    monkeypatch.setattr("veil.studies.sweep._PATIENCE", 3.0)

    def kill_it(message: str, done: int, total: int) -> None:
        if done == 3:
            scheduler.kill()

    with (
        pytest.raises(EngineError, match="scheduler of the Dask cluster no longer answers"),
        dask_executor(address, SECONDS) as executor,
    ):
        sweep(study, folder / "out", executor=executor, report=kill_it)
    with Store(folder / "out") as store:
        assert len(store.keys()) >= 3  # what was done is kept


def test_nobody_answers() -> None:
    with (
        pytest.raises(EngineError, match=r"No Dask scheduler answers at tcp://127.0.0.1:\d+ \("),
        dask_executor(ADDRESS.format(port=_free_port()), seconds=2),
    ):
        pass


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingExtraError, match=r"pip install .*\[dask\]'"),
        dask_executor("tcp://127.0.0.1:1"),
    ):
        pass
