"""Whatever is killed, and when: nothing is lost, nothing is computed twice or left over."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from veil.core.errors import EngineError
from veil.studies import domains
from veil.studies import sweep as sweep_module
from veil.studies.experiment import Step
from veil.studies.store import FILE, Result, Store
from veil.studies.study import Study
from veil.studies.sweep import sweep

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here"),
]
STEPS = 19
RUN = """
import sys, time
from pathlib import Path
from veil.studies.domains import load_study
from veil.studies.sweep import sweep
folder = Path(sys.argv[1])

def hold(message, done, total):
    while done >= 12:  # however late it is looked at, it has not ended
        time.sleep(0.05)

study = load_study(folder / "tiny.toml")
sweep(study, folder / "out", workers=int(sys.argv[2]), report=hold)
"""


def _start(folder: Path, workers: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _stored(folder: Path) -> set[str]:
    if not (folder / "out" / FILE).is_file():
        return set()
    with Store(folder / "out") as store:
        return store.keys()


def _wait_for(folder: Path, count: int, process: "subprocess.Popen[str]") -> None:
    """Wait until some steps are stored, but not all of them."""
    end = time.monotonic() + 300
    while len(_stored(folder)) < count:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.02)


def _children(pid: int) -> list[int]:
    file = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(each) for each in file.read_text().split()] if file.is_file() else []


def _gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


PATIENCE = float(os.environ.get("VEIL_TEST_PATIENCE", "120"))  # less for a fault on purpose


def _wait_until_gone(children: list[int]) -> None:
    end = time.monotonic() + PATIENCE
    while (left := [pid for pid in children if not _gone(pid)]) and time.monotonic() < end:
        time.sleep(0.1)
    for pid in left:  # leave nothing behind, also when this fails
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lists the keys of the steps that are computed in this process."""
    keys: list[str] = []

    def counting(study: Study, step: Step, of: Result | None) -> Result:
        keys.append(step.key)
        return domains.compute(study, step, of)

    monkeypatch.setattr(sweep_module, "compute", counting)
    return keys


@pytest.mark.parametrize(("workers", "after"), [(0, 1), (0, 6), (2, 4)])
def test_a_killed_sweep_goes_on_where_it_was(
    workers: int, after: int, study: Study, folder: Path, computed: list[str]
) -> None:
    process = _start(folder, workers)
    _wait_for(folder, after, process)
    children = _children(process.pid)
    process.kill()
    process.wait(timeout=120)
    _wait_until_gone(children)  # workers do not outlive their parent
    process.communicate(timeout=120)
    before = _stored(folder)
    assert after <= len(before) < STEPS
    found = sweep(study, folder / "out", workers=0)
    assert len(computed) == STEPS - len(before)  # nothing was computed twice
    assert not before & set(computed)
    assert before | set(computed) == _stored(folder)  # and nothing was lost
    assert found.rows == sweep(study, folder / "whole", workers=0).rows


def test_ctrl_c_ends_it_promptly(folder: Path) -> None:
    process = _start(folder, 2)
    _wait_for(folder, 2, process)
    children = _children(process.pid)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert said.count("Traceback") <= 1  # of this process alone
    assert said.rstrip().endswith("KeyboardInterrupt")
    _wait_until_gone(children)
    assert len(_stored(folder)) >= 2


def test_a_worker_that_is_killed_costs_no_result(study: Study, folder: Path) -> None:
    killed: list[int] = []

    def kill_one(message: str, done: int, total: int) -> None:
        if total == STEPS and done in (2, 7) and len(killed) < 2:
            victim = multiprocessing.active_children()[0]
            assert victim.pid is not None
            killed.append(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)

    found = sweep(study, folder / "out", workers=2, report=kill_one)
    assert len(set(killed)) == 2
    assert found.rows == sweep(study, folder / "whole", workers=0).rows


def _deadly(study: Study, step: Step, of: Result | None) -> Result:
    """Compute a step, or die over one kind of it."""
    if step.kind == "similarity" and multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return domains.compute(study, step, of)


def test_a_step_that_kills_its_workers_is_given_up(
    study: Study, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_module, "compute", _deadly)
    with pytest.raises(
        EngineError, match=r"A worker died 3 times over one step \(.* of .*\), per"
    ):
        sweep(study, folder / "out", workers=1)
    assert _stored(folder)
    monkeypatch.undo()
    monkeypatch.setenv("VEIL_CACHE", str(folder / "cache"))
    found = sweep(study, folder / "out", workers=0)
    assert Counter(row.kind for row in found.rows)["similarity"] == 18
