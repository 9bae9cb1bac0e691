"""The commands of recommenders: from file to file, in words, and what they refuse."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.ratings.golden import made

from veil import ratings
from veil.cli import veil
from veil.core.errors import InputError, VeilError
from veil.ratings.release import open_model, save_model, write_ratings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    write_ratings(made(), tmp_path / "all.csv")
    run("split", "all.csv", "--train", "train.csv", "--test", "test.csv")
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(veil, ["ratings", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(veil, ["ratings", *arguments])
    assert isinstance(result.exception, VeilError), result.output
    return str(result.exception)


def test_describe_says_sizes(folder: Path) -> None:
    text = run("describe", "all.csv", "--scale", "1", "5")
    assert f"{len(made()):,}" in text
    assert "declared" in text
    assert "--scale" in run("describe", "all.csv")


def test_split_writes_the_parts_of_the_library(folder: Path) -> None:
    train, test = ratings.split(made())
    assert len(ratings.load("train.csv")) == len(train)
    assert len(ratings.load("test.csv")) == len(test)
    assert Path("train.csv").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("spec", ["itemknn(k=5)", "sgd(factors=3)", "ials(factors=3)", "bias",
                                  "als(factors=3)", "ease", "popularity", "userknn"])  # fmt: skip
def test_a_model_goes_through_a_file(folder: Path, spec: str) -> None:
    run(
        "fit", "train.csv", "-m", spec, "--positive", "4", "--scale", "1", "5", "--seed", "3",
        "-o", "m.npz",
    )  # fmt: skip
    assert Path("m.npz").stat().st_mode & 0o077 == 0
    model = open_model(Path("m.npz"), Path("train.csv"))
    again = ratings.recommender(spec).fit(model.train, positive=4, rng=3)
    users = np.arange(model.train.n)
    assert np.array_equal(model.scores(users), again.scores(users))
    assert (model.guarantee, model.seeded, model.positive) == (
        again.guarantee, again.seeded, 4.0
    )  # fmt: skip
    assert model.train.scale == (1, 5)


def test_lists_and_measures_are_shown(folder: Path) -> None:
    run(
        "fit",
        "train.csv",
        "-m",
        "itemknn(k=5)",
        "--positive",
        "4",
        "--scale",
        "1",
        "5",
        "-o",
        "m.npz",
    )
    expected = open_model(Path("m.npz"), Path("train.csv")).recommend(["3"], 4).list(0)
    shown = run("recommend", "m.npz", "--of", "train.csv", "--user", "3", "-k", "4")
    assert all(item in shown for item in expected)
    text = json.loads(run("evaluate", "m.npz", "test.csv", "--of", "train.csv", "--json"))
    train, test = ratings.split(made())
    model = ratings.recommender("itemknn(k=5)").fit(train, positive=4)
    assert text["measures"]["ndcg"]["value"] == pytest.approx(
        ratings.evaluate(model, test)["ndcg"]
    )
    assert "ndcg" in run(
        "evaluate", "m.npz", "test.csv", "--of", "train.csv", "--measures", "ndcg"
    )


def test_content_needs_its_table(folder: Path) -> None:
    Path("items.csv").write_text("item,title\n" + "".join(f"{i},t{i % 3}\n" for i in range(1, 31)))
    run("fit", "train.csv", "-m", "content", "--items", "items.csv", "--describe-by", "title",
        "-o", "m.npz")  # fmt: skip
    run("recommend", "m.npz", "--of", "train.csv", "--user", "1")
    assert "table" in refused("fit", "train.csv", "-m", "content", "-o", "m.npz")
    assert "Only content" in refused(
        "fit", "train.csv", "-m", "mean", "--items", "x", "-o", "m.npz"
    )


def test_bad_input_is_one_sentence(folder: Path) -> None:
    run("fit", "train.csv", "-m", "mean", "-o", "m.npz")
    assert "other ratings" in refused("recommend", "m.npz", "--of", "test.csv", "--user", "1")
    text = refused("recommend", "m.npz", "--of", "train.csv", "--user", "nobody")
    assert "nobody" not in text
    assert "does not exist" in refused("evaluate", "none.npz", "test.csv", "--of", "train.csv")
    Path("bad.npz").write_bytes(Path("m.npz").read_bytes()[:-30])
    assert "not a model" in refused("evaluate", "bad.npz", "test.csv", "--of", "train.csv")
    Path("text.npz").write_text("hello")
    assert "not a model" in refused("evaluate", "text.npz", "test.csv", "--of", "train.csv")
    assert "must not share ratings" in refused(
        "evaluate", "m.npz", "train.csv", "--of", "train.csv"
    )


def test_no_pickle_is_loaded_and_no_other_kind(folder: Path) -> None:
    np.savez("odd.npz", meta=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="not a model"):
        open_model(Path("odd.npz"), Path("train.csv"))
    np.savez("odd.npz", meta=np.frombuffer(b'{"kind": "other"}', dtype=np.uint8))
    with pytest.raises(InputError, match="version"):
        open_model(Path("odd.npz"), Path("train.csv"))


def test_factors_of_other_sizes_are_refused(folder: Path) -> None:
    model = ratings.recommender("ials(factors=3)").fit(ratings.load("train.csv"), rng=1)
    model.users = model.users[:-1]  # type: ignore[attr-defined]
    save_model(model, Path("m.npz"))
    with pytest.raises(InputError, match="does not fit"):
        open_model(Path("m.npz"), Path("train.csv"))


def test_a_private_fit_says_all_that_must_be_known(folder: Path) -> None:
    scale = ("--scale", "1", "5")
    text = run(
        "fit", "train.csv", "-m", "dppopularity(epsilon=1)", *scale, "--seed", "1", "-o", "m.npz"
    )
    assert "used a seed" in text
    assert "not declared whether the list of items is public" in text
    Path("items.csv").write_text("item\n" + "".join(f"{entry}\n" for entry in made().items))
    public = ("--catalogue", "items.csv")
    text = run("fit", "train.csv", "-m", "dppopularity(epsilon=1)", *scale, *public, "-o", "m.npz")
    assert "seeded" not in text
    assert "not declared whether" not in text
    run("recommend", "m.npz", "--of", "train.csv", *public, "--user", "3")
    run("evaluate", "m.npz", "test.csv", "--of", "train.csv", *public)


def test_no_command_writes_over_what_it_reads(folder: Path) -> None:
    before = Path("all.csv").read_bytes()
    for train, test in (("all.csv", "b.csv"), ("b.csv", "all.csv"), ("b.csv", "b.csv")):
        assert "replace" in refused("split", "all.csv", "--train", train, "--test", test)
    assert "overwrite" in refused("fit", "all.csv", "-m", "mean", "-o", "all.csv")
    assert Path("all.csv").read_bytes() == before


def test_a_scale_may_begin_below_zero(folder: Path) -> None:
    assert "-10 to 10, declared" in run("describe", "all.csv", "--scale", "-10", "10")
