"""What is prepared is all that an attack needs: it computes no normaliser and searches nothing."""

from pathlib import Path

import numpy as np
import pytest
from tests.attacks.test_bayes import word_mechanism
from tests.conftest import make_space

from veil.attacks import _exponentials, _neighbours
from veil.attacks.attack import Scene
from veil.attacks.bayes import Bayes
from veil.attacks.log import QueryLog
from veil.attacks.prepare import prepare
from veil.data.embeddings import Embeddings, open_folder
from veil.mechanisms.words.protect import protect

SPECS = ["santext(epsilon=1)", "santext(epsilon=3)", "tem(epsilon=2)", "wbb(epsilon=2, k=2, n=9)"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_space(300, 5).save(tmp_path / "space")
    return tmp_path / "space"


def scene(spec: str, space: Embeddings) -> Scene:
    rng = np.random.default_rng(2)
    log = [" ".join(rng.choice(space.words[:150], size=2)) for _ in range(80)]
    originals = (log[0].title(), log[1].upper(), log[2])
    made = word_mechanism(spec)
    rows = protect(originals, made, space, 3, rng=1, select="all").rows
    return Scene(rows, originals, QueryLog.of(log), made, space)


def test_the_attack_finds_everything_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = open_folder(folder)
    ready = scene(SPECS[0], space)
    attacker = Bayes(select="all")
    mechanisms = [word_mechanism(spec) for spec in SPECS]
    prepare(attacker, mechanisms, ready.originals, ready.log, space)
    expected = [attacker.attack(scene(spec, space)).ranks.tolist() for spec in SPECS]

    def fail(*given: object) -> bool:
        laws, ids = given[:2]
        unknown = [np.isnan(law.logs[ids]).any() for law in laws]  # type: ignore[attr-defined]
        assert not any(unknown)
        return False

    monkeypatch.setattr(_exponentials, "compute", fail)
    monkeypatch.setattr(_exponentials, "prepare", fail)
    monkeypatch.setattr(_exponentials, "_TOP", 0)
    monkeypatch.setattr(_exponentials, "_SMALL", 0)
    monkeypatch.setattr(_neighbours, "_search", None)
    fresh = open_folder(folder)  # as another process would open it
    for spec, ranks in zip(SPECS, expected, strict=True):
        assert attacker.attack(scene(spec, fresh)).ranks.tolist() == ranks
