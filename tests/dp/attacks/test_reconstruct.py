"""Reconstruction: the linear program, and what it needs."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from veil.core.errors import InputError, install_hint
from veil.dp.attacks.reconstruct import decode, reconstruct


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 14))
def test_no_bits_fit_better_than_the_relaxation(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    sets = rng.integers(0, 2, (m, n)).astype(np.float64)
    answers = rng.normal(n / 4, 2, m)
    point = decode(sets, answers)
    assert ((point >= 0) & (point <= 1)).all()
    error = np.abs(sets @ point - answers).sum()
    least = min(
        np.abs(sets @ np.array(bits) - answers).sum()
        for bits in itertools.product((0, 1), repeat=n)
    )
    assert error <= least + 1e-6
    away = np.clip(point + rng.normal(0, 0.05, (200, n)), 0, 1)  # the problem is convex
    assert error <= np.abs(away @ sets.T - answers).sum(axis=1).min() + 1e-6


def test_both_ways_to_solve_it_agree(rng: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = rng.integers(0, 2, (200, 50)).astype(np.float64)
    answers = sets @ rng.integers(0, 2, 50) + rng.laplace(0, 2, 200)
    simplex = decode(sets, answers)
    monkeypatch.setattr("veil.dp.attacks.reconstruct._LARGE", 10)
    inside = decode(sets, answers)
    errors = [np.abs(sets @ point - answers).sum() for point in (simplex, inside)]
    assert errors[0] == pytest.approx(errors[1])


def test_it_recovers_what_noise_below_the_square_root_hides(rng: Generator) -> None:
    secret = rng.integers(0, 2, 120)
    sets = rng.integers(0, 2, (600, 120)).astype(np.bool_)
    found = reconstruct(sets, sets @ secret + rng.integers(-2, 3, 600))
    assert (found == secret).mean() > 0.97


@pytest.mark.parametrize(
    ("queries", "answers", "said"),
    [
        ([], [], "one row per answer"),
        ([1, 0], [1], "one row per answer"),
        ([[1, 2]], [1], "one row per answer"),
        ([[1, 0], [1]], [1, 1], "one row per answer"),
        ([["a"]], [1], "one row per answer"),
        ([[1, 0]], [1, 2], "per query, 1 in total"),
        ([[1, 0]], [np.nan], "per query, 1 in total"),
    ],
)
def test_what_cannot_be_used_is_told(queries: object, answers: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        reconstruct(queries, answers)  # type: ignore[arg-type]


def test_a_missing_extra_is_named() -> None:
    script = (
        "import sys; sys.modules['scipy'] = None; sys.modules['scipy.optimize'] = None\n"
        "from veil.dp.attacks.reconstruct import reconstruct\n"
        "try:\n    reconstruct([[1]], [1])\n"
        "except ImportError as error:\n    print(type(error).__name__, error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("MissingExtraError ")
    assert f"scipy: {install_hint('dp')}" in told.stdout
