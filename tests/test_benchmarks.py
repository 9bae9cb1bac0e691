"""Benchmarks end with one sentence where their data or a package is not at hand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKED = """
import runpy, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

blocked, module = sys.argv[1:]
sys.meta_path.insert(0, Blocked())
del sys.argv[1:]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def ended(*command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("module", "variable"), [("ratings_attacks", "VEIL_RATINGS"), ("sensitive", "VEIL_SARA")]
)
def test_data_that_is_not_at_hand_is_named(module: str, variable: str, tmp_path: Path) -> None:
    told = ended("-m", f"benchmarks.{module}", **{variable: str(tmp_path / "nowhere")})
    assert variable in told
    assert str(tmp_path) not in told


def test_a_package_that_is_missing_is_named(tmp_path: Path) -> None:
    told = ended("-c", BLOCKED, "bm25s", "benchmarks.sensitive", VEIL_SARA=str(tmp_path))
    assert "bm25s" in told
