"""From a file to a model, and the command that does it."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from veil.cli.domain import domain_group
from veil.core.errors import InputError, ParameterError, VeilError
from veil.dp.mining.classifier import Mined, classifier_utility, inertia, kmeans_utility, mine
from veil.dp.mining.columns import Column

COLUMNS = [Column.parse("age:0:100:10"), Column("town")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write a table of 2,000 rows: the old are rich, whatever their town."""
    rng = np.random.default_rng(1)
    ages, towns = rng.integers(0, 100, 2000), rng.choice(["Uppsala", "Øl", "x"], 2000)
    lines = [
        f"{age},{town},{'rich' if age > 50 else 'poor'}"
        for age, town in zip(ages, towns, strict=True)
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["age,town,class", *lines]) + "\n")
    return path


def test_a_file_is_learnt_and_tested(table: Path) -> None:
    found = mine(table, "naive_bayes", "class", 1.0, columns=COLUMNS, rng=1)
    assert found.accuracy > 0.9
    assert found.majority < 0.6
    assert found.trained + found.tested == 2000
    assert 500 < found.tested < 700
    assert found.cost.epsilon == 1.0
    assert found.model.seeded
    assert not mine(table, "naive_bayes", "class", 1.0, columns=COLUMNS).model.seeded


def test_a_table_of_its_own_tests(table: Path) -> None:
    found: Mined = mine(
        table, "logistic", "class", 1.0, 1e-5, columns=COLUMNS, test=table,
        classes=["poor", "rich"], rng=1,
    )  # fmt: skip
    assert found.trained == found.tested == 2000
    assert found.accuracy > 0.9
    assert "labels" not in found.cost.caveat


def test_columns_become_codes_by_public_rules_alone() -> None:
    town = Column("town", 8)
    assert town.codes(["a", "b"]).tolist() == town.codes(["b", "a", "c"])[[1, 0]].tolist()
    assert (town.codes([str(i) for i in range(1000)]) < 8).all()
    assert len(set(town.codes([str(i) for i in range(1000)]))) == 8
    assert Column.parse("a:0:1").size == 16
    for bad in ("", ":0:1", "a:0", "a:1:0", "a:0:1:0", "a:0:1:2:3", "a:x:1", "a:0:inf"):
        with pytest.raises(ParameterError, match="NAME:LOW:HIGH"):
            Column.parse(bad)


def test_the_command_prints_accuracy_and_cost(table: Path) -> None:
    words = [
        "mine",
        str(table),
        "-m",
        "naive_bayes",
        "--label",
        "class",
        "--epsilon",
        "1",
        "--seed",
        "1",
    ]
    shown = CliRunner().invoke(domain_group("dp"), [*words, "--column", "age:0:100:10"])
    assert shown.exit_code == 0
    for part in ("accuracy", "majority", "epsilon 1", "not private", "NOT PRIVATE"):
        assert part in shown.output
    plain = CliRunner().invoke(domain_group("dp"), words[:-2])
    assert plain.exit_code == 0
    assert "NOT PRIVATE" not in plain.output


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"label": "nobody"}, InputError, "nobody"),
        ({"holdout": 0.0}, ParameterError, "'holdout'"),
        ({"method": "forest"}, ParameterError, "method"),
        ({"epsilon": -1.0}, ParameterError, "'epsilon'"),
        ({"columns": [Column("class")]}, ParameterError, "label column"),
        ({"columns": [Column.parse("town:0:1")]}, InputError, "row 1 does not"),
        ({"classes": ["poor"]}, InputError, "must be in .classes."),
    ],
)
def test_bad_input_is_refused_without_a_value(
    table: Path, change: dict[str, object], error: type[VeilError], says: str
) -> None:
    arguments = {"source": table, "method": "naive_bayes", "label": "class", "epsilon": 1.0}
    with pytest.raises(error, match=says) as told:
        mine(**{**arguments, **change})  # type: ignore[arg-type]
    assert "Uppsala" not in str(told.value)


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("age,class\n")
    with pytest.raises(InputError, match="at least one row"):
        mine(path, "naive_bayes", "class", 1.0)


def test_utility_is_from_nothing_to_the_exact_model() -> None:
    assert classifier_utility(0.7, 0.9, 0.75) == 0
    assert classifier_utility(0.95, 0.9, 0.75) == 1
    assert classifier_utility(0.825, 0.9, 0.75) == pytest.approx(0.5)
    assert kmeans_utility(9.0, 1.0, 5.0) == 0
    assert kmeans_utility(0.5, 1.0, 5.0) == 1
    for bad in ((0.8, 0.7, 0.75), (1.2, 0.9, 0.75)):
        with pytest.raises(ParameterError):
            classifier_utility(*bad)
    with pytest.raises(ParameterError):
        kmeans_utility(1.0, 2.0, 2.0)
    with pytest.raises(ParameterError):
        inertia(np.empty((0, 1)), [[0.0]])
