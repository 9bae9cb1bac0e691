"""``veil dp sql``: what is shown, what is refused, and what is left."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.dp.sql.stores import Store

from veil.cli.domain import domain_group
from veil.cli.serve import open_page_database
from veil.core.errors import BudgetError, InputError, RefusedError

POLICY = """
[budget]
epsilon = 1
delta = 1e-6
ledger = "spent.ledger"
[tables.t.columns]
n = {bounds = [0, 9]}
g = {keys = ["a", "b"]}
s = {}
"""


class Desk:
    """A database with its policy, at a command line."""

    def __init__(self, store: Store, policy: Path) -> None:
        self.store, self.policy = store, policy

    def ask(self, *arguments: str, stdin: str = "", columns: str = "200") -> tuple[str, str]:
        given = ["sql", "--db", self.store.url, "--policy", str(self.policy), *arguments]
        made = CliRunner().invoke(domain_group("dp"), given, input=stdin, env={"COLUMNS": columns})
        if made.exception is not None:
            raise made.exception
        return made.stdout, made.stderr


@pytest.fixture
def desk(duck: Store, tmp_path: Path) -> Desk:
    rows = [(i % 10, "ab"[i % 2], "\x1b[31m" if i % 3 else "plain") for i in range(90)]
    duck.put("t", {"n": "whole", "g": "text", "s": "text"}, rows)
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return Desk(duck, path)


def test_an_answer_with_its_noise_and_what_is_left(desk: Desk) -> None:
    asked = "SELECT g, COUNT(*) AS c, MEDIAN(n) FROM t GROUP BY g"
    shown, told = desk.ask("--epsilon", "0.25", asked)
    assert "± 11.3" in shown
    assert "(drawn)" in shown
    assert "Remaining budget: epsilon 0.75 of 1, delta 1e-06 of 1e-06." in told
    shown, _ = desk.ask("--epsilon", "0.25", "-", stdin=asked, columns="12")
    assert "c: " in shown  # no room for a table
    with pytest.raises(BudgetError):
        desk.ask("--epsilon", "0.75", asked)


def test_json(desk: Desk) -> None:
    asked = "SELECT s, COUNT(*), QUANTILE(n, ?) FROM t WHERE g = ? AND n < ? GROUP BY s"
    values = ["--param", "0.5", "--param", "a", "--param", "7", "--delta", "1e-6"]
    shown, _ = desk.ask("--json", "--seed", "1", "--epsilon", "0.9", asked, *values)
    assert "\x1b" not in shown
    found = json.loads(shown)
    assert found["columns"] == ["s", "COUNT(*)", "QUANTILE(n, 0.5)"]
    assert found["std"][2] is None
    assert found["remaining"] == {"epsilon": 0.1, "delta": 0.0}
    assert found["seeded"] is True
    with pytest.raises(RefusedError, match="the same kind"):
        desk.ask("SELECT COUNT(*) FROM t WHERE n = ?", "--param", '"7"')


def test_control_characters_of_data_do_not_reach_a_terminal(desk: Desk) -> None:
    shown, told = desk.ask("--delta", "1e-6", "--epsilon", "1", "--seed", "3",
                           "SELECT s, COUNT(*) FROM t GROUP BY s")  # fmt: skip
    assert "[31m" in shown
    assert "\x1b" not in shown
    assert "NOT PRIVATE" in told
    assert "are omitted" in told


def test_explain_spends_nothing(desk: Desk) -> None:
    asked = "SELECT s, SUM(n) FROM t GROUP BY s"
    shown, told = desk.ask("--explain", "--delta", "1e-7", asked)
    assert "one unit changes it by at most 9" in shown
    assert "Only groups with a noisy count" in shown
    assert "SELECT g0" in shown
    assert "Nothing was spent; epsilon 1 remains." in told
    document = json.loads(desk.ask("--explain", "--json", "--delta", "1e-7", asked)[0])
    assert [part["label"] for part in document["quantities"]] == ["sum of n", "rows"]
    assert document["remaining"]["epsilon"] == 1


def test_refusals(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(RefusedError):
        desk.ask("SELECT n FROM t")
    with pytest.raises(RefusedError, match="has 0 \\?"):
        desk.ask("SELECT COUNT(*) FROM t", "--param", "1")
    desk.policy = tmp_path / "none.toml"
    with pytest.raises(InputError):
        desk.ask("SELECT COUNT(*) FROM t")


def test_a_policy_without_a_ledger_is_warned_of(desk: Desk) -> None:
    """Each run would say that the whole budget but its own cost is left."""
    desk.policy.write_text(POLICY.replace("spent.ledger", "none"))
    for extra in ([], ["--explain"]):
        _, told = desk.ask(*extra, "SELECT COUNT(*) FROM t")
        assert "has no ledger" in told
        assert "in [budget]" in told
    desk.policy.write_text(POLICY)
    _, told = desk.ask("SELECT COUNT(*) FROM t")
    assert "has no ledger" not in told


def test_an_explanation_promises_a_factor(desk: Desk) -> None:
    shown, _ = desk.ask("--explain", "--epsilon", "0.5", "SELECT COUNT(*) FROM t")
    assert "Each row is a unit" in shown
    assert "makes no answer more than e^0.5 times as likely." in shown
    grouped = "SELECT s, COUNT(*) FROM t GROUP BY s"
    shown, _ = desk.ask("--explain", "--epsilon", "2", "--delta", "1e-6", grouped)
    assert "e^2 times as likely, up to an additive delta." in shown


def test_a_unit_that_is_called_record_is_no_row(duck: Store, tmp_path: Path) -> None:
    duck.put("t", {"record": "whole"}, [(1,), (1,), (2,)])
    path = tmp_path / "policy.toml"
    path.write_text(
        '[budget]\nepsilon = 1\nledger = "none"\n[tables.t]\nunit = "record"\nmax_rows = 2\n'
    )
    shown, _ = Desk(duck, path).ask("--explain", "SELECT COUNT(*) FROM t")
    assert "Each record is a unit" in shown
    assert "at most 2 rows" in shown


def test_the_page_warns_at_its_start(
    duck: Store, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for policy, warned in ((POLICY, False), (POLICY.replace("spent.ledger", "none"), True)):
        desk.policy.write_text(policy)
        open_page_database(duck.url, desk.policy).close()
        assert ("has no ledger" in capsys.readouterr().err) is warned
