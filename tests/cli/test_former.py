"""Commands in the form of the last release work, and show the form of today without values."""

from pathlib import Path

import click
import pytest
from tests.cli.conftest import Veil
from tests.town import town as town

from veil.cli.former import FORMER, Former, rewrite
from veil.core.registry import Registry
from veil.dp.mechanisms import MECHANISMS


def test_former_verbs_and_options_work_and_say_so(veil: Veil, town: Path) -> None:
    assert "radius" in veil("town", "methods").out
    assert "Write: veil town mechanisms" in veil("town", "methods").err
    refusal = veil("town", "plane", "homes.csv", "-m", "disc(radius=1)", "--attacker", "secret")
    assert "Write: veil town plane POINTS -m SPEC" in refusal.err
    assert "secret" not in refusal.err


COMMAND = click.Command(
    "release",
    params=[
        click.Argument(["numbers"], nargs=-1),
        click.Option(["-m", "--mechanism"]),
        click.Option(["--seed"], type=int),
        click.Option(["-o", "--out"]),
    ],
)


@pytest.mark.parametrize(
    ("former", "current"),
    [
        (
            ["geometric", "--epsilon", "0.5", "120", "--seed", "1"],
            ["-m", "geometric(epsilon=0.5)", "--seed", "1", "120"],
        ),
        (["geometric(epsilon=0.5)", "120"], ["-m", "geometric(epsilon=0.5)", "120"]),
        (["120", "-m", "geometric(epsilon=0.5)"], ["120", "-m", "geometric(epsilon=0.5)"]),
        (
            ["geometric", "--epsilon=2", "--", "-3"],
            ["-m", "geometric(epsilon=2)", "--", "-3"],
        ),
    ],
)
def test_a_component_with_its_flags_becomes_a_spec(
    former: list[str], current: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry: Registry[object] = MECHANISMS  # type: ignore[type-var, assignment]
    monkeypatch.setitem(FORMER, "dp release", Former(component="mechanism"))
    result = rewrite("dp release", COMMAND, registry, former)
    assert [part.replace("--mechanism", "-m") for part in result] == current
