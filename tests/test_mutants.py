"""The tests notice faults: each mutant of the source must make its tests fail."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import veil

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(veil.__file__).parent
MUTANTS = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())["mutant"]
FAILED = 1  # pytest's exit code when tests ran and some failed


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["what"])
def test_mutant_is_killed(mutant: dict[str, str], tmp_path: Path) -> None:
    text = (SOURCE / mutant["file"]).read_text()
    assert text.count(mutant["old"]) == 1, "the place to change is not there exactly once"
    if "_fused" in mutant["file"]:
        pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    shutil.copytree(SOURCE, tmp_path / "veil")  # with the compiled kernels and their dates
    (tmp_path / "veil" / mutant["file"]).write_text(text.replace(mutant["old"], mutant["new"]))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*command, mutant["tests"]],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == FAILED, f"survived or did not run:\n{result.stdout[-2000:]}"


def test_every_mechanism_has_a_mutant() -> None:
    files = {mutant["file"] for mutant in MUTANTS}
    for name in veil.MECHANISMS.builtin:
        assert f"mechanisms/words/{name}.py" in files
    for name in veil.QUERY_MECHANISMS.builtin:
        assert f"mechanisms/queries/{name}.py" in files
