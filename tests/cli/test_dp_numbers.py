"""``veil dp release``, ``law``, ``audit`` and ``mechanisms``: numbers in, noisy numbers out."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import CANARY, Veil

from veil import dp

GEOMETRIC = ("dp", "release", "-m", "geometric(epsilon=0.5)")


def test_what_one_record_may_change_is_said_without_a_flag_that_is_not_there(veil: Veil) -> None:
    for given in (("geometric", "--epsilon", 1), ("-m", "geometric(epsilon=1)")):
        told = veil("dp", "release", *given, 7, 8).err
        assert "The 2 numbers count as one query" in told
        assert "sensitivity 1: how much all numbers of a query change in total (L1)" in told
        assert "--sensitivity" not in told
    assert "one query" not in veil("dp", "release", 7, "-m", "geometric(epsilon=1)").err


def test_numbers_become_noisy_numbers_and_the_cost_is_told(veil: Veil) -> None:
    result = veil(*GEOMETRIC, 120, 37, 4)
    assert result.code == 0
    noise = [int(line) - x for line, x in zip(result.lines, (120, 37, 4), strict=True)]
    assert max(map(abs, noise)) < 80
    assert "geometric(epsilon=0.5, sensitivity=1): dp: epsilon 0.5, per record." in result.err
    assert "epsilon is then twice as large" in result.err
    assert "NOT PRIVATE" not in result.err


def test_a_seed_repeats_and_is_told(veil: Veil) -> None:
    one, again = (veil(*GEOMETRIC, 120, 37, "--seed", 3) for _ in range(2))
    assert one.out == again.out
    assert "NOT PRIVATE" in one.err
    expected = dp.release([120, 37], "geometric(epsilon=0.5)", rng=3).value
    assert one.lines == [str(value) for value in expected]


@pytest.mark.parametrize("numbers", [("-5", "3"), ("3", "-5"), ("-5",), ("--", "-5", "-6")])
def test_negative_numbers_are_numbers(veil: Veil, numbers: tuple[str, ...]) -> None:
    result = veil("dp", "release", "-m", "geometric(epsilon=1000)", *numbers)
    assert (result.code, result.lines) == (0, [one for one in numbers if one != "--"])
    result = veil("dp", "release", "-m", "laplace(epsilon=1e6)", "-.5", "-1e3", "2")
    assert [round(float(line), 3) for line in result.lines] == [-0.5, -1000, 2]


def test_negative_values_of_flags(veil: Veil) -> None:
    given = ("--epsilon", 1000, "--q", 0.5, "--low", -10, "--high=-5")
    assert veil("dp", "release", "quantile", *given, -9, -8, -7).lines[0] in ("-8", "-7")
    told = veil("dp", "release", "geometric", "--epsilon", "-1", 5).err
    assert "'epsilon' parameter of geometric must be a number > 0. Got -1 instead." in told
    told = veil("dp", "release", 5, "-m", "geometric(epsilon=-1)").refused()
    assert "'epsilon' parameter of geometric must be a number > 0. Got -1 instead." in told


def test_a_spec_stands_for_the_flags(veil: Veil) -> None:
    for given in (("geometric(epsilon=1000)",), ("--mechanism", "geometric(epsilon=1000)")):
        assert veil("dp", "release", *given, 7).lines == ["7"]
    told = veil("dp", "release", "geometric(epsilon=1)", "--epsilon", 2, 7)
    assert (told.code, told.out) == (2, "")
    assert "A spec must look like" in told.err


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text("place,count,share\n" + "".join(f"p{i},{10 * i},{i / 8}\n" for i in range(5)))
    return path


def test_a_column_of_a_file(veil: Veil, table: Path, tmp_path: Path) -> None:
    result = veil("dp", "release", table, "-m", "geometric(epsilon=1000)", "--column", "count")
    assert result.lines == ["0", "10", "20", "30", "40"]
    out = tmp_path / "noisy.csv"
    result = veil(
        "dp", "release", table, "-m", "laplace(epsilon=1e9)", "--column", "share", "-o", out
    )
    assert (result.code, result.out) == (0, "")
    written = out.read_text().splitlines()
    assert written[0] == "value"
    assert np.allclose([float(line) for line in written[1:]], np.arange(5) / 8, atol=1e-6)
    before = out.read_text()
    told = veil("dp", "release", 5, "-m", "laplace(epsilon=1)", "-o", out).refused()
    assert "already exists" in told
    assert out.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([CANARY], "The numbers must all be numeric. Value 1 is not"),
        ([3, CANARY], "Value 2 is not"),
        ([], "takes one or more integers"),
        (["2.5"], "takes one or more integers"),
        (["nan"], "takes one or more integers"),
        (["-inf"], "takes one or more integers"),
        ([2**70], "at most 2^62"),
        ([3, "--epsilom", 2], "Unknown option"),
        ([3, "--column", "count"], "does not exist"),
        ([3, 4, "--column", "count"], "needs exactly one file"),
        ([3, "-o", "noisy.docx"], "must end in one of"),
        ([3, "--seed", "-1"], "The value of --seed must be"),
    ],
)
def test_what_is_refused(veil: Veil, arguments: list[object], sentence: str) -> None:
    assert sentence in veil(*GEOMETRIC, *arguments).refused()


def test_a_value_of_a_file_is_not_quoted(veil: Veil, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"count\n3\n{CANARY}\n")
    told = veil(*GEOMETRIC, "--column", "count", path).refused()
    assert "Column 'count' of t.csv must all be numeric. Value 2 is not" in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("quantile(epsilon=1, q=2, low=0, high=5)", 3),
        ("quantile(epsilon=1, q=0.5, low=5, high=0)", 3),
        ("exponential(epsilon=1)",),
        ("exponential(epsilon=nan)", 3),
        ("exponential(epsilon=1)", "nan", 3),
        ("randomised_response(epsilon=1, k=3)", 3),
        ("above_threshold(epsilon=1)", 3),
        ("above_threshold(epsilon=1, threshold=0, version=best)", 3),
        ("gaussian(epsilon=1)", 3),
    ],
)
def test_bad_parameters_are_one_sentence(veil: Veil, arguments: tuple[object, ...]) -> None:
    veil("dp", "release", "-m", *arguments).refused()


def test_a_mechanism_is_named(veil: Veil) -> None:
    assert "--mechanism" in veil("dp", "release", 3).refused()
    assert "Unknown option" in veil("dp", "release", "--epsilon", 1, 3).refused()
    told = veil("dp", "release", 3, "-m", "geometrc").refused()
    assert "Did you mean 'geometric'?" in told
    shown = " ".join(veil("dp", "release", "--help").out.split())
    assert "are ONE query with the sensitivity of the mechanism" in shown


def test_a_law_is_printed(veil: Veil) -> None:
    result = veil("dp", "law", "-m", "permute_and_flip(epsilon=1)", 3, 1, 0, 2)
    assert result.code == 0
    found = re.findall(r"(\d) +│ +(0\.\d+)", result.out)
    expected = dp.law("permute_and_flip(epsilon=1)", [3, 1, 0, 2], range(4))
    assert [float(chance) for _, chance in found] == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (("geometric(epsilon=1)", -3), 17),
        (("randomised_response(epsilon=1, k=3)", 2), 3),
        (("quantile(epsilon=1, q=0.5, low=-2, high=4)", 1, 0.5), 7),
        (("above_threshold(epsilon=1, threshold=0)", 0, -1, 2), 4),
        (("above_threshold(epsilon=1, threshold=0, version=chen)", 0, -1, 2), 8),
        (("exponential(epsilon=1)", 4), 1),
    ],
)
def test_without_outputs_all_are_told(
    veil: Veil, arguments: tuple[object, ...], count: int
) -> None:
    result = veil("dp", "law", "-m", *arguments, "--json")
    law = json.loads(result.out)["law"]
    assert len(law) == count
    total = sum(row["probability"] for row in law)
    assert 0.99 < total < 1 + 1e-9


def test_outputs_may_be_named(veil: Veil) -> None:
    named = ("--output", -3, "--output", "2")
    law = json.loads(veil("dp", "law", -3, "-m", "geometric(epsilon=1)", *named, "--json").out)[
        "law"
    ]
    assert [row["output"] for row in law] == [[-3], [2]]
    pair = ("--output", "3,4", "--output=3,5")
    law = json.loads(veil("dp", "law", 3, 4, "-m", "geometric(epsilon=1)", *pair, "--json").out)[
        "law"
    ]
    expected = dp.law("geometric(epsilon=1)", [3, 4], [[3, 4], [3, 5]])
    assert [row["probability"] for row in law] == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("laplace(epsilon=1)", 3), "for example --output 3"),
        (("quantile(epsilon=1, q=0.5, low=0, high=9999)", 3), "too many outputs to list"),
        (("geometric(epsilon=1)", 3, "--output", "3,4"), "a single number"),
        (("geometric(epsilon=1)", 3, 4, "--output", "3"), "the shape of the input"),
        (
            ("geometric(epsilon=1)", 3, "--output", "3", "--output", "3,4"),
            "the same number of values",
        ),
        (("geometric(epsilon=1)", 3, "--output", CANARY), "The outputs must all be numeric"),
        (("exponential(epsilon=1)", 3, 4, "--output", 2), "positions from 0"),
        (("noisy_max(epsilon=1e-8)", 3, 4), "too many"),
    ],
)
def test_laws_that_are_not_told(veil: Veil, arguments: tuple[object, ...], sentence: str) -> None:
    assert sentence in veil("dp", "law", "-m", *arguments).refused()


def test_a_refuted_claim_is_told_by_the_exit_code(veil: Veil) -> None:
    spec = "above_threshold(epsilon=1, threshold=0, version=stoddard)"
    result = veil("dp", "audit", "-m", spec, "-m", "geometric", "--samples", 5000, "--seed", 1)
    assert result.code == 1
    assert "REFUTED" in result.out
    assert "not refuted" in result.out
    assert veil("dp", "audit", "-m", "grr(epsilon=1, size=4)", "--samples", 2000).code == 0


def test_without_names_all_are_audited(veil: Veil) -> None:
    result = veil("dp", "audit", "--samples", 1000, "--seed", 1, "--json")
    assert result.code == 0
    told = [found["mechanism"].partition("(")[0] for found in json.loads(result.out)["audits"]]
    assert told == [*dp.MECHANISMS.names(), *dp.ORACLES.names()]


def test_an_audit_as_json(veil: Veil) -> None:
    result = veil(
        "dp", "audit", "-m", "geometric(epsilon=1)", "--samples", 2000, "--json", "--seed", 1
    )
    (found,) = json.loads(result.out)["audits"]
    assert (found["verdict"], found["claimed"], found["refuted"]) == ("not refuted", 1.0, False)
    assert found["measured"] < found["reach"]


@pytest.mark.parametrize("arguments", [("geometrc",), ("geometric", "--samples", 10), ("a b",)])
def test_an_audit_of_nothing_is_refused(veil: Veil, arguments: tuple[object, ...]) -> None:
    veil("dp", "audit", "-m", *arguments).refused()


def test_mechanisms_are_listed_with_what_is_proved(veil: Veil) -> None:
    result = veil("dp", "mechanisms")
    assert (result.code, result.err) == (0, "")
    for name in (*dp.MECHANISMS.names(), *dp.ORACLES.names()):
        assert f"\n{name}  " in "\n" + result.out
    for name in dp.MECHANISMS.names():
        assert f"\n{name}  " in "\n" + result.out
        for key in dp.MECHANISMS.get(name).model_fields if name != "gaussian" else ():
            assert f"\n  {key} " in result.out
    assert "see 'veil dp compose'" in result.out
    document = json.loads(veil("dp", "mechanisms", "quantile", "--json").out)
    assert document["quantile"]["guarantee"]["kind"] == "dp"
    assert "Did you mean 'quantile'" in veil("dp", "mechanisms", "quantil").refused()


def test_limits_are_written_with_all_digits(veil: Veil) -> None:
    said = veil("dp", "mechanisms", "randomised_response").out
    assert f"k INT >=2 <={2**62}" in " ".join(said.split())
    said = veil("dp", "release", "randomised_response", "--help").out
    assert "e+18" not in said


def test_a_choice_without_a_plane_names_the_command_that_makes_one(veil: Veil) -> None:
    said = veil("dp", "choose", "--max-risk", "0.1", "--results", "nofolder").refused()
    assert "Run 'veil dp plane' first" in said
    assert "veil audit" not in said
