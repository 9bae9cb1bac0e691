"""The faults of the source that tests must notice, as listed in `tests/mutants`, and a run of one.

A run is a fork of a server that has the large libraries in memory, and nothing of Veil: to load
them takes longer than most of the tests.
"""

import multiprocessing
import os
import shutil
import sys
import time
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    "click",
    "duckdb",
    "hypothesis",
    "hypothesis.extra.numpy",
    "nltk",
    "numba",
    "numpy",
    "pyarrow.parquet",
    "pydantic",
    "pyproj",
    "randomgen",
    "rich.console",
    "rich.progress",
    "scipy.fft",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.spatial",
    "scipy.stats",
    "shapely",
    "sqlglot",
    "starlette.applications",
    "tests.mutation",
    "urllib.request",
    "uvicorn",
)
SECONDS = 600


def listed() -> list[dict[str, Any]]:
    """Read the mutants of all packages, or those of the files in VEIL_MUTANTS_OF."""
    wanted = os.environ.get("VEIL_MUTANTS_OF", "").split()
    return [
        mutant
        for path in sorted((ROOT / "tests" / "mutants").glob("*.toml"))
        for mutant in tomllib.loads(path.read_text())["mutant"]
        if not wanted or mutant["file"] in wanted
    ]


@dataclass(frozen=True)
class Run:
    """How pytest ended on a mutant (None: it did not), and what it wrote."""

    code: int | None
    output: str


def run(mutant: dict[str, Any], source: Path, folder: Path, environment: dict[str, str]) -> Run:
    """Run the tests of a mutant of the package in `source`, in a process of its own."""
    _mutate(mutant, source, folder / "veil")
    tests = mutant["tests"]
    log = folder / "output"
    log.touch()
    process = _SERVER.Process(
        target=_test,
        args=([tests] if isinstance(tests, str) else tests, folder, log, environment),
    )
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    code = folder / "code"  # the exit code of a fork is lost at times: its server says 255 then
    ended = int(code.read_text()) if code.exists() else None
    return Run(ended, log.read_text(errors="replace"))


def _mutate(mutant: dict[str, Any], source: Path, folder: Path) -> None:
    shutil.copytree(source, folder, copy_function=_link)
    path = folder / mutant["file"]
    text = path.read_text()
    path.unlink()  # the file itself is the one of the source
    path.write_text(text.replace(mutant["old"], mutant["new"]))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)


def _test(tests: list[str], folder: Path, log: Path, environment: dict[str, str]) -> None:
    written = os.open(log, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(written, stream)
    os.environ.clear()
    os.environ.update(environment, PYTHONPATH=str(folder), VEIL_TEST_PATIENCE="20")
    os.environ["VEIL_TEST_EXAMPLES"] = "same"  # drawn alike each time: killed once, always killed
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = (
        "1"  # plugins take longer than most of the tests
    )
    os.chdir(ROOT)
    if "veil" in sys.modules:
        raise RuntimeError("the server of mutants has loaded the package itself")
    sys.path.insert(0, str(folder))
    began = time.process_time()
    end = _End()
    with suppress(pytest.PytestUnraisableExceptionWarning):  # what a failed test left open
        pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests], [end])
    print(f"{time.process_time() - began:.1f} s of a processor")  # noqa: T201
    (folder / "code").write_text(str(end.code))  # not there after a fault on the way here


class _End:
    """How the tests ended, whatever is found when they are cleared away."""

    code = int(pytest.ExitCode.INTERNAL_ERROR)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.code = int(exitstatus)


def _server() -> Any:  # noqa: ANN401
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(LIBRARIES))
    return context


_SERVER = _server()
