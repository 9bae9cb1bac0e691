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
    actual = CliRunner().invoke(veil, ["ratings", *map(str, arguments)], catch_exceptions=False)
    assert actual.exit_code == 0, actual.output
    assert "user-" not in actual.output
    return actual.output


def refused(*arguments: object) -> str:
    """Run a command that must be refused, and return why."""
    actual = CliRunner().invoke(veil, ["ratings", *map(str, arguments)])
    assert isinstance(actual.exception, VeilError), actual.output
    assert "user-" not in str(actual.exception)
    return str(actual.exception)


def attacked(attacker: str, target: str, *more: str) -> str:
    return run("attack", target, "-a", attacker, "--of", "train.csv", *SCALE, "--seed", "1", *more)


def success(text: str) -> float:
    return float(text.partition("success ")[2].split()[0])


def test_a_file_and_a_spec_are_attacked(folder: Path) -> None:
    train, _ = parts()
    save(ratings.protect(train, "krr(epsilon=3)", rng=1), folder / "released.csv")
    text = attacked("scoreboard(known=4)", "released.csv")
    assert "No file links profiles to users" in text
    assert "baseline: 0.008333" in text
    assert success(text) > 0.4
    assert success(attacked("scoreboard(known=4)", "krr(epsilon=3)")) > 0.4
    assert success(attacked("bayes(known=4)", "released.csv")) > success(text)  # by its card
    assert "No file says" not in attacked("scoreboard(known=4)", "train.csv")
    assert "proved bound" in attacked("membership", "dppopularity(epsilon=1)")


def test_attacks_that_cannot_be_are_refused(folder: Path) -> None:
    of = ("--of", "train.csv")
    assert "does not exist" in refused("attack", "nosuch.csv", "-a", "scoreboard", *of)
    assert "needs a spec" in refused("attack", "train.csv", "-a", "membership", *of)
    assert "No attack" in refused("attack", "train.csv", "-a", "nosuch", *of)
    (folder / "bad.csv").write_text((folder / "train.csv").read_text())
    (folder / "bad.csv.veil.json").write_text("[]")
    assert "not a release card" in refused("attack", "bad.csv", "-a", "scoreboard", *of)


def test_a_plane_is_drawn(folder: Path) -> None:
    text = run(
        "plane", "train.csv", "test.csv", "-m", "kprofiles(factors=4, k=8)", "-m",
        "kprofiles(factors=4, k=2)", "-a", "scoreboard(known=4)", "--recommender",
        "itemknn(k=8)", *SCALE, "-o", "plane.html", "--workers", "0",
    )  # fmt: skip
    assert "kprofiles" in text
    page = (folder / "plane.html").read_text()
    assert "Lists before and after" in page
    assert "Who could be found" in page
    assert "user-" not in page
    assert stat.S_IMODE((folder / "plane.html").stat().st_mode) == 0o600
    rows = (folder / "plane" / "results.csv").read_text()
    assert rows.count("scoreboard(known=4)") >= 3


def test_a_plane_takes_single_specs(folder: Path) -> None:
    run("plane", "train.csv", "test.csv", "-m", "pseudonyms", "--workers", "0", *SCALE,
        "--recommender", "popularity", "-o", "one")  # fmt: skip
    assert (folder / "one" / "results.csv").is_file()


def test_former_forms_work_and_show_those_of_today(folder: Path) -> None:
    run("split", "train.csv", "--train", "a.csv", "--test", "b.csv")
    for arguments in (
        ("protect", "krr(epsilon=3)", "a.csv", "-o", "released.csv", *SCALE),
        ("attack", "scoreboard(known=4)", "released.csv", "--truth", "a.csv", *SCALE),
        ("fit", "popularity", "a.csv", "-o", "m.npz"),
        ("recommend", "m.npz", "--train", "a.csv", "--user", one_user(folder)),
        ("evaluate", "m.npz", "a.csv", "b.csv", "--measures", "ndcg"),
    ):
        output = CliRunner().invoke(veil, ["ratings", *arguments], catch_exceptions=False).output
        assert f"will be removed in 0.4. Use: veil ratings {arguments[0]}" in output
        assert "Usage" not in output
    files = ("train.csv", "test.csv", "--workers", "0", *SCALE)
    former = ("plane", "krr", *files, "--attack", "scoreboard(known=4)", "-o", "two")
    output = run(*former, "--sweep", "epsilon=1,3")
    assert "will be removed in 0.4. Use: veil ratings plane TRAIN TEST -m SPEC" in output
    rows = (folder / "two" / "results.csv").read_text()
    assert "krr(epsilon=1" in rows
    assert "krr(epsilon=3" in rows
    assert "a parameter and its values" in refused(*former, "--sweep", "epsilon=a,b")
    serve = ("serve", "popularity", "--clients", "3", "--items", "a.csv", *SCALE, "-o", "model")
    assert "Only federated" in refused(*serve)


def one_user(folder: Path) -> str:
    return (folder / "a.csv").read_text().split("\n")[1].split(",")[0]


def test_all_commands_are_named() -> None:
    expected = "describe split fit recommend evaluate protect attack serve join".split()
    assert list(RatingsExperiment.verbs) == expected
    group = domain_group("ratings")
    for verb in ("attack", "plane", "protect", "choose"):
        assert group.get_command(None, verb) is not None  # type: ignore[arg-type]
