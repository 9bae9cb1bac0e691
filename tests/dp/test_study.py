"""Counts as an experiment: the contract of domains, figures, the report, and its commands."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.random import Generator
from tests.dp.attacks.people import FILE, needs_counts

from veil.cli import veil
from veil.core.errors import InputError, ParameterError, UnknownNameError, VeilError
from veil.core.rng import generator
from veil.dp.attack import count_questions
from veil.dp.attacks.plane import plane, sweep_budget
from veil.dp.inputs import read_bits, read_numbers, source_of
from veil.dp.mechanisms import COUNTING, MECHANISMS
from veil.dp.study import ADVANTAGE, WORTH, Counts, CountsStudy, spread_steps
from veil.studies.domains import load_study, make_study
from veil.studies.report.report import render
from veil.studies.results import PLAIN
from veil.studies.sweep import sweep
from veil.testing import check_domain

ROOT = Path(__file__).resolve().parents[2]
GEOMETRIC = {"spec": "geometric", "parameter": "epsilon", "values": [0.05, 8.0]}
SIGMA = {"spec": "gaussian", "parameter": "sigma", "values": [0.2, 30.0]}
SMALL = {"column": "ill", "rows": 12, "groups": 3, "queries": 30}


@pytest.fixture
def ward(tmp_path: Path, rng: Generator) -> Path:
    """Write forty patients: an illness, a sum of money, and a word."""
    lines = [
        f"{bit},{money},{'yes' if bit else 'no'}"
        for bit, money in zip(
            rng.integers(0, 2, 40).tolist(), rng.integers(1, 9_999, 40).tolist(), strict=True
        )
    ]
    path = tmp_path / "ward.csv"
    path.write_text("ill,money,word\n" + "\n".join(lines) + "\n")
    return path


def opened(ward: Path, **given: Any) -> Counts:  # noqa: ANN401 - keys of any kind
    """Open a study."""
    keys = {"name": "t", "domain": "dp", "secret": str(ward), **SMALL, "mechanism": [GEOMETRIC]}
    study = make_study({**keys, **given}, "the test", ward.parent)
    assert isinstance(study, CountsStudy)
    return Counts(study)


def run(*arguments: object) -> str:
    """Run a command, and return all that it prints."""
    found = CliRunner().invoke(veil, ["dp", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def refused(*arguments: object) -> str:
    """Run a command that must be refused, and return why."""
    found = CliRunner().invoke(veil, ["dp", *map(str, arguments)])
    assert isinstance(found.exception, VeilError), found.output
    return str(found.exception)


def test_counts_are_a_domain(ward: Path) -> None:
    attackers = ["reconstruction(queries=60)", "membership(queries=60)"]
    keys = {"secret": str(ward), **SMALL, "mechanism": [GEOMETRIC], "attackers": attackers}
    check_domain("dp", keys)


def test_a_study_says_risk_utility_and_cost(ward: Path, tmp_path: Path) -> None:
    given: Mapping[str, Any] = {
        "mechanism": [GEOMETRIC, SIGMA], "sizes": [1, 4], "attackers": ["differencing"],
    }  # fmt: skip
    experiment = opened(ward, **given)
    found = sweep(experiment.study, tmp_path / "out", workers=0)
    rows = {(row.spec, row.kind, row.measure, row.size): row for row in found.rows}
    low, high = (f"geometric(epsilon={one}, sensitivity=1)" for one in (0.05, 8.0))
    assert rows[low, "utility", WORTH, 1].score < 0.2 < 0.9 < rows[high, "utility", WORTH, 1].score
    assert rows[low, "risk", ADVANTAGE, 1].score < 0.4 < rows[high, "risk", ADVANTAGE, 1].score
    assert rows[high, "risk", ADVANTAGE, 1].n == 3
    assert rows[high, "recovery", "secrets", 1].score > 0.9
    assert 0.5 <= (rows[high, "recovery", "secrets", 1].chance or 0) < 0.8
    assert rows[PLAIN, "utility", WORTH, 1].score == 1
    assert rows[high, "similarity", "counts that are exact", 1].score > 0.95
    noise = "gaussian(sigma=30.0)"
    assert rows[noise, "utility", WORTH, 4].score >= rows[noise, "utility", WORTH, 1].score
    totals = {card.spec: card.total for card in found.cards}
    assert totals[high] == "dp: epsilon 960, per record"  # 4 answers to 30 questions
    assert any("8 each, and epsilon 960 in total" in one for one in found.remarks)
    assert any("basic composition" in note for note in found.notes)


def test_the_report_shows_what_was_guessed_and_what_it_cost(ward: Path, tmp_path: Path) -> None:
    experiment = opened(ward, attackers=["membership", "averaging(times=2)"])
    found = sweep(experiment.study, tmp_path / "out", workers=0)
    secrets, costs = found.sections
    assert (secrets.private, costs.private) == (True, False)
    drawn = "".join(secrets.content)
    assert drawn.count("<svg") == 3  # the truth, and two configurations
    assert "averaging(times=2)" in drawn  # membership has scores, and no guesses
    step = next(one for one in experiment.cells()[0].steps if one.by.startswith("averaging"))
    guesses = experiment.attacked(step, 0).values >= 0.5
    assert drawn.count('wrong"') >= int((guesses != experiment.group(0)).sum())
    told = "".join(costs.content)
    assert "epsilon 0.05" in told
    assert "epsilon 192" in told  # 24 questions at 8
    assert "veil dp compose" in told
    page = render(found)
    assert "keep this report to yourself" in page
    alone = opened(ward, attackers=["membership"])
    assert [one.identity for one in alone.sections(found)] == ["costs"]


def test_pictures_are_of_the_attack_that_was_measured(ward: Path) -> None:
    experiment = opened(ward)
    cell = experiment.cells()[1]
    measured = experiment.compute(cell.steps[1], None).arrays
    tried = [experiment.attacked(cell.steps[1], number) for number in range(3)]
    assert measured["advantage"].tolist() == [max(0.0, one.gains.mean()) for one in tried]
    assert measured["asked"].tolist() == [400] * 3
    assert measured["asked"][0] == count_questions("reconstruction", 12)


def test_groups_begin_again_where_a_file_is_short(ward: Path) -> None:
    experiment = opened(ward, rows=15, groups=5)
    assert experiment.bits.shape == (2, 15)
    assert np.array_equal(experiment.group(0), experiment.group(4))
    assert ("groups", "5 of 15 records, 2 distinct") in experiment.facts()
    whole = opened(ward, rows=100)
    assert whole.bits.shape == (1, 40)


def test_keys_hold_all_that_matters(ward: Path) -> None:
    keys = {opened(ward, **change).plain()[0].key for change in (
        {}, {"rows": 11}, {"groups": 4}, {"queries": 31}, {"rate": 0.4}, {"seed": 2},
        {"column": "word", "equals": "yes"}, {"column": "word", "equals": "no"},
    )}  # fmt: skip
    assert len(keys) == 8
    before = opened(ward).plain()[0].key
    ward.write_text(ward.read_text() + "1,2,no\n")
    assert opened(ward).plain()[0].key != before


PLUGIN = """
from typing import ClassVar, Literal

