"""A failure is printed when it happens, while other tests still run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # which takes longer than the tests
}
CONFTEST = "from tests.failures import name_failures as pytest_configure\n"
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
    output = ""
    while "test_has_no_fixture" not in output and time.monotonic() < end:
        time.sleep(0.05)
        output = Path("output.txt").read_text()
    assert "FAILED NOW test_odd.py::test_fails (call)" in output
    assert "FAILED NOW test_odd.py::test_has_no_fixture (setup)" in output
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_failure_is_named_while_others_run(tmp_path: Path, workers: str) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_odd.py").write_text(TESTS)
    with (tmp_path / "output.txt").open("w") as output:
        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", workers],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    text = (tmp_path / "output.txt").read_text()
    assert code == 1, text
    assert "1 failed, 1 passed, 1 error" in text


def test_what_cannot_be_collected_is_named(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_odd.py").write_text("import nothing_of_that_name\n")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "FAILED NOW test_odd.py (collect)" in result.stdout
