"""A study so small that it runs in a second, on material made on the spot."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import make_space

from veil.search.study.study import SearchStudy
from veil.studies.domains import load_study

STUDY = """
collection = "tiny"
queries = 6
log = "log.txt"
vectors = "vectors.txt"
encoder = "none"
sizes = [4]
k = 10
seed = 7
attackers = ["bayes"]
blind = false

[[mechanism]]
spec = "cmp"
parameter = "epsilon"
values = [1, 5]

[[mechanism]]
spec = "custext(k=5)"
parameter = "epsilon"
values = [2]
"""

Variant = Callable[[str, str], SearchStudy]


def write_material(folder: Path) -> None:
    """Write 60 words, 40 documents, 8 queries, 7 of them judged, and a log."""
    space = make_space(60, 4)
    words = space.words
    lines = [
        " ".join([word, *(f"{number:.6f}" for number in vector)])
        for word, vector in zip(words, space.vectors.tolist(), strict=True)
    ]
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n")
    (folder / "log.txt").write_text(
        "\n".join(f"{words[i]} {words[(3 * i + 1) % 60]} {words[(7 * i) % 60]}" for i in range(30))
    )
    tiny = folder / "tiny"
    tiny.mkdir()
    docs = [
        {"id": f"d{i}", "text": " ".join(words[(i + j * j) % 60] for j in range(6))}
        for i in range(40)
    ]
    queries = [
        {"id": f"q{i}", "text": f"{words[5 * i]} {words[5 * i + 1]} {words[5 * i + 2]}"}
        for i in range(8)
    ]
    (tiny / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)))
    (tiny / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    judged = [f"q{i} 0 d{5 * i + j} {grade}" for i in range(7) for j, grade in ((0, 2), (1, 1))]
    (tiny / "qrels.txt").write_text("\n".join(judged) + "\nq7 0 d1 0\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that the tiny study names; nothing of the user's cache is touched."""
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    write_material(tmp_path)
    (tmp_path / "tiny.toml").write_text(STUDY)
    return tmp_path


def load(file: Path) -> SearchStudy:
    """Read a study of private search."""
    found = load_study(file)
    assert isinstance(found, SearchStudy)
    return found


@pytest.fixture
def study(folder: Path) -> SearchStudy:
    return load(folder / "tiny.toml")


@pytest.fixture
def variant(folder: Path) -> Variant:
    """Makes another study of the tiny one by changing a line."""

    def change(old: str, new: str) -> SearchStudy:
        assert old in STUDY
        (folder / "other.toml").write_text(STUDY.replace(old, new, 1))
        return load(folder / "other.toml")

    return change