from veil.dp.mechanisms.laplace import Geometric


class Twice(Geometric):
    \"\"\"Add noise twice.\"\"\"

    name: ClassVar[str] = "twice"
    answers: ClassVar[Literal["", "count"]] = {answers!r}

    def draw(self, x, size, rng):
        return super().draw(x, size, rng) + super().draw(x * 0, size, rng)
"""


@pytest.mark.parametrize("answers", ["count", ""])
def test_a_mechanism_of_a_plugin_is_placed_if_it_answers_counts(
    ward: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: str
) -> None:
    module = f"veil_twice_{answers or 'none'}"
    (tmp_path / f"{module}.py").write_text(PLUGIN.format(answers=answers))
    info = tmp_path / "veil_twice-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: veil-twice\nVersion: 0.1\n")
    points = f"twice = {module}:Twice\nbroken = veil_that_is_not:There\n"
    (info / "entry_points.txt").write_text(f"[veil.mechanisms.dp]\n{points}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(MECHANISMS._loaded, "twice", raising=False)
    arguments = ["dp", "plane", ward, "--column", "ill", "--rows", 12, "--groups", 3,
                 "--queries", 9, "-m", "twice(epsilon=0.5)", "-m", "twice(epsilon=5)",
                 "--workers", 0, "-o", tmp_path / "page.html"]  # fmt: skip
    result = CliRunner().invoke(veil, list(map(str, arguments)))
    attack = ["attack", "differencing", "--secret", f"{ward}:ill", "-m", "twice",
              "--values", "0.5,5", "--rows", 12, "--groups", 3, "--workers", 0,
              "-o", tmp_path / "attack.html"]  # fmt: skip
    if answers:
        assert result.exit_code == 0, result.output
        assert "twice" in Counts.mechanisms.names()
        assert len(plane("twice", [0.5, 5], "differencing", [1, 0, 1, 1], rng=1, runs=2)) == 2
        table = run(*attack)
        assert "twice(epsilon=0.5)" in table
        assert "twice(epsilon=5.0)" in table
    else:
        assert result.exit_code != 0
        assert "does not declare answers = 'count'" in refused(*attack)
        with pytest.raises(UnknownNameError, match="twice is not a mechanism for counts"):
            plane("twice", [0.5], "differencing", [1, 0, 1, 1])
        assert Counts.mechanisms.names() == (
            "discrete_gaussian", "gaussian", "geometric", "laplace",
        )  # fmt: skip
    MECHANISMS._loaded.pop("twice", None)


@pytest.mark.parametrize("name", COUNTING.names())
def test_those_that_answer_counts_give_a_number_near_a_count(name: str) -> None:
    (_, mechanism), *_ = sweep_budget(name, [1.0])
    draws = mechanism.draw(mechanism.check(1_000), 50, generator(1))
    assert draws.shape == (50,)
    assert abs(float(draws.mean()) - 1_000) < 10


def test_mechanisms_that_choose_answer_no_counts(ward: Path) -> None:
    with pytest.raises(UnknownNameError, match="mechanism for counts"):
        opened(ward, mechanism=[{"spec": "exponential(epsilon=1)"}])
    with pytest.raises(UnknownNameError, match="mechanism for counts called 'geometrc'"):
        opened(ward, mechanism=[{"spec": "geometrc(epsilon=1)"}])
    assert Counts.mechanisms.names() == ("discrete_gaussian", "gaussian", "geometric", "laplace")


def test_secrets_are_read(ward: Path) -> None:
    bits = read_bits(ward, "ill")
    assert np.array_equal(bits, read_bits(ward, "word", "yes"))
    assert np.array_equal(1 - bits, read_bits(ward, "word", "no"))
    assert read_numbers(ward, "money").dtype == np.int64
    ward.write_text("x\n0.5\n1e3\n")
    assert read_numbers(ward, "x").tolist() == [0.5, 1000.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ill\n0\ncanary\n", "Row 2 of ward.csv, column ill, must be 0 or 1"),
        ("ill\n0\n2\n", "must be 0 or 1"),
        ("ill\n", "has no rows"),
        ("other\n1\n", "has no column 'ill'"),
        ("ill\n1\n", "at least two records"),
    ],
)
def test_no_value_is_quoted(ward: Path, text: str, said: str) -> None:
    ward.write_text(text)
    with pytest.raises(InputError, match=re.escape(said)) as error:
        opened(ward)
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("text", ["ward.csv", ":ill", "ward.csv:", ""])
def test_a_secret_has_a_file_and_a_column(text: str) -> None:
    with pytest.raises(InputError, match=r"such as pums.csv:married"):
        source_of(text)


def test_some_of_many_are_drawn() -> None:
    steps = list(range(20))
    assert spread_steps(steps) == [0, 5, 10, 14, 19]  # type: ignore[arg-type,comparison-overlap]
    assert spread_steps([3]) == [3]  # type: ignore[list-item,comparison-overlap]


def test_the_plane_of_the_command(
    ward: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")  # every configuration is told apart there, too
    out = tmp_path / "plane.html"
    told = run(
        "attack", f"{ward}:word=yes", "-a", "reconstruction(queries=80)", "-m", "geometric",
        "--values", "0.1,4", "--rows", 20, "--groups", 2, "-o", out, "--workers", 0,
    )  # fmt: skip
    assert "geometric(epsilon=0.1)\n" in told
    assert "geometric(epsilon=4.0)\n" in told
    assert "epsilon 320" in told
    assert "<svg" in out.read_text()
    assert out.stat().st_mode & 0o077 == 0  # the secrets are in it
    chosen = run("choose", "--max-risk", 1, "--mean", "--results", tmp_path / "plane", "--json")
    assert json.loads(chosen)["best"]["spec"] == "geometric(epsilon=4.0, sensitivity=1)"
    flags = ("--column", "ill", "--rows", 20, "--groups", 2, "--queries", 20, "--workers", 0)
    run("plane", ward, "-m", "laplace(epsilon=1)", *flags, "-o", tmp_path / "other.html")
    equal = ("--equals", 1, "-o", tmp_path / "equal.html")
    run("plane", ward, "-m", "laplace(epsilon=1)", *flags, *equal)
    tables = [(tmp_path / one / "results.csv").read_text() for one in ("other", "equal")]
    assert len(tables[0].splitlines()) == len(tables[1].splitlines())


def test_attacks_step_by_step(ward: Path) -> None:
    money = read_numbers(ward, "money")
    told = run("attack", f"{ward}:money", "-a", "tracker", "--min-size", 9, "--target", 7)
    assert f"So record 7 has {int(money[7]):,}, after 3 questions" in told
    told = run("attack", f"{ward}:money", "-a", "differencing", "--target", 7)
    assert f"{int(money[7]):,}" in told
    told = run("attack", f"{ward}:ill", "-a", "averaging", "--target", 7, "--times", 40)
    assert "40 times with fresh noise" in told
    told = run("attack", f"{ward}:money", "-a", "denial")
    assert f"has {int(money.max()):,}: the denial revealed it" in told
    told = run("attack", f"{ward}:money", "-a", "denial", "--audit", "max-simulatable")
    assert "a denial reveals nothing" in told


def test_tracing_from_the_command(tmp_path: Path, rng: Generator) -> None:
    rows = [f"p{i},w{j}" for i in range(60) for j in np.flatnonzero(rng.random(40) < 0.4)]
    path = tmp_path / "words.csv"
    path.write_text("person,word\n" + "\n".join(rows) + "\n")
    told = run("attack", f"{path}:word", "-a", "membership", "--unit", "person",
               "--members", 20, "--max-items", 5, "--values", "3", "--seed", 1)  # fmt: skip
    assert "exact counts of 5 items per person" in told
    assert "geometric(epsilon=3.0, sensitivity=5)" in told


def test_what_the_command_refuses(ward: Path) -> None:
    secret = f"{ward}:ill"
    assert "such as pums.csv:married" in refused("attack", "ward.csv", "-a", "tracker")
    assert "must end in .html" in refused("attack", secret, "-a", "tracker", "-o", "x")
    assert "comma-separated numbers" in refused("attack", secret, "-a", "tracker", "--values", "a")
    assert "Remove --target" in refused("attack", secret, "-a", "membership", "--target", 1)
    assert "only with the attack membership" in refused(
        "attack", secret, "-a", "tracker", "--unit", "word"
    )
    assert "from 0 to 39" in refused("attack", secret, "-a", "tracker", "--target", 40)
    assert "No attack called" in refused("attack", secret, "-a", "traker")
    assert "mechanism for" in refused("attack", secret, "-a", "tracker", "-m", "geometrc")
    with pytest.raises(ParameterError, match="rows"):
        opened(ward, rows=1)


def test_help_is_light() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from veil.cli import veil\n"
        "told = CliRunner().invoke(veil, ['dp', '--help'])\n"
        "assert told.exit_code == 0, told.exception\n"
        "print(*({*sys.modules} & {'scipy', 'duckdb', 'sqlglot', 'dp_accounting', 'psycopg'}))\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""


@pytest.mark.parametrize("verb", Counts.verbs)
def test_every_verb_is_there(verb: str) -> None:
    assert "Usage: veil dp" in run(verb, "--help")


@needs_counts
def test_the_shipped_study() -> None:
    study = load_study(ROOT / "studies" / "dp" / "married.toml")
    assert isinstance(study, CountsStudy)
    experiment = Counts(study)
    assert study.secret == str(FILE.resolve())
    assert experiment.bits.shape == (10, 100)
    assert len(experiment.cells()) == 14
