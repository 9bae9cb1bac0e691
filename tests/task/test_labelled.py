"""Labelled texts: what is read, what is refused, and which teach."""

from pathlib import Path

import pytest

from veil.core.errors import InputError
from veil.task import load


def written(folder: Path, *lines: str) -> Path:
    path = folder / "some.csv"
    path.write_text("\n".join(["words,kind", *lines]) + "\n")
    return path


def test_a_text_that_comes_again_neither_teaches_nor_is_asked_twice(tmp_path: Path) -> None:
    lines = [f"text {i % 10},{'x' if i % 3 else 'y'}" for i in range(40)]
    actual = load(written(tmp_path, *lines, "   ,x"), "words", "kind")
    assert len(actual) == 10
    queries, training = actual.split(4, 1)
    assert len(queries) == 4
    assert len(training) == 6
    assert not set(queries.texts) & set(training.texts)
    assert queries.texts == actual.split(4, 1)[0].texts
    assert queries.texts != actual.split(4, 2)[0].texts
    assert len(actual.split(100, 1)[0]) == 5
    assert actual.majority == "x"
    assert actual.classes == ("x", "y")
    assert [actual.classes[i] for i in actual.codes] == list(actual.labels)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["secret words,"], "has no label"),
        (["secret words,x"] * 9, "at least 4 texts and two labels"),
        ([f"secret {i},x" for i in range(9)], "Got 9 texts and 1 labels"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(
    tmp_path: Path, lines: list[str], told: str
) -> None:
    with pytest.raises(InputError, match=told) as error:
        load(written(tmp_path, *lines), "words", "kind")
    assert "secret" not in str(error.value)


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="label"):
        load(written(tmp_path, "a,b"), "words")
