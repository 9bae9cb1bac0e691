"""Texts whose words tell their label, over a small space, and an encoder without a model."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space
from tests.search.conftest import BagEncoder

from veil.task.classifiers import logistic
from veil.text.attacks import posterior


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def bag(monkeypatch: pytest.MonkeyPatch) -> BagEncoder:
    """Every encoder is a bag of words."""
    encoder = BagEncoder()

    def opened(*_: object, **__: object) -> BagEncoder:
        return encoder

    monkeypatch.setattr(logistic, "open_encoder", opened)
    monkeypatch.setattr(import_module("veil.text.attack"), "open_encoder", opened)
    monkeypatch.setattr(posterior, "encoder", opened)
    monkeypatch.setattr("veil.search.study.material.encoder", opened)
    return encoder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write sixty words with vectors, and 120 texts: some words are good, some bad."""
    space = make_space(60, 4)
    lines = [
        " ".join([word, *(f"{number:.6f}" for number in vector)])
        for word, vector in zip(space.words, space.vectors.tolist(), strict=True)
    ]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    rng = np.random.default_rng(5)
    rows: dict[str, str] = {}
    while len(rows) < 120:
        label = int(rng.random() < 0.4)
        telling = rng.choice(space.words[:6] if label else space.words[6:12], 3)
        text = " ".join(map(str, [*telling, *rng.choice(space.words[12:], 3)]))
        rows[text] = "good" if label else "bad"
    table = "\n".join(f"{text},{label}" for text, label in rows.items())
    (tmp_path / "texts.csv").write_text(f"text,label\n{table}\n")
    return tmp_path
