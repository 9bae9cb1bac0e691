"""Tables on a Dask cluster: a real scheduler and two worker processes, counts merged."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tables.people import written
from tests.tables.test_blocks import N, in_memory, parts, rows, source

from veil import tables
from veil.cli import veil
from veil.studies.pool import dask_executor
from veil.tables.blocks import Blocks, protect_blocks

distributed: Any = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of a library not ours


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A scheduler and two workers, each a process of its own."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
    ) as cluster:
        yield cluster.scheduler_address


def _pid(seconds: float) -> int:
    import time

    time.sleep(seconds)
    return os.getpid()


def test_a_cluster_releases_and_measures_what_one_machine_does(
    address: str, tmp_path: Path
) -> None:
    path = written(tmp_path, N)
    folder = parts(path, tmp_path / "parts")
    table, _ = source(path).opened(path)
    with dask_executor(address) as executor:
        tasks = [executor.submit(_pid, 0.5) for _ in range(4)]
        assert len({task.result() for task in tasks} - {os.getpid()}) == 2  # both are at work
        blocks = Blocks.of(folder, source(path), 40, executor)
        assert blocks.anonymity() == tables.anonymity(table)
        cells = blocks.tabulate(["district", "illness"])
        assert (cells.values == tables.tabulate(table, by=["district", "illness"]).values).all()
        release = protect_blocks(blocks, "ola(k=5, suppression=0.1)", tmp_path / "out")
        draws = [
            protect_blocks(blocks, "random_response(epsilon=1)", tmp_path / name, seed=seed)
            for name, seed in (("one", None), ("two", None), ("three", 1), ("four", 1))
        ]
    whole = in_memory(path, "ola(k=5, suppression=0.1)", tmp_path / "whole.csv")
    files = sorted((tmp_path / "out").iterdir())
    joined = rows(files[0]) + rows(files[1])[1:] + rows(files[2])[1:]
    assert joined == rows(tmp_path / "whole.csv")
    assert (release.rows, release.suppressed) == (len(whole), whole.suppressed)
    texts = {
        name: [file.read_text(encoding="utf-8") for file in sorted((tmp_path / name).iterdir())]
        for name in ("one", "two", "three", "four")
    }
    assert texts["one"] != texts["two"]  # fresh draws, whoever worked
    assert texts["three"] == texts["four"]
    assert [file.seeded for file in draws] == [False, False, True, True]


def test_the_commands_take_a_cluster(address: str, tmp_path: Path) -> None:
    path = written(tmp_path, N)
    folder = parts(path, tmp_path / "parts")
    options = ["--qi", "age,sex,district", "--identifiers", "name", "--dask", address]
    options += ["--hierarchies", str(tmp_path / "levels"), "--blocks", "50"]
    out = tmp_path / "out"
    spec = "ola(k=5, suppression=0.1)"
    arguments = ["tables", "protect", str(folder), "-m", spec, "-o", str(out), *options]
    run = CliRunner().invoke(veil, arguments)
    assert run.exit_code == 0, run.output
    assert len(list(out.iterdir())) == 3
    run = CliRunner().invoke(veil, ["tables", "measure", str(out), "--dask", address])
    assert run.exit_code == 0, run.output
    assert "every row looks like at least" in run.output
