"""The tests notice faults: each mutant of the source must make its tests fail."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.mutation import Run, listed, run

import veil
from veil.core.parallel import cores

SOURCE = Path(veil.__file__).parent
MUTANTS = listed()
FAILED = 1  # pytest's exit code when tests ran and some failed


Outcomes = dict[str, "Future[Run]"]


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcomes]:
    """Run the mutants that were asked for, one per processor at a time."""
    wanted = {item.name for item in request.session.items}
    environment = dict(os.environ)  # pytest changes it while the threads are at work
    with ThreadPoolExecutor(cores()) as pool:
        yield {
            mutant["what"]: pool.submit(
                run, mutant, SOURCE, tmp_path_factory.mktemp("mutant"), environment
            )
            for mutant in MUTANTS
            if f"test_mutant_is_killed[{mutant['what']}]" in wanted
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["what"])
def test_mutant_is_killed(mutant: dict[str, Any], outcomes: Outcomes) -> None:
    text = (SOURCE / mutant["file"]).read_text()
    assert text.count(mutant["old"]) == 1, "the place to change is not there exactly once"
    if "_fused" in mutant["file"]:
        pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    if needed := mutant.get("needs"):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    result = outcomes[mutant["what"]].result()
    assert result.code == FAILED, f"survived or did not run:\n{result.output[-2000:]}"


def test_every_mechanism_has_a_mutant() -> None:
    files = {mutant["file"] for mutant in MUTANTS}
    for name in veil.MECHANISMS.builtin:
        assert f"text/mechanisms/words/{name}.py" in files
    for name in veil.QUERY_MECHANISMS.builtin:
        assert f"text/mechanisms/queries/{name}.py" in files


def test_every_measure_has_a_mutant() -> None:
    files = {mutant["file"] for mutant in MUTANTS}
    for place in veil.MEASURES.builtin.values():
        module = place.partition(":")[0].removeprefix("veil.")
        assert f"{module.replace('.', '/')}.py" in files
