"""Completion offers domains, verbs, options, specs and the parameters of a spec."""

import pytest
from click.shell_completion import BashComplete
from tests.cli.conftest import Veil

from veil.cli import veil as program


def completions(*words: str) -> list[str]:
    """Return what is offered for the last of the words."""
    complete = BashComplete(program, {}, "veil", "_VEIL_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_domains_and_verbs_are_completed() -> None:
    assert "places" in completions("pla")
    assert {"protect", "attack", "plane"} <= set(completions("places", ""))


def test_options_and_specs_are_completed() -> None:
    assert completions("places", "protect", "a.csv", "--wit") == ["--within"]
    assert completions("places", "protect", "a.csv", "-m", "don") == ["donut"]
    keys = completions("places", "protect", "a.csv", "-m", "donut(")
    assert {"donut(low=", "donut(high="} <= set(keys)
    rest = completions("places", "protect", "a.csv", "-m", "donut(low=5, ")
    assert "donut(low=5, high=" in rest
    assert "donut(low=5, low=" not in rest
    assert completions("places", "attack", "a.csv", "-a", "bay") == ["bayes"]
    assert completions("places", "protect", "a.csv", "-m", "unknown(") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(veil: Veil, shell: str) -> None:
    assert "_VEIL_COMPLETE" in veil("completion", shell).out


def test_another_shell_is_refused(veil: Veil) -> None:
    assert "bash, zsh, fish" in veil("completion", "csh").refused()
