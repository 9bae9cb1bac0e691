r"""Hold what a mechanism, an oracle or any sampler claims against samples of it.

Ways to look at outputs: each gives an output a number, and events are sets of numbers.
Outputs of few values are looked at as they are. Of many values, as of noise on a fine grid, no set
could be chosen by counting; they are put into cells, finer towards both ends. Outputs of several
numbers are looked at as a whole, by some of their coordinates, by their sum, and by the direction
in which their means differ.

Hold a claimed epsilon against samples of anything that can be drawn from.
For two neighbouring inputs x, x' and any set E of outputs the claim is
:math:`\Pr[E|x] \le e^\varepsilon \Pr[E|x'] + \delta`. The audit draws from both, chooses inputs, E
and how outputs are looked at on one half of the samples, and bounds both probabilities on the
other half (Clopper and Pearson). What comes of it is, but for a stated chance of error, a lower
bound on the true epsilon: above the claim it refutes it. Below it proves nothing: a fault may hide
from the samples.

References
----------
Ding, Wang, Wang, Zhang, Kifer. Detecting Violations of Differential Privacy. CCS 2018.
doi:10.1145/3243734.3243818
Clopper, Pearson. The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial.
Biometrika 26(4), 1934. doi:10.1093/biomet/26.4.404

Notes
-----
The half that chooses is divided again: an event is chosen by counting on its first part, and of
all events, views, directions and pairs the one that shows most on its second part. So one event is
left for the other half, and the chance of error is divided among its two bounds alone.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.calibration import zcdp_epsilon
from veil.dp.inputs import count as whole
from veil.dp.inputs import positive, share
from veil.dp.local.oracle import Oracle
from veil.dp.local.reports import report
from veil.dp.mechanism import Mechanism
from veil.dp.release import mechanism_or_oracle
from veil.measures.bounds import (
    choose_event,
    count_hits,
    lower_share,
    proved_log_ratio,
    rough_log_ratios,
    upper_share,
)

Verdict = Literal["REFUTED", "not refuted", "out of reach", "nothing is claimed"]
BOUNDS = 2  # of shares, among which the chance of error is divided


@dataclass(frozen=True)
class Audit:
    """The epsilon that was measured beside the one that is claimed.

    Attributes
    ----------
    mechanism
        What was audited.
    pair
        The two inputs, that under which the event is likelier first.
    claimed, delta
        The epsilon that is held against the samples, at that delta.
    lower
        The epsilon that was measured at that delta: the true one is at least this.
    hits, trials
        How often the event came under either input, in how many samples each.
    samples
        Draws for each input, of which one half chose the event.
    error
        Largest chance that a correct mechanism is accused.
    """

    mechanism: str
    pair: tuple[object, object]
    claimed: float
    lower: float
    delta: float
    hits: tuple[int, int]
    trials: int
    samples: int
    error: float

    @property
    def exceeded(self) -> bool:
        """Whether the samples refute the claim."""
        return self.lower > self.claimed

    @property
    def reach(self) -> float:
        """The most that so many samples can show: a claim above it cannot be refuted by them."""
        share = self.error / BOUNDS
        most = lower_share(self.trials, self.trials, share) - self.delta
        return math.log(most / upper_share(0, self.trials, share)) if most > 0 else 0.0

    @property
    def verdict(self) -> Verdict:
        """What came of it; a claim that is not refuted is not thereby proved."""
        if math.isinf(self.claimed):
            return "nothing is claimed"
        if self.exceeded:
            return "REFUTED"
        return "not refuted" if self.claimed < self.reach else "out of reach"

    def __str__(self) -> str:
        at = f" at delta {self.delta:g}" if self.delta else ""
        claim = "nothing is claimed" if math.isinf(self.claimed) else f"claimed {self.claimed:.3f}"
        told = f"{self.mechanism}: measured >= {self.lower:.3f}, {claim}{at}"
        return told if math.isinf(self.claimed) else f"{told}: {self.verdict}"


Array = NDArray[Any]
View = Callable[[Array], Ids]
_COLUMNS = 8
_CELLS = 48
_TAIL = 13  # halvings of the share in the cells at both ends
_ODD = np.uint64(0x9E3779B97F4A7C15)


def views(one: Array, other: Array) -> Iterator[View]:
    """Yield ways to look at outputs (n, d), made on samples that are not used to bound."""
    yield rows
    columns = _telling(one, other)
    for column in columns:
        if one.shape[1] > 1:
            yield _values(column)
        yield _cells(_Column(column), one, other)
    if one.shape[1] > 1:
        with np.errstate(all="ignore"):
            spread = np.concatenate([one, other]).astype(np.float64).var(axis=0)
            apart = one.mean(axis=0) - other.mean(axis=0)
            slope = np.nan_to_num(apart / np.maximum(spread, 1e-300), posinf=0.0, neginf=0.0)
        for weights in (slope, np.ones(one.shape[1])):
            yield _cells(_Sum(weights), one, other)


def rows(outputs: Array) -> Ids:
    """Give equal outputs the same number; others share one by rare accident."""
    found = np.zeros(len(outputs), dtype=np.uint64)
    for column in range(outputs.shape[1]):
        found = (found ^ bits(outputs[:, column])) * _ODD
        found ^= found >> np.uint64(29)
    return (found >> np.uint64(1)).astype(np.int64)


def bits(numbers: Array) -> NDArray[np.uint64]:
    """Return the bits of numbers; those of 0 and -0 are the same."""
    if numbers.dtype.kind == "f":
        return (numbers.astype(np.float64) + 0.0).view(np.uint64)
    return numbers.astype(np.int64).view(np.uint64)


class _Column:
    """One number of each output."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __call__(self, outputs: Array) -> Floats:
        return outputs[:, self._at].astype(np.float64)


