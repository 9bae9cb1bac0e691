"""The commands: what is shown, what is refused, and that looking makes no ledger."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from veil import dp
from veil.cli.domain import domain_group
from veil.core.errors import InputError, LedgerError, ParameterError, VeilError
from veil.dp.accounting import charges

POLICY = """
[budget]
epsilon = 3.0
delta = 1e-6
accountant = "basic"
ledger = "visits.ledger"

[tables.visits]
[tables.visits.columns]
age = {bounds = [0, 100]}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY, encoding="utf-8")
    yield path
    charges._SEEN.pop(os.path.realpath(tmp_path / "visits.ledger"), None)


def told(*arguments: str, columns: str = "") -> str:
    made = CliRunner().invoke(domain_group("dp"), arguments, env={"COLUMNS": columns})
    if made.exception is not None:
        raise made.exception
    return made.output


def test_compose_tells_the_whole() -> None:
    said = told("compose", "--delta", "1e-6", "--accountant", "pld", "gaussian(sigma=4)", "x100")
    assert "epsilon 14.4508, delta 1e-06, per record" in said
    assert "idealised numerics" in said
    said = told("compose", "geometric(epsilon=0.1)", "x10", "laplace(epsilon=0.25)")
    assert "Total, by basic: epsilon 1.25, per record." in said
    said = told("compose", "hcms(epsilon=1)", "x2")
    assert "epsilon 2, per report" in said
    assert "rho 0.03" in told(
        "compose", "--accountant", "zcdp", "discrete_gaussian(rho=0.01)", "x3"
    )


def test_a_screen_speaks_no_python() -> None:
    said = " ".join(told("compose", "gaussian(epsilon=1, delta=1e-6)", "x2").split())
    assert "1 + e^epsilon times as large" in said
    assert "dp." not in said


@pytest.mark.parametrize(
    "words",
    [
        ["x5"],
        ["geometric(epsilon=1)", "x5", "x6"],
        ["geometric(epsilon=1)", "x0"],
        ["geometric(epsilon=1)", "x99999999999999999999"],
        ["geometric(epsilon=-1)"],
        ["nothing"],
        ["discrete_gaussian(rho=1)"],
        ["--delta", "2", "geometric(epsilon=1)"],
    ],
)
def test_compose_refuses_in_one_sentence(words: list[str]) -> None:
    with pytest.raises((InputError, ParameterError, VeilError)) as caught:
        told("compose", *words)
    assert "\n" not in str(caught.value)


def test_looking_makes_no_ledger(policy: Path) -> None:
    said = told("budget", str(policy))
    assert "0 of 3 spent, 3 remaining" in said
    assert "does not exist yet" in said
    assert [entry.name for entry in policy.parent.iterdir()] == ["policy.toml"]


def test_what_was_spent_is_shown(policy: Path) -> None:
    ledger = dp.Budget(3, 1e-6, path=policy.parent / "visits.ledger")
    ledger.spend("laplace(epsilon=0.25)", 6, "by hand")
    for columns in ("", "40"):
        said = told("budget", str(policy), columns=columns)
        whole = " ".join(said.split())
        assert "1.5 of 3 spent, 1.5 remaining" in whole
        assert "[###############...............]" in whole
        assert "laplace(epsilon=0.25)" in whole
        assert "by hand" in whole
        assert "1 charge in total." in whole
    assert "laplace" not in told("budget", str(policy), "--count", "0")
    assert len(ledger.events) == 1


def test_a_policy_that_changed_is_refused(policy: Path) -> None:
    dp.Budget(3, 1e-6, path=policy.parent / "visits.ledger")
    policy.write_text(POLICY.replace("epsilon = 3.0", "epsilon = 30.0"), encoding="utf-8")
    with pytest.raises(LedgerError, match="created for epsilon 3"):
        told("budget", str(policy))


def test_a_policy_without_a_ledger_says_so(policy: Path) -> None:
    policy.write_text(POLICY.replace("visits.ledger", "none"), encoding="utf-8")
    assert "has no ledger" in told("budget", str(policy))
    policy.write_text(POLICY.replace('ledger = "visits.ledger"', ""), encoding="utf-8")
    with pytest.raises(InputError, match="'ledger' must be a file"):
        told("budget", str(policy))
