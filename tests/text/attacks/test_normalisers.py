"""Normalisers of several laws from one pass, against the laws themselves."""

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space
from tests.text.attacks.test_bayes import word_mechanism

from veil.core.types import Floats
from veil.text.attacks import likelihood_exponential
from veil.text.attacks.likelihood_exponential import (
    Normalisers,
    compute_normalisers,
    prepare_normalisers,
)
from veil.text.mechanisms.words.kernels import ExponentialKernel
from veil.text.vectors.embeddings import Embeddings, open_folder

SPECS = [
    "santext(epsilon=1)",
    "santext(epsilon=40)",
    "tem(epsilon=3, beta=0.5)",
    "tem(epsilon=3, metric=angular)",
    "santext(epsilon=3, sensitive_share=0.5, p=0.3)",
    "santext(epsilon=1e300)",
]


def kernel(spec: str, space: Embeddings) -> ExponentialKernel:
    made = word_mechanism(spec).bind(space)
    assert isinstance(made, ExponentialKernel)
    return made


def truth(law: ExponentialKernel) -> Floats:
    """Read log Z off the probability of the farthest word that can be drawn."""
    space = law.space
    logs = law.log_probs(np.arange(space.size))
    points = space.points(np.arange(space.size))
    if law.metric == "angular":
        lengths = np.linalg.norm(points, axis=1)
        gaps = np.arccos(np.clip(points @ points.T / np.outer(lengths, lengths), -1, 1))
        np.fill_diagonal(gaps, 0)
    else:
        gaps = np.linalg.norm(points[:, None] - points, axis=2)
    scores = -law.slope * np.minimum(gaps, law.cap)
    result = scores - logs
    some = np.argmin(np.where(np.arange(space.size) >= law.first, gaps, np.inf), axis=1)
    replaced = np.arange(space.size) < law.first  # such a word is drawn with probability p only
    values: Floats = result[np.arange(space.size), some] + np.where(replaced, np.log(law.p), 0)
    return values


def test_one_pass_serves_all_laws() -> None:
    space = make_space(500, 6)
    laws = [Normalisers.of(kernel(spec, space)) for spec in SPECS]
    ids = np.array([0, 3, 3, 77, 400, 499])
    assert compute_normalisers(laws, ids)
    assert not compute_normalisers(laws, ids)
    for law in laws:
        known = np.flatnonzero(~np.isnan(law.logs))
        assert known.tolist() == np.unique(ids).tolist()
        np.testing.assert_allclose(law.logs[known], truth(law.kernel)[known], rtol=1e-5, atol=2e-5)


def test_what_was_computed_lies_beside_the_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_space(200, 4).save(tmp_path / "space")
    space = open_folder(tmp_path / "space")
    first = Normalisers.of(kernel(SPECS[0], space))
    prepare_normalisers([first], np.arange(10))
    other = Normalisers.of(kernel(SPECS[0], open_folder(tmp_path / "space")))
    prepare_normalisers([other], np.arange(10, 20))
    (file,) = (tmp_path / "space").glob("normalisers-*.npy")
    assert file.stat().st_mode & 0o777 == 0o600  # it names words of a log
    monkeypatch.setattr(likelihood_exponential, "_exact", None)  # nothing is computed again
    result = Normalisers.of(kernel(SPECS[0], open_folder(tmp_path / "space")))
    prepare_normalisers([result], np.arange(20))
    assert np.array_equal(result.logs, other.logs, equal_nan=True)
    assert np.isnan(Normalisers.of(kernel(SPECS[1], space)).logs).all()


@pytest.mark.parametrize("damage", [b"", b"no table", None])
def test_a_damaged_file_is_passed_over(tmp_path: Path, damage: bytes | None) -> None:
    make_space(200, 4).save(tmp_path / "space")
    space = open_folder(tmp_path / "space")
    law = Normalisers.of(kernel(SPECS[0], space))
    prepare_normalisers([law], np.arange(10))
    (file,) = (tmp_path / "space").glob("normalisers-*.npy")
    if damage is None:
        np.save(file, np.array([[1.0, 900.0], [0.5, 0.5]]))  # a word that is not there
    else:
        file.write_bytes(damage)
    assert np.isnan(Normalisers.of(kernel(SPECS[0], space)).logs).all()
