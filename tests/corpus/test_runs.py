"""Runs as TREC writes them."""

from pathlib import Path

import pytest

from veil.core.errors import InputError
from veil.corpus.trec import read_run


def test_the_score_orders_and_equal_ones_stand_as_in_trec_eval(tmp_path: Path) -> None:
    lines = ["1 Q0 a 1 0.5 t", "1 Q0 c 2 0.5 t", "1 Q0 b 3 2e0 t", "", "2 Q0 a 1 -1"]
    (tmp_path / "x.run").write_text("\n".join(lines))
    assert read_run(tmp_path / "x.run") == {"1": ["b", "c", "a"], "2": ["a"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 Q0 a 1 0.5 t\n1 0 a\n", "Line 2 of x.run must be a result"),
        ("1 Q0 a 1 high t\n", "Line 1 of x.run must be a result"),
        ("1 Q0 a 1 nan t\n", "Line 1 of x.run must be a result"),
        ("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", "repeats a document"),
        ("\n", "is empty"),
    ],
)
def test_a_run_that_cannot_be_used(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "x.run").write_text(text)
    with pytest.raises(InputError, match=told):
        read_run(tmp_path / "x.run")


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_run(tmp_path / "x.run")
