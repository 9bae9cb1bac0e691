"""The learned surrogate: its formula, what it gains, and where it must not fail."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.random import Generator
from tests.conftest import make_space
from tests.text.attacks.test_bayes import NOISE, word_mechanism

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.outcome import rank_with_ties
from veil.core.types import Floats, Ids
from veil.text.attack import Scene
from veil.text.attacks.bayes import Reconstruct
from veil.text.attacks.likelihood import SimulatedLikelihood, likelihood
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings


def gaussian(point: Floats, mean: Floats, spread: Floats) -> float:
    gap = point - mean
    return float(-0.5 * gap @ np.linalg.inv(spread) @ gap)


def test_scores_are_those_of_a_gaussian_fitted_by_least_squares(words: Embeddings) -> None:
    made = word_mechanism("cmp(epsilon=4)")
    rng = np.random.default_rng(3)
    inputs = rng.integers(words.size, size=200_000)
    outputs = made.bind(words).sample(inputs, 1, rng)[0]
    other = outputs != inputs
    given = np.c_[words.points(inputs[other]), np.ones(other.sum())]
    line, *_ = np.linalg.lstsq(given, words.points(outputs[other]), rcond=None)
    spread = np.cov((words.points(outputs[other]) - given @ line).T)
    seen = np.array([3, 9, 9, 40])
    expected = [
        sum(gaussian(words.points(seen)[j], np.r_[point, 1] @ line, spread) for j in range(4))
        for point in words.points(np.arange(words.size))
    ]
    result = likelihood(made, words).of(seen)
    offset = np.array(expected) - result
    assert np.ptp(offset) < 0.15 * np.ptp(expected)  # one constant, up to the draws
    assert np.corrcoef(expected, result)[0, 1] > 0.995


@pytest.mark.parametrize("spec", ["cmp(epsilon=1)", "mahalanobis(epsilon=1)"])
def test_many_variants_tell_more_than_the_sum_of_densities(spec: str) -> None:
    """Noise that carries nearly every word away: no density at a word says where it came from."""
    space = make_space(3000, 12)
    made = word_mechanism(spec)
    truth = np.arange(0, 3000, 50)
    draws = made.bind(space).sample(truth, 50, np.random.default_rng(6))
    assert (draws == truth).mean() < 0.1
    ranks = {}
    for surrogate in ("simulated", "density"):
        law = likelihood(made, space, surrogate)
        result = [
            rank_with_ties(law.of(draws[:, i]), int(word))[0]
            for i, word in enumerate(truth.tolist())
        ]
        ranks[surrogate] = float(np.mean(1 / np.array(result)))
    assert ranks["simulated"] > 3 * ranks["density"]


@pytest.mark.parametrize("spec", NOISE)
def test_what_hardly_changes_is_found(spec: str, words: Embeddings) -> None:
    sharp = spec.replace("epsilon=12", "epsilon=1e6")
    made = word_mechanism(sharp)
    law = likelihood(made, words)
    draws = made.bind(words).sample(np.arange(60), 20, np.random.default_rng(1))
    result = [rank_with_ties(law.of(draws[:, i]), i)[0] for i in range(60)]
    assert np.mean(np.array(result) <= (2 if "vickrey" in spec else 1)) > 0.9


def test_the_model_is_the_same_every_time(words: Embeddings) -> None:
    made = word_mechanism("vickrey(epsilon=6)")
    one, other = (SimulatedLikelihood.of_mechanism(made, words) for _ in range(2))
    assert (one.slope == other.slope).all()
    assert (one.own == other.own).all()


class _Turn(WordMechanism):
    """Gives the next word but one in most cases, and has no closed form."""

    name: ClassVar[str] = "turn"
    epsilon: float = 1.0

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("none", self.epsilon, caveat="for a test")

    def bind(self, space: Embeddings) -> "_Turning":
        return _Turning(space.size)


class _Turning:
    def __init__(self, size: int) -> None:
        self._size = size

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        draws: Ids = (ids + 2 * (rng.random((size, len(ids))) < 0.9)) % self._size
        return draws


def test_any_mechanism_that_can_be_drawn_from_can_be_attacked(words: Embeddings) -> None:
    """A circle of words: the attacker learns the turn, and turns back."""
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    circle = np.c_[np.cos(angles), np.sin(angles)].astype(np.float32)
    space = Embeddings(words.words, circle, "circle")
    originals = tuple(space.words[i] for i in range(0, 60, 5))
    released = protect_words(originals, _Turn(), space, 20, rng=2, select="all")
    scene = Scene(released.rows, originals, None, _Turn(), space)
    assert (Reconstruct(select="all").run(scene).ranks == 1).mean() > 0.9
    with pytest.raises(ParameterError, match="surrogate='simulated'"):
        Reconstruct(select="all", surrogate="density").run(scene)


def test_a_flat_space_is_no_error() -> None:
    """All words on one line, one of them twice: the spread is singular but for the ridge."""
    line = np.zeros((6, 3), dtype=np.float32)
    line[:, 0] = [0, 1, 2, 3, 4, 4]
    space = Embeddings(tuple("abcdef"), line, "line")
    logs = likelihood(word_mechanism("cmp(epsilon=2)"), space).of(np.array([0, 0, 1]))
    assert np.isfinite(logs).all()
    assert logs.argmax() == 0
