"""``veil sensitive attack``: what it prints, and what it refuses."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.sensitive.test_study import CANARY, written

from veil.cli import veil


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the letters once."""
    return written(tmp_path_factory.mktemp("letters"))


def run(folder: Path, *given: str, columns: int = 200) -> tuple[int, str]:
    """Run the command on a folder."""
    text = CliRunner(env={"COLUMNS": str(columns)}).invoke(
        veil, ["sensitive", "attack", str(folder), *given]
    )
    return text.exit_code, f"{text.output}{text.exception or ''}"


def test_a_strategy_is_attacked_by_whom_one_names(folder: Path) -> None:
    pytest.importorskip("sklearn")
    code, text = run(
        folder, "-m", "postfilter(threshold=0.5, refill=false)", "-m",
        "prefilter(threshold=0.5)", "-a", "gap", "-k", "3",
    )  # fmt: skip
    assert code == 0, text
    cut, retained = (line for line in text.splitlines() if " gap " in line)
    figures = [float(cell) for cell in cut.split("│")[3:7]]
    assert figures[1] > 0  # gaps tell
    assert [float(cell) for cell in retained.split("│")[4:6]] == [0, 0]
    assert "20 sensitive documents" in text
    assert CANARY not in text


def test_everybody_attacks_unless_one_is_named(folder: Path) -> None:
    code, text = run(folder, "-m", "relevance()")
    assert code == 0, text
    for name in ("queries", "known-item", "gap", "count", "frequency"):
        assert f" {name} " in text


def test_no_figure_is_cut_on_a_narrow_terminal(folder: Path) -> None:
    pytest.importorskip("sklearn")
    strategy = "postfilter(threshold=0.5, refill=false)"
    code, text = run(folder, "-m", strategy, "-a", "known-item(terms=12)", columns=80)
    assert code == 0, text
    assert "…" not in text
    assert max(map(len, text.partition("sensitive documents")[0].splitlines())) <= 80
    assert len(re.findall(r"\d\.\d{3}-\d\.\d{3}", text)) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("-m", "postfilter(threshold=2)"), "threshold"),
        (("-m", "posfilter(threshold=0.5)"), "postfilter"),
        (("-m", "relevance()", "-a", "gaps"), "gap"),
        (("-m", "relevance()", "-k", "0"), "'k'"),
        ((), "--mechanism"),
    ],
)
def test_bad_input_is_told_in_a_sentence(folder: Path, given: tuple[str, ...], says: str) -> None:
    code, text = run(folder, *given)
    assert code != 0
    assert says in text
    assert CANARY not in text


def test_former_options_work_and_show_those_of_today(folder: Path) -> None:
    code, output = run(folder, "--strategy", "relevance()", "--attacker", "gap")
    assert code == 0, output
    assert "Use: veil sensitive attack SOURCE -m SPEC -a SPEC" in output
    assert " gap " in output
    for verb in ("evaluate", "search"):
        arguments = ["sensitive", verb, str(folder), *(["x"] if verb == "search" else [])]
        result = CliRunner().invoke(veil, [*arguments, "--strategy", "prefilter(threshold=2)"])
        assert f"will be removed in 0.4. Use: veil sensitive {verb}" in result.output
        assert "threshold" in str(result.exception)
