"""Attackers learn from answers alone: what they find, and what they cannot find."""

import math

import numpy as np
import pytest
from numpy.random import Generator
from tests.dp.attacks.people import column, exactly, needs_counts
from tests.dp.golden import golden

from veil.core.errors import InputError, ParameterError, RefusedError, UnknownNameError
from veil.core.types import Ids
from veil.dp.attack import Ask, Mask, Questions, advantage, attack
from veil.dp.attacks import ATTACKS
from veil.dp.restricted import StatisticalDatabase

ALL = [
    "averaging(times=3)",
    "differencing",
    "membership(queries=900)",
    "reconstruction",
    "tracker",
]
GUESSING = [spec for spec in ALL if not spec.startswith("membership")]


@pytest.fixture
def secret(rng: Generator) -> Ids:
    return rng.integers(0, 2, 60)


def noisy(secret: Ids, rng: Generator, scale: float) -> Ask:
    """Answer counts with float noise: enough for an attacker."""
    return lambda mask: int(secret[mask].sum()) + float(rng.laplace(0, scale))


def test_every_attacker_is_tried() -> None:
    assert [spec.partition("(")[0] for spec in ALL] == list(ATTACKS.names())


@pytest.mark.parametrize("spec", GUESSING)
def test_exact_answers_give_everything_away(spec: str, secret: Ids) -> None:
    assert attack(spec, exactly(secret), len(secret), rng=1).tolist() == secret.tolist()


def test_tracing_finds_most_members_of_exact_answers(secret: Ids) -> None:
    scores = attack("membership(queries=900)", exactly(secret), len(secret), rng=1)
    assert advantage(scores, secret) > 0.85


@pytest.mark.parametrize("spec", ALL)
def test_nothing_but_answers_is_used(spec: str, secret: Ids, rng: Generator) -> None:
    """The same answers, of whom there is no secret left to look at, give the same guesses."""
    heard: list[float] = []
    asked: list[bytes] = []
    ask = noisy(secret, rng, 2.0)

    def first(mask: Mask) -> float:
        asked.append(mask.tobytes())
        heard.append(ask(mask))
        return heard[-1]

    guesses = attack(spec, first, len(secret), rng=5)
    said, repeated = iter(heard), iter(asked)

    def replay(mask: Mask) -> float:
        assert mask.tobytes() == next(repeated)
        return next(said)

    assert np.array_equal(attack(spec, replay, len(secret), rng=5), guesses, equal_nan=True)


@pytest.mark.parametrize("spec", ALL)
def test_blind_answers_give_nothing(spec: str, rng: Generator) -> None:
    risks = []
    for _ in range(20):
        secret = rng.integers(0, 2, 50)
        found = attack(spec, lambda _: float(rng.normal(12, 4)), 50, rng)
        risks.append(float(advantage(found, secret, scores=spec.startswith("membership"))))
    assert np.mean(risks) < 0.15


@pytest.mark.parametrize("spec", ALL)
def test_what_is_refused_is_no_guess(spec: str) -> None:
    def refuse(mask: Mask) -> float:
        raise RefusedError("No.")

    assert np.isnan(attack(spec, refuse, 8)).all()


@pytest.mark.parametrize("spec", ALL)
def test_who_answers_cannot_change_what_was_asked(spec: str, secret: Ids) -> None:
    def spoil(mask: Mask) -> int:
        answer = int(secret[mask].sum())
        mask[:] = False
        return answer

    given = attack(spec, exactly(secret), len(secret), rng=1)
    assert np.array_equal(attack(spec, spoil, len(secret), rng=1), given)


def test_some_refusals_leave_the_others(secret: Ids) -> None:
    database = StatisticalDatabase(secret, min_size=25)
    found = attack("reconstruction(queries=900)", database.ask, len(secret), rng=1)
    assert found.tolist() == secret.tolist()
    assert np.isnan(attack("differencing", database.ask, len(secret))).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_the_tracker_defeats_any_size_up_to_a_quarter(n: int, rng: Generator) -> None:
    values = rng.integers(-50, 9_000, n)
    database = StatisticalDatabase(values, min_size=max(1, n // 4))
    guesses = attack("tracker", database.ask, n, rng)
    assert guesses.tolist() == values.tolist()
    assert database.asked <= n + 2


def test_the_tracker_puts_its_halves_together_as_printed(rng: Generator) -> None:
    """q(C or T) + q(C or not T) - q(T) - q(not T), with one answer of each set."""
    values = rng.normal(size=30)
    kept: dict[bytes, float] = {}

    def ask(mask: Mask) -> float:
        return float(kept.setdefault(mask.tobytes(), values[mask].sum() + rng.normal()))

    found = attack("tracker(target=4)", ask, 30, rng=3)
    half = np.zeros(30, dtype=np.bool_)
    half[np.frombuffer(next(iter(kept)), dtype=np.bool_)] = True
    target = np.arange(30) == 4
    sets = (half | target, ~half | target, half, ~half)
    signs = (1, 1, -1, -1)
    wanted = sum(sign * ask(one) for sign, one in zip(signs, sets, strict=True))
    assert found[4] == pytest.approx(wanted)
    assert len(kept) == 3
    assert np.isnan(np.delete(found, 4)).all()


@needs_counts
def test_the_tracker_finds_an_income() -> None:
    case = golden("attacks")
    wanted = case["tracker"]  # type: ignore[call-overload]
    database = StatisticalDatabase(column("income"), min_size=wanted["min_size"])
    guesses = attack("tracker", lambda mask: database.ask(mask, "sum"), 1_000, rng=1)
    assert guesses[wanted["target"]] == wanted["recovered"]
    assert np.array_equal(guesses, column("income"))


def test_averaging_takes_noise_away_unless_answers_are_kept(secret: Ids, rng: Generator) -> None:
    ask = noisy(secret, rng, 5.0)
    often = attack("averaging(times=400)", ask, len(secret))
    assert np.abs(often - secret).mean() < 2 * 5 * math.sqrt(2 / 400)
    kept: dict[bytes, float] = {}
    same = attack(
        "averaging(times=400)", lambda mask: kept.setdefault(mask.tobytes(), ask(mask)),
        len(secret),
    )  # fmt: skip
    assert np.abs(same - secret).mean() > 3


@pytest.mark.parametrize("spec", ["averaging", "differencing", "tracker"])
def test_a_target_must_be_there(spec: str) -> None:
    with pytest.raises(InputError, match=r"a record from 0 to 3. Got 4 instead"):
        attack(f"{spec}(target=4)", lambda _: 0, 4)


@pytest.mark.parametrize("n", [0, -1, True, 2.5, "3"])
def test_records_are_counted(n: int) -> None:
    with pytest.raises(ParameterError, match="an integer >= 1"):
        attack("tracker", lambda _: 0, n)


@pytest.mark.parametrize("answer", [math.nan, math.inf, "many", None, [1, 2], {}])
def test_an_answer_is_a_number(answer: object) -> None:
    with pytest.raises(InputError, match="one finite number") as error:
        attack("differencing", lambda _: answer, 3)
    assert "many" not in str(error.value)


def test_who_is_asked_must_answer() -> None:
    with pytest.raises(ParameterError, match="must be a function"):
        attack("differencing", 3, 3)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="tracker"):
        attack("trackr", lambda _: 0, 3)
    with pytest.raises(ParameterError, match="queries"):
        attack("reconstruction(queries=0)", lambda _: 0, 3)


def test_nobody_is_asked_about_nobody() -> None:
    ask = Questions(lambda mask: 1 / 0)
    assert ask(np.zeros(3, dtype=np.bool_)) == 0
    assert ask.asked == 0
