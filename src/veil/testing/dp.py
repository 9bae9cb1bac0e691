"""Checks of differential privacy: mechanisms for numbers, local oracles, and attacks."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from veil import dp
from veil.core.guarantee import KINDS
from veil.core.types import Ids
from veil.dp.audit import audit
from veil.dp.local.oracle import Oracle
from veil.dp.local.reports import report
from veil.dp.mechanism import Mechanism
from veil.dp.release import Release, release
from veil.testing.contract import (
    CANARY,
    SEED,
    Attacking,
    Check,
    Part,
    Protection,
    declarations,
    fingerprint,
    parameters,
    refusal,
    require,
)

N, DRAWS, SAMPLES = 24, 60, 4_000


def _answer(mechanism: Mechanism) -> Any:  # noqa: ANN401
    """Return an exact answer of the kind that a mechanism takes."""
    return np.array(mechanism.pairs()[0][0])


def _release(mechanism: Mechanism, answer: object, rng: Any) -> Release:  # noqa: ANN401
    answers = release(answer, mechanism, DRAWS, rng)
    require(
        len(np.asarray(answers.value)) == DRAWS, "draw(x, size, rng) must stack `size` releases"
    )
    return answers


def _bad_answers() -> list[object]:
    return [CANARY, None, [CANARY], float("nan"), [[1], [2, 3]]]


_NOISY = Protection(_answer, _release, _bad_answers, lambda made: np.asarray(made.value))


def keeps_its_epsilon(mechanism: Mechanism | Oracle) -> None:
    """Audit a mechanism: draws from neighbouring inputs must not refute its guarantee."""
    require(len(mechanism.pairs()) > 0, "`pairs` must have two neighbouring inputs for an audit")
    if mechanism.guarantee.kind == "none":
        return
    require(
        not audit(mechanism, samples=SAMPLES, rng=SEED).exceeded,
        "draws from neighbouring inputs must not refute the guarantee",
    )


def reports_values(oracle: Oracle) -> None:
    """Check reports of a few values: their labels, their seed, and what is refused."""
    values = np.resize(np.array(oracle.pairs()[0], dtype=object), 300).tolist()
    reports = report(values, oracle, rng=SEED)
    require(reports.n == 300, "there must be a report of each value")
    require(reports.cost.kind in KINDS, "the cost of reports must be a guarantee of a known kind")
    require(reports.mechanism == str(oracle), "reports must have the spec of their oracle")
    again, fresh = report(values, oracle, rng=SEED), report(values, oracle)
    require(
        fingerprint(reports.data) == fingerprint(again.data),
        "the same seed must give the same reports",
    )
    require(
        fingerprint((reports.data, reports.index)) != fingerprint((fresh.data, fresh.index)),
        "fresh randomness must give other reports",
    )
    require(
        reports.seeded and not fresh.seeded, "reports with a seed alone must be labelled seeded"
    )
    for bad in (CANARY, None, [None]):
        require(
            refusal(lambda bad=bad: report(bad, oracle, rng=SEED)) is not None,  # type: ignore[misc]
            "bad values must be refused with a VeilError",
        )


def _secret(_: Part) -> tuple[Ids, Ids]:
    bits = np.random.default_rng(8).integers(0, 2, N)
    return bits, bits


def _attack(attack: Part, truth: Ids, answered: Ids) -> Any:  # noqa: ANN401
    """Let an attack ask about the answered bits, and score its guesses by the true ones."""
    outcome = dp.attack(attack, lambda mask: int(answered[mask].sum()), N, SEED)
    if hasattr(outcome, "risk"):
        return outcome
    return SimpleNamespace(risk=dp.advantage(outcome, truth, scores=attack.gives == "scores"))


def _others(attack: Part) -> Ids:
    """Return bits that say nothing of the true ones: half of them are turned around."""
    truth = _secret(attack)[0]
    flipped = np.zeros(N, dtype=np.int64)
    for value in (0, 1):
        flipped[np.flatnonzero(truth == value)[::2]] = 1
    return truth ^ flipped


_ASKING = Attacking(_secret, _attack, _others)
MECHANISM: tuple[Check, ...] = (*_NOISY.checks, keeps_its_epsilon)
ORACLE: tuple[Check, ...] = (declarations, parameters, reports_values, keeps_its_epsilon)
ATTACK: tuple[Check, ...] = _ASKING.checks
