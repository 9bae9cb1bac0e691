"""Hold what a mechanism or an oracle claims against samples of it."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.rng import Randomness
from veil.dp.audit.found import Audit
from veil.dp.audit.sampler import Claim, hold
from veil.dp.audit.views import Array
from veil.dp.calibration import zcdp_epsilon
from veil.dp.local.oracle import Oracle
from veil.dp.local.report import report
from veil.dp.mechanism import Mechanism
from veil.dp.named import named

Audited = Mechanism | Oracle
DELTA = 1e-3  # at which zCDP is converted: a larger one shows more in few samples
Pair = tuple[object, object]


def audit(
    m: str | Audited,
    pair: Pair | None = None,
    samples: int = 100_000,
    error: float = 1e-6,
    rng: Randomness = None,
) -> Audit:
    """Draw from a mechanism or an oracle, and hold what is claimed against what was drawn.

    Where the guarantee is none but an epsilon was published, the published one is held against
    it. A claim of zCDP is converted to an epsilon at a delta of 0.001.

    Parameters
    ----------
    m
        A mechanism or an oracle, or its spec.
    pair
        Two neighbouring inputs; without them, those that it declares, of which the pair that
        shows most is chosen.
    samples
        Draws for each input. They limit what can be shown: even an unbounded loss measures 8.1
        with the default, and ln 10 more with ten times as many.
    error
        Largest chance that a correct mechanism is accused by this audit.

    Examples
    --------
    >>> found = audit("above_threshold(epsilon=1, threshold=0, version=stoddard)", rng=1)
    >>> found.claimed, found.exceeded
    (1.0, True)
    """
    chosen = named(m)
    pairs = list(chosen.pairs()) if pair is None else [_two(pair)]
    if isinstance(chosen, Oracle):
        asked = [
            (_Asked(one, each), _Asked(other, each)) for each in pairs for one, other in [each]
        ]
        found = hold(claim_of(chosen), asked, partial(_reports, chosen), samples, error, rng)
        return replace(
            found, pair=tuple(one.value for one in found.pair if isinstance(one, _Asked))
        )
    given = [(chosen.check(one), chosen.check(other)) for one, other in pairs]
    if pair is not None and np.array_equal(*given[0]):
        raise InputError("An audit tells two inputs apart; the two given are the same.")
    return hold(claim_of(chosen), given, partial(_outputs, chosen), samples, error, rng)


def claim_of(m: Audited) -> Claim:
    """Return what is held against a mechanism: the published epsilon, at the delta it has."""
    said = m.guarantee
    if said.kind == "zcdp":
        return Claim(str(m), zcdp_epsilon(said.rho, DELTA), DELTA)
    return Claim(str(m), m.published, said.delta)


@dataclass(frozen=True)
class _Asked:
    """A value, and the pair from which reports of it are to be told apart."""

    value: Any
    pair: tuple[Any, Any]


def _outputs(m: Mechanism, x: Array, n: int, rng: Generator) -> Array:
    """Draw releases as rows: the codes that the mechanism gives them, and all their numbers."""
    drawn = m.draw(x, n, rng)
    codes, numbers = m.codes(drawn)[:, None], drawn.reshape(n, -1)
    return codes if np.array_equal(codes, numbers) else np.hstack([codes, numbers])


def _reports(m: Oracle, asked: _Asked, n: int, rng: Generator) -> Array:
    """Draw reports of one value, as the codes that the oracle gives them."""
    return m.codes(report([asked.value] * n, m, rng=rng), asked.pair)


def _two(pair: Pair) -> Pair:
    if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
        raise InputError("An audit tells two inputs apart; give a pair of them, or none.")
    return pair[0], pair[1]
