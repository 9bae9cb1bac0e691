"""Worker processes that are ended: the program that had them must be able to end, too."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from veil.studies.pool import kill_workers, processes

def large(size):
    return bytes(size)

if __name__ == "__main__":
    pool = processes(2)
    results = [pool.submit(large, 200_000_000) for _ in range(4)]
    results[0].result()  # by now the other worker is in the middle of writing its own
    kill_workers(pool)
    print("ended", flush=True)
"""


@pytest.mark.slow
def test_workers_killed_in_the_middle_of_a_result_hold_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == b"ended\n"
