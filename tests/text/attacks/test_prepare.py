"""What is prepared is all that an attack needs: it computes no normaliser and searches nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space
from tests.text.attacks.test_bayes import word_mechanism

from veil.text.attack import Scene
from veil.text.attacks import likelihood as _tables
from veil.text.attacks import likelihood_boxes, likelihood_exponential
from veil.text.attacks.bayes import Bayes, Reconstruct
from veil.text.attacks.likelihood import likelihood
from veil.text.attacks.posterior import prepare
from veil.text.log import QueryLog
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings, open_folder

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
    rows = protect_words(originals, made, space, 3, rng=1, select="all").rows
    return Scene(rows, originals, QueryLog.of(log), made, space)


def test_the_attack_finds_everything_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = open_folder(folder)
    ready = scene(SPECS[0], space)
    attacker = Bayes(select="all")
    mechanisms = [word_mechanism(spec) for spec in SPECS]
    prepare(attacker, mechanisms, ready.originals, ready.log, space)
    expected = [attacker.run(scene(spec, space)).ranks.tolist() for spec in SPECS]

    def fail(*given: object) -> bool:
        laws, ids = given[:2]
        unknown = [np.isnan(law.logs[ids]).any() for law in laws]  # type: ignore[attr-defined]
        assert not any(unknown)
        return False

    monkeypatch.setattr(likelihood_exponential, "compute_normalisers", fail)
    monkeypatch.setattr(likelihood_exponential, "prepare_normalisers", fail)
    monkeypatch.setattr(likelihood_exponential, "_TOP", 0)
    monkeypatch.setattr(likelihood_exponential, "_SMALL", 0)
    monkeypatch.setattr(likelihood_boxes, "_search", None)
    fresh = open_folder(folder)  # as another process would open it
    for spec, ranks in zip(SPECS, expected, strict=True):
        assert attacker.run(scene(spec, fresh)).ranks.tolist() == ranks


@pytest.mark.parametrize("attacker", [Bayes(select="all"), Reconstruct(select="all")])
def test_what_others_asked_before_changes_nothing(
    attacker: Bayes | Reconstruct, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Normalisers that happen to be known must not replace estimates here and there."""
    monkeypatch.setattr(likelihood_exponential, "_SMALL", 10)
    monkeypatch.setattr(likelihood_exponential, "_SAMPLE", 64)
    monkeypatch.setattr(likelihood_exponential, "_TOP", 5)
    monkeypatch.setattr(_tables, "_OTHERS", 100)
    fresh, used = make_space(900, 5), make_space(900, 5)
    spec = "santext(epsilon=2)"
    law = likelihood(word_mechanism(spec), used)
    law.prepare(np.arange(0, 900, 3))
    result = [attacker.run(_unknown(scene(spec, space))) for space in (fresh, used)]
    assert result[0].ranks.tolist() == result[1].ranks.tolist()


def _unknown(given: Scene) -> Scene:
    """Put queries with a word that nobody knows into the log."""
    assert given.log is not None
    odd = [f"qqqx {text.split()[1]}" for text in given.log.texts]
    return replace(given, log=QueryLog.of([*given.log.texts, *odd]))