class _Sum:
    """A weighted sum of the numbers of each output."""

    def __init__(self, weights: Floats) -> None:
        self._weights = weights

    def __call__(self, outputs: Array) -> Floats:
        with np.errstate(all="ignore"):
            found: Floats = outputs.astype(np.float64) @ self._weights
        return found


def _values(column: int) -> View:
    return lambda outputs: rows(outputs[:, column : column + 1])


def _cells(figure: Callable[[Array], Floats], one: Array, other: Array) -> View:
    """Put a figure into cells that hold about the same share of the samples of both inputs."""
    pool = np.sort(np.concatenate([figure(one), figure(other)]))
    tail = 0.5 ** np.arange(_TAIL, 5, -1)
    levels = np.concatenate([tail, np.arange(1, _CELLS) / _CELLS, 1 - tail[::-1]])
    places = np.minimum((levels * len(pool)).astype(np.int64), len(pool) - 1)
    edges = np.unique(pool[places])
    return lambda outputs: np.searchsorted(edges, figure(outputs), side="right").astype(np.int64)


def _telling(one: Array, other: Array) -> list[int]:
    """Choose the first coordinate, and others whose mean or spread differs the most.

    The first is the code that a mechanism gives to the whole of an output.
    """
    if one.shape[1] <= _COLUMNS:
        return list(range(one.shape[1]))
    with np.errstate(all="ignore"):
        means = [part.mean(axis=0, dtype=np.float64) for part in (one, other)]
        spreads = [part.std(axis=0, dtype=np.float64) + 1e-9 for part in (one, other)]
        apart = np.abs(means[0] - means[1]) / np.maximum(*spreads)
        apart = np.nan_to_num(apart + np.abs(np.log(spreads[0] / spreads[1])))
    apart[0] = np.inf
    chosen: list[int] = np.argsort(-apart, kind="stable")[:_COLUMNS].tolist()
    return chosen


Draw = Callable[[Any, int, Generator], Array]
_FEWEST = 1_000


@dataclass(frozen=True)
class Claim:
    """What is claimed of what is audited."""

    mechanism: str
    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True)
