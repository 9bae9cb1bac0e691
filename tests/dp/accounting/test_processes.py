"""One budget for several processes, also where one of them is killed or forks."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from veil import dp

TENTH = "geometric(epsilon=0.1)"
PATIENCE = 120  # seconds for a process that must end at all

SPEND = """
import sys
from veil import dp
from veil.core.errors import BudgetError
budget = dp.Budget(epsilon=float(sys.argv[2]), path=sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
done = 0
for _ in range(int(sys.argv[3])):
    try:
        budget.spend("geometric(epsilon=0.1)")
    except BudgetError:
        break
    done += 1
    print("charged", flush=True)
    if len(sys.argv) > 4:
        sys.stdin.readline()  # where the answer would be made
print("end", done, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def start(path: Path, epsilon: float, times: int, *wait: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SPEND, str(path), str(epsilon), str(times), *wait],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()


def test_two_processes_share_one_budget(path: Path) -> None:
    processes = [start(path, 5, 40) for _ in range(2)]  # both make the file, and one is faster
    for process in processes:
        go(process)
    said = [process.communicate(timeout=PATIENCE)[0].split() for process in processes]
    done = [int(words[-1]) for words in said]
    assert sum(done) == 50
    budget = dp.Budget(epsilon=5, path=path)
    assert budget.spent.epsilon == 5.0
    assert [event.number for event in budget.events] == list(range(1, 51))
    assert [entry.name for entry in path.parent.iterdir()] == ["ledger"]


def test_a_kill_between_charge_and_answer_costs_budget(path: Path) -> None:
    process = start(path, 1, 5, "wait")
    go(process)
    assert process.stdout is not None
    assert process.stdout.readline() == "charged\n"
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert dp.Budget(epsilon=1, path=path).spent.epsilon == 0.1


def test_a_kill_at_any_time_loses_no_charge_that_returned(path: Path) -> None:
    process = start(path, 1000, 10_000)
    go(process)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(25)]
    process.kill()
    rest, _ = process.communicate(timeout=PATIENCE)
    returned = [*said, *rest.splitlines(keepends=True)].count("charged\n")
    budget = dp.Budget(epsilon=1000, path=path)
    assert returned <= len(budget.events) <= returned + 1
    budget.spend(TENTH)


KILL = """
import os, signal, sys
from veil import dp
from veil.dp.accounting import charges
name = sys.argv[2]
module = os if name in ("fsync", "link") else charges

def kill(*arguments, **_):
    if name != "fsync" or os.fstat(arguments[0]).st_size:
        os.kill(os.getpid(), signal.SIGKILL)

setattr(module, name, kill)
dp.Budget(epsilon=1, path=sys.argv[1])
"""


@pytest.mark.parametrize("moment", ["make_tables", "fsync", "link", "_sync"])
def test_a_kill_while_a_ledger_is_made_leaves_no_part_of_it(path: Path, moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILL, str(path), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert {entry.name for entry in path.parent.iterdir()} <= {"ledger"}
    dp.Budget(epsilon=1, path=path).spend(TENTH)
    assert [entry.name for entry in path.parent.iterdir()] == ["ledger"]


def test_parts_that_earlier_versions_left_are_removed(path: Path) -> None:
    left, fresh = (path.parent / f".ledger-{name}" for name in ("abcd_123", "abcd_124"))
    other = path.parent / ".ledger-of-the-shop"
    for file in (left, fresh, other, path.parent / ".ledger-abcd_123-journal"):
        file.write_text("part")
        if file != fresh:
            os.utime(file, (0, 0))
    dp.Budget(epsilon=1, path=path)
    assert {entry.name for entry in path.parent.iterdir()} == {"ledger", fresh.name, other.name}


def test_a_new_ledger_is_whole_and_for_its_owner_alone(path: Path) -> None:
    dp.Budget(epsilon=1, path=path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_nlink == 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
def test_a_fork_shares_the_budget(path: Path) -> None:
    budget = dp.Budget(epsilon=1, path=path)
    budget.spend(TENTH)
    script = (
        "import os, sys\nfrom veil import dp\n"
        f"b = dp.Budget(epsilon=1, path={str(path)!r})\nb.spend({TENTH!r})\n"
        "child = os.fork()\n"
        f"b.spend({TENTH!r})\n"
        "os._exit(0) if child == 0 else os.waitpid(child, 0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE)
    assert budget.spent.epsilon == 0.4
