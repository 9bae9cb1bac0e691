"""Leaving: at once where something is made in the background, else as usual."""

import subprocess
import sys

import pytest

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
