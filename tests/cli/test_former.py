"""Commands in the form of the last release work, and show the form of today without values."""

from pathlib import Path

import click
import pytest
from tests.cli.conftest import Veil
from tests.town import town as town

from veil.cli.former import rewrite
from veil.core.registry import Registry
from veil.dp.mechanisms import MECHANISMS


def test_former_verbs_and_options_work_and_say_so(veil: Veil, town: Path) -> None:
    assert "radius" in veil("town", "methods").out
    assert "Use: veil town mechanisms" in veil("town", "methods").err
    refusal = veil("town", "plane", "homes.csv", "-m", "disc(radius=1)", "--attacker", "secret")
    assert "Use: veil town plane POINTS -m SPEC" in refusal.err
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
def test_a_component_with_its_flags_becomes_a_spec(former: list[str], current: list[str]) -> None:
    registry: Registry[object] = MECHANISMS  # type: ignore[type-var, assignment]
    result = rewrite("dp release", COMMAND, registry, former)
    assert [part.replace("--mechanism", "-m") for part in result] == current


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ("release geometric --epsilon 1000 7 -8", "release NUMBERS -m SPEC -o OUT"),
        ("release geometric(epsilon=1000) 7", "release NUMBERS -m SPEC -o OUT"),
        ("law permute_and_flip --epsilon 1 --monotone 3 1", "law NUMBERS -m SPEC"),
        ("audit geometric grr(epsilon=1,size=4) --samples 1000", "audit -m SPEC"),
        ("report grr --epsilon 9 --size 3 codes.csv --column x -o r.npz",
         "report VALUES -m SPEC -o OUT"),
        ("mine naive_bayes codes.csv --label y --column x:0:3 --class 0 --class 1 --epsilon 9",
         "mine FILE -m SPEC"),
        ("attack tracker --secret codes.csv:x --target 1",
         "attack SECRET -a SPEC -m SPEC -o OUT"),
        ("attack denial --secret=codes.csv:x", "attack SECRET -a SPEC -m SPEC -o OUT"),
        ("oracles rappor", "mechanisms"),
    ],
)  # fmt: skip
def test_commands_of_dp_in_their_former_form(
    former: str, current: str, veil: Veil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 3},{i % 2}\n" for i in range(60)]
    (tmp_path / "codes.csv").write_text("x,y\n" + "".join(rows))
    result = veil("dp", *former.split(" "))
    assert result.code == 0, result.err
    assert f"will be removed in 0.4. Use: veil dp {current}\n" in result.err


def test_the_form_of_today_is_left_alone(veil: Veil) -> None:
    result = veil("dp", "release", "-m", "geometric(epsilon=1000)", "geometric")
    assert "must all be numeric" in result.refused()