class _Choice:
    """An event that tells two inputs apart, and how outputs are looked at."""

    ratio: float
    pair: tuple[object, object]
    view: View
    event: Ids


def audit_sampler(
    draw: Draw,
    one: object,
    other: object,
    epsilon: float,
    delta: float = 0.0,
    samples: int = 100_000,
    error: float = 1e-6,
    rng: Randomness = None,
) -> Audit:
    """Hold an epsilon and a delta against samples of a function.

    Parameters
    ----------
    draw
        Called as ``draw(x, n, rng)``: n independent outputs for an input x, as numbers (n,) or
        (n, d).
    one, other
        Two neighbouring inputs.
    samples
        Draws for each input; they limit what can be shown.
    error
        Largest chance that a correct function is accused.

    Examples
    --------
    >>> def noisy(x, n, rng):
    ...     return x + rng.geometric(0.5, n) - rng.geometric(0.5, n)
    >>> audit_sampler(noisy, 0, 1, epsilon=0.3, rng=1).exceeded
    True
    """
    if not callable(draw):
        raise ParameterError("The 'draw' argument must be a function of an input, n and rng.")
    claim = Claim(
        getattr(draw, "__name__", "sampler"),
        positive("epsilon", epsilon, zero=True),
        share("delta", delta, zero=True),
    )
    return hold(claim, [(one, other)], draw, samples, error, rng)


def hold(
    claim: Claim,
    pairs: Sequence[tuple[object, object]],
    draw: Draw,
    samples: int,
    error: float,
    rng: Randomness,
) -> Audit:
    """Choose on one half of the samples what shows most, and bound it on the other half."""
    samples, error = whole("samples", samples, _FEWEST), share("error", error)
    source, part = generator(rng), error / BOUNDS
    half = samples // 2
    best = max(
        (
            choice
            for one, other in pairs
            for choice in _choices(
                (one, other),
                (_drawn(draw, one, half, source), _drawn(draw, other, half, source)),
                part,
                claim.delta,
            )
        ),
        key=lambda choice: choice.ratio,
    )
    trials = samples - half
    seen = [best.view(_drawn(draw, x, trials, source)) for x in best.pair]
    hits = count_hits(best.event, seen[0]), count_hits(best.event, seen[1])
    lower = proved_log_ratio(hits, trials, part, claim.delta)
    return Audit(
        claim.mechanism, best.pair, claim.epsilon, lower, claim.delta, hits, trials, samples, error
    )


def _choices(
    pair: tuple[object, object], drawn: tuple[Array, Array], error: float, delta: float
) -> Iterator[_Choice]:
    """Yield events for each view and direction, with what they show on samples of their own."""
    if drawn[0].shape[1] != drawn[1].shape[1]:
        raise InputError("A sampler must give as many numbers an output for either input.")
    part = len(drawn[0]) // 2
    for view in views(drawn[0][:part], drawn[1][:part]):
        seen = [view(outputs) for outputs in drawn]
        for one, other in ((0, 1), (1, 0)):
            event = choose_event(seen[one][:part], seen[other][:part], error, delta)
            more, less = (
                np.array([count_hits(event, seen[side][part:])], dtype=np.int64)
                for side in (one, other)
            )
            ratio = float(rough_log_ratios(more, less, len(drawn[0]) - part, error, delta)[0])
            yield _Choice(ratio, (pair[one], pair[other]), view, event)


def _drawn(draw: Draw, x: object, n: int, rng: Generator) -> Array:
    """Draw outputs as (n, d) numbers."""
    outputs = np.asarray(draw(x, n, rng))
    if outputs.dtype.kind not in "biuf" or outputs.ndim not in (1, 2) or len(outputs) != n:
        raise InputError(
            "A sampler must give numbers of shape (n,) or (n, d) when n are asked for."
        )
    return outputs.reshape(n, -1)


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
    chosen = mechanism_or_oracle(m)
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
