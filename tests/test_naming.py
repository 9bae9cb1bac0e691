"""A failure is named when it happens: while other tests still run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ALONE = {
    **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # which takes longer than the tests
}
CONFTEST = "from tests.naming import name_failures as pytest_configure\n"
TESTS = """
import time
from pathlib import Path

import pytest


def test_fails():
    assert False


@pytest.fixture
def broken():
    raise ValueError


def test_has_no_fixture(broken):
    pass


def test_waits():
    end = time.monotonic() + 120
    said = ""
    while "test_has_no_fixture" not in said and time.monotonic() < end:
        time.sleep(0.05)
        said = Path("said.txt").read_text()
    assert "FAILED NOW test_odd.py::test_fails (call)" in said
    assert "FAILED NOW test_odd.py::test_has_no_fixture (setup)" in said
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_failure_is_named_while_others_run(tmp_path: Path, workers: str) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_odd.py").write_text(TESTS)
    with (tmp_path / "said.txt").open("w") as said:
        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", workers],
            cwd=tmp_path,
            env=ALONE,
            stdout=said,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    told = (tmp_path / "said.txt").read_text()
    assert code == 1, told
    assert "1 failed, 1 passed, 1 error" in told


def test_what_cannot_be_collected_is_named(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_odd.py").write_text("import nothing_of_that_name\n")
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        env=ALONE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "FAILED NOW test_odd.py (collect)" in told.stdout
