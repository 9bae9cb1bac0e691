"""The same verbs for every domain."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Veil
from tests.town import town as town

from veil.cli.domain import group_specs
from veil.cli.show import show
from veil.core.errors import ParameterError
from veil.studies.export import write_csv
from veil.studies.results import Results, Row

CANARY = "4321.98"


def test_the_verbs_of_a_domain(veil: Veil, town: Path) -> None:
    shown = veil("town", "--help").out
    order = ["protect", "attack", "measure", "plane", "choose", "mechanisms"]
    places = [shown.index(f"  {verb} ") for verb in order]
    assert places == sorted(places)
    assert "  town " in veil("--help").out


def test_methods_say_what_is_proved(veil: Veil, town: Path) -> None:
    shown = veil("town", "mechanisms").out
    assert "radius FLOAT >0, required, larger is more private: metres" in shown
    assert "not proved" in shown
    told = json.loads(veil("town", "mechanisms", "laplace", "--json").out)
    assert told["laplace"]["guarantee"]["kind"] == "metric-dp"
    assert "Did you mean 'disc'?" in veil("town", "mechanisms", "disk").refused()


def test_protect_attack_measure(veil: Veil, town: Path) -> None:
    said = veil("town", "protect", "homes.csv", "moved.csv", "-m", "laplace(epsilon=0.01)")
    assert "laplace(epsilon=0.01): metric-dp: 0.01 * metres, per household." in said.err
    assert "NOT PRIVATE" not in said.err
    seeded = veil("town", "protect", "homes.csv", "m.csv", "-m", "disc(radius=9)", "--seed", "1")
    assert "NOT PRIVATE" in seeded.err
    assert "active" in veil("town", "attack", "moved.csv", "homes.csv").out
    assert "metres moved" in veil("town", "measure", "homes.csv", "moved.csv").out


def test_plane_and_choose(veil: Veil, town: Path) -> None:
    masks = ["laplace(epsilon=0.001)", "laplace(epsilon=0.01)", "disc(radius=500)"]
    given = [part for mask in masks for part in ("-m", mask)]
    said = veil("town", "plane", "homes.csv", *given, "-o", "town.html", "--workers", "0")
    assert "laplace" in said.out
    assert "town.html" in said.err
    assert (town / "town.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in (town / "town").glob("*.csv")) == [
        "results.csv", "scores.csv"
    ]  # fmt: skip
    chosen = veil("town", "choose", "--max-risk", "1", "--mean", "--results", "town")
    assert "with 1 release: utility" in chosen.out
    top = json.loads(
        veil("choose", "--max-risk", "1", "--mean", "--results", "town", "--json").out
    )
    assert top["best"]["risk"]["domain"] == "town"
    assert top["best"]["risk"]["data"] == "homes"


def test_the_keys_of_a_study_are_flags_with_their_descriptions(
    veil: Veil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = " ".join(veil("dp", "plane", "--help").out.split())
    assert "--column TEXT Column of the secret. [required]" in shown
    assert "--rows TEXT Records of a group. [default: 100]" in shown
    assert "of a study" not in shown
    asked = ("dp", "plane", "100", "-m", "geometric(epsilon=1)")
    assert "Missing --column" in veil(*asked).refused()
    assert "100 does not exist. Check the path" in veil(*asked, "--column", "2021").refused()
    (tmp_path / "ward.csv").write_text("2021,name\n1,a\n2,b\n")
    said = veil("dp", "plane", "ward.csv", *asked[3:], "--column", "2021").refused()
    assert "column 2021, must be 0 or 1. For other values, choose" in said
    assert "--equals" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["protect", "homes.csv"], "Missing TARGET"),
        (["protect", "homes.csv", "out.csv"], "Missing --mechanism"),
        (["protect", "homes.csv", "out.csv", "-m", "disk"], "No mask called 'disk'."),
        (
            ["protect", "gone.csv", "out.csv", "-m", "disc(radius=1)"],
            "File gone.csv does not exist",
        ),
        (
            ["protect", "odd.csv", "out.csv", "-m", "disc(radius=1)"],
            "Row 1 of odd.csv must be two numbers.",
        ),
        (["plane", "odd.csv", "-m", "disc(radius=1)"], "Row 1 of odd.csv must be two numbers."),
        (["protect", "homes.csv", "./homes.csv", "-m", "disc(radius=1)"], "would overwrite"),
        (["protect", "empty.csv", "out.csv", "-m", "disc(radius=1)"], "empty.csv"),
        (["attack", "few.csv", "homes.csv"], "must have as many rows"),
        (["measure", "few.csv", "homes.csv"], "must have as many rows"),
        (["plane", "homes.csv", "-m", "disc(radius=1)", "-a", "odd"], "has no attacks"),
        (["plane", "homes.csv"], "Missing --mechanism"),
        (["plane", "homes.csv", "-m", "disc(radius=0)"], "must be a number > 0"),
        (["choose", "--max-risk", "1"], "Run 'veil town plane' first"),
        (["choose", "homes.csv", "--max-risk", "1"], "A mechanism is required. Add -m SPEC."),
        (["plan"], "Did you mean plane?"),
    ],
)
def test_bad_input_is_one_sentence(
    veil: Veil, town: Path, arguments: list[str], sentence: str
) -> None:
    (town / "odd.csv").write_text(f"x,y\n{CANARY},north\n")
    (town / "few.csv").write_text("x,y\n1,2\n3,4\n")
    (town / "empty.csv").write_text("")
    said = veil("town", *arguments).refused()
    assert sentence in said
    assert CANARY not in said
    assert not (town / "out.csv").exists()


def test_what_is_not_known_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for found in ([CANARY], {CANARY}, object()):
        with pytest.raises(ParameterError, match="must return a Reply") as raised:
            show(found)
        assert CANARY not in str(raised.value)
    show(None)
    show("done")
    assert capsys.readouterr().out == "done\n"


def test_a_table_of_another_domain_is_no_choice(veil: Veil, town: Path) -> None:
    write_csv(Results("x", ()), town / "results.csv")
    assert "is empty" in veil("town", "choose", "--max-risk", "1", "--results", ".").refused()
    row = Row("c", "e", "cmp", "cmp", "", 0.0, 1, "utility", "nDCG@10", "", 0.5, 0.4, 0.6, 9)
    write_csv(Results("x", (row,)), town / "results.csv")
    said = veil("town", "choose", "--max-risk", "1", "--results", ".").refused()
    assert "is a study of search, not of town" in said


def test_specs_that_differ_in_one_number_are_a_curve() -> None:
    assert group_specs(["a(x=1)", "a(x=2)"]) == [
        {"spec": "a", "parameter": "x", "values": [1.0, 2.0]}
    ]
    two = ["a(x=1, y=1)", "a(x=2, y=2)"]
    assert group_specs(two) == [{"spec": spec} for spec in two]
    assert group_specs(["a(x='p')", "a(x='q')", "b"]) == [
        {"spec": spec} for spec in ("a(x='p')", "a(x='q')", "b")
    ]
