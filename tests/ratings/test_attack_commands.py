"""The commands attack and plane: from file to file, in words, and whom they never name."""

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.ratings.taste import parts, written

from veil import ratings
from veil.cli import veil
from veil.cli.domain import domain_group
from veil.core.errors import VeilError
from veil.ratings.release import save
from veil.ratings.study import RatingsExperiment

SCALE = ("--scale", "1", "5")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with ratings in two parts."""
    for name, part in zip(("train.csv", "test.csv"), parts(), strict=True):
        written(tmp_path, part, name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(*arguments: object) -> str:
    """Run a command, and return all that it prints."""
    found = CliRunner().invoke(veil, ["ratings", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    assert "user-" not in found.output
    return found.output


def refused(*arguments: object) -> str:
    """Run a command that must be refused, and return why."""
    found = CliRunner().invoke(veil, ["ratings", *map(str, arguments)])
    assert isinstance(found.exception, VeilError), found.output
    assert "user-" not in str(found.exception)
    return str(found.exception)


def attacked(attacker: str, target: str, *more: str) -> str:
    return run("attack", attacker, target, "--truth", "train.csv", *SCALE, "--seed", "1", *more)


def success(told: str) -> float:
    return float(told.partition("success ")[2].split()[0])


def test_a_file_and_a_spec_are_attacked(folder: Path) -> None:
    train, _ = parts()
    save(ratings.protect(train, "krr(epsilon=3)", rng=1), folder / "released.csv")
    told = attacked("scoreboard(known=4)", "released.csv")
    assert "Which profile is whose is in no file" in told
    assert "who sees nothing: 0.008333" in told
    assert success(told) > 0.4
    assert success(attacked("scoreboard(known=4)", "krr(epsilon=3)")) > 0.4
    assert success(attacked("bayes(known=4)", "released.csv")) > success(told)  # by its card
    assert "whose" not in attacked("scoreboard(known=4)", "train.csv")
    assert "proved bound" in attacked("membership", "dppopularity(epsilon=1)")


def test_attacks_that_cannot_be_are_refused(folder: Path) -> None:
    target = ("--truth", "train.csv")
    assert "There is no file" in refused("attack", "scoreboard", "nosuch.csv", *target)
    assert "name a spec" in refused("attack", "membership", "train.csv", *target)
    assert "No attack" in refused("attack", "nosuch", "train.csv", *target)
    (folder / "bad.csv").write_text((folder / "train.csv").read_text())
    (folder / "bad.csv.veil.json").write_text("[]")
    assert "no card" in refused("attack", "scoreboard", "bad.csv", *target)


def test_a_plane_is_drawn(folder: Path) -> None:
    told = run(
        "plane", "kprofiles(factors=4)", "--sweep", "k=8,2", "train.csv", "test.csv",
        "--attack", "scoreboard(known=4)", "--recommender", "itemknn(k=8)", *SCALE,
        "-o", "plane.html", "--workers", "0",
    )  # fmt: skip
    assert "kprofiles" in told
    page = (folder / "plane.html").read_text()
    assert "Lists before and after" in page
    assert "Who could be found" in page
    assert "user-" not in page
    assert stat.S_IMODE((folder / "plane.html").stat().st_mode) == 0o600
    rows = (folder / "plane" / "results.csv").read_text()
    assert rows.count("scoreboard(known=4)") >= 3


def test_a_plane_takes_single_specs_and_refuses_other_sweeps(folder: Path) -> None:
    files = ("train.csv", "test.csv", "--workers", "0", *SCALE)
    run("plane", "pseudonyms", *files, "--recommender", "popularity", "-o", "one")
    assert (folder / "one" / "results.csv").is_file()
    assert "a parameter and its values" in refused("plane", "krr", "--sweep", "k=a,b", *files)


def test_all_commands_are_named() -> None:
    wanted = "describe split fit recommend evaluate protect attack plane serve join".split()
    assert list(RatingsExperiment.verbs) == wanted
    group = domain_group("ratings")
    for verb in ("attack", "plane", "protect", "choose"):
        assert group.get_command(None, verb) is not None  # type: ignore[arg-type]
