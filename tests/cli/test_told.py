"""What the commands tell a person: costs, caveats, hints, and the true reason of an error."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Result, Veil

from veil.cli._summary import cost_of_each, not_covered
from veil.filing import Tally
from veil.mechanisms.cost import CONTEXT, LAYOUT, LISTED, POLICIES, UNKNOWN
from veil.mechanisms.find import mechanism

Cmp = Callable[..., Result]


@pytest.fixture
def cmp(veil: Veil, vectors: str) -> Cmp:
    def call(*arguments: object, epsilon: object = 5) -> Result:
        return veil("protect", "cmp", "--epsilon", epsilon, "--vectors", vectors, *arguments)

    return call


# ---- costs


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def test_a_text_in_clear_has_no_cost(cmp: Cmp, tmp_path: Path) -> None:
    terms = write(tmp_path / "terms.txt", "cancer\nflu\n")
    texts = write(tmp_path / "in.txt", "a dog\nflu\nthe cat\ncancer and flu\na flu\n")
    told = cmp(texts, "--select", f"@{terms}", "--in-clear").err
    assert "Per text: smallest 5, median 5, largest 10." in told
    assert "2 texts left as they are: no cost covers them." in told
    told = cmp("a dog", "a flu", "--select", f"@{terms}", "--in-clear").err
    assert "1 text left as it is: no cost covers it." in told
    told = cmp("a dog", "the cat", "--select", f"@{terms}", "--in-clear").err
    assert "Per text" not in told
    assert "Cost: unbounded, as nothing is protected." in told
    assert "left as" not in cmp("a dog", "!").err


def test_no_text_has_no_cost_of_each() -> None:
    assert Tally().spread() == (0, 0.0, 0)
    assert cost_of_each(mechanism("cmp(epsilon=5)").guarantee, Tally(texts=3, bare=3), 1) == ""


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ((), ()),
        (("--select", "all"), ()),
        (("--select", "content"), (LISTED,)),
        (("--select", "pos:NN"), (CONTEXT,)),
        (("--policy", "number=mask"), (POLICIES,)),
        (("--policy", "number=mask", "--select", "content"), (POLICIES, LISTED)),
    ],
)
def test_what_a_choice_leaves_without_a_bound(
    cmp: Cmp, extra: tuple[str, ...], told: tuple[str, ...]
) -> None:
    result = cmp("the cat has flu 3", *extra)
    assert {each for each in (POLICIES, LISTED, CONTEXT) if each in result.err} == {*told}
    assert LAYOUT not in result.err
    assert UNKNOWN not in result.err


def test_caveats_are_of_a_bound() -> None:
    assert not_covered(mechanism("wbb(epsilon=5, n=3)"), None, {"number": "keep"}) == ()
    assert not_covered(mechanism("cmp(epsilon=5)"), ["skin cancer"], None) == (CONTEXT,)
    assert not_covered(mechanism("aea"), None, None) == ()
