"""Threads that share out rows; and leaving, at once where something is still being made."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from veil.core import parallel
from veil.core.parallel import Threads, in_threads

_PROGRAM = """
import atexit, threading
from veil.core.parallel import BACKGROUND, leave
atexit.register(print, "the usual end")
threading.Thread(target=threading.Event().wait, name=NAME, daemon=True).start()
print("all said", end="")
leave(3)
"""


@pytest.mark.parametrize(
    ("name", "said"), [("BACKGROUND", "all said"), ("'other'", "all saidthe usual end\n")]
)
def test_threads_in_the_background_are_not_torn_out_of_their_work(name: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.replace("NAME", name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, said, "")


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_row_is_worked_on_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: count)
    for rows in (0, 1, 4, 11):
        seen = np.zeros(rows, dtype=int)

        def work(part: slice, seen: "np.ndarray[tuple[int], np.dtype[np.int_]]" = seen) -> None:
            seen[part] += 1

        in_threads(work, rows)
        assert (seen == 1).all()


def test_threads_are_the_same_for_all_their_work_and_errors_come_back_when_all_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    met: set[int] = set()
    ended = threading.Event()
    seen: list[float] = []

    def fails(part: slice) -> None:
        met.add(threading.get_ident())
        if part.start == 0:
            raise ValueError("the own part")
        threading.Event().wait(0.05)
        ended.set()

    with Threads() as threads:
        for _ in range(5):
            ended.clear()
            with pytest.raises(ValueError, match="own part"):
                threads.run(fails, 2)
            assert ended.is_set()  # nobody works on when an error is told
        assert len(met) == 2
        with pytest.raises(ZeroDivisionError):
            threads.run(lambda part: seen.append(1 / (1 - part.start)), 2)
        assert seen == [1.0]
