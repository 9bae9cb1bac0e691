r"""Test the claimed epsilon of a mechanism or any sampler against samples of it.

For two neighbouring inputs x, x' and any set E of outputs, the claim is :math:`\Pr[E|x] \le
e^\varepsilon \Pr[E|x'] + \delta`. The audit draws from both, selects the inputs, E and a view of
the outputs on one half of the samples, and bounds both probabilities on the other half (Clopper
and Pearson). The result is a lower bound on the true epsilon, except for a stated chance of error.
A bound above the claim refutes it. A bound below proves nothing, because a fault may not show in
the samples.

A view maps each output to a number, and events are sets of numbers. Outputs with few values are
used directly. With many values, such as noise on a fine grid, no set could be selected by
counting, so outputs are put into cells, finer towards both ends. Outputs of several numbers are
viewed as a whole, by some of their coordinates, by their sum, and along the difference of their
means.

References
----------
Ding, Wang, Wang, Zhang, Kifer. Detecting Violations of Differential Privacy. CCS 2018.
doi:10.1145/3243734.3243818
Clopper, Pearson. The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial.
Biometrika 26(4), 1934. doi:10.1093/biomet/26.4.404

Notes
-----
The selecting half is split again: events are selected by counting on its first part, and of all
events, views, directions and pairs, the one with the largest ratio on its second part is used. So
only one event is tested on the other half, and the chance of error is split between its two
bounds.
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
BOUNDS = 2  # on probabilities, which share the chance of error


@dataclass(frozen=True)
class Audit:
    """The measured and the claimed epsilon.

    Attributes
    ----------
    mechanism
        Name or spec of the audited mechanism.
    pair
        The two inputs; the event is likelier under the first.
    claimed, delta
        The epsilon to test, at this delta.
    lower
        The measured epsilon at this delta: a lower bound on the true one.
    hits, trials
        Number of times the event occurred under each input, out of `trials` samples each.
    samples
        Draws for each input; one half selects the event.
    error
        Maximum chance of accusing a correct mechanism.
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
        """Largest epsilon that so many samples can show: a larger claim cannot be refuted."""
        share = self.error / BOUNDS
        most = lower_share(self.trials, self.trials, share) - self.delta
        return math.log(most / upper_share(0, self.trials, share)) if most > 0 else 0.0

    @property
    def verdict(self) -> Verdict:
        """The verdict; a claim that is not refuted is not thereby proved."""
        if math.isinf(self.claimed):
            return "nothing is claimed"
        if self.exceeded:
            return "REFUTED"
        return "not refuted" if self.claimed < self.reach else "out of reach"

    def __str__(self) -> str:
        at = f" at delta {self.delta:g}" if self.delta else ""
        claim = "nothing is claimed" if math.isinf(self.claimed) else f"claimed {self.claimed:.3f}"
        text = f"{self.mechanism}: measured >= {self.lower:.3f}, {claim}{at}"
        return text if math.isinf(self.claimed) else f"{text}: {self.verdict}"


Array = NDArray[Any]
View = Callable[[Array], Ids]
_COLUMNS = 8
_CELLS = 48
_TAIL = 13  # halvings of the share in the outermost cells
_ODD = np.uint64(0x9E3779B97F4A7C15)


def views(first: Array, second: Array) -> Iterator[View]:
    """Yield views of outputs (n, d), built on samples that are not used for the bounds."""
    yield rows
    columns = _telling(first, second)
    for column in columns:
        if first.shape[1] > 1:
            yield _values(column)
        yield _cells(_Column(column), first, second)
    if first.shape[1] > 1:
        with np.errstate(all="ignore"):
            spread = np.concatenate([first, second]).astype(np.float64).var(axis=0)
            difference = first.mean(axis=0) - second.mean(axis=0)
            slope = np.nan_to_num(difference / np.maximum(spread, 1e-300), posinf=0.0, neginf=0.0)
        for weights in (slope, np.ones(first.shape[1])):
            yield _cells(_Sum(weights), first, second)


def rows(outputs: Array) -> Ids:
    """Return a hash of each output; unequal outputs rarely share one."""
    hashes = np.zeros(len(outputs), dtype=np.uint64)
    for column in range(outputs.shape[1]):
        hashes = (hashes ^ bits(outputs[:, column])) * _ODD
        hashes ^= hashes >> np.uint64(29)
    return (hashes >> np.uint64(1)).astype(np.int64)


def bits(numbers: Array) -> NDArray[np.uint64]:
    """Return the bits of numbers; 0 and -0 have the same."""
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
            sums: Floats = outputs.astype(np.float64) @ self._weights
        return sums


def _values(column: int) -> View:
    return lambda outputs: rows(outputs[:, column : column + 1])


def _cells(figure: Callable[[Array], Floats], first: Array, second: Array) -> View:
    """Return a view that puts a figure into cells with about equal shares of the samples."""
    pool = np.sort(np.concatenate([figure(first), figure(second)]))
    tail = 0.5 ** np.arange(_TAIL, 5, -1)
    levels = np.concatenate([tail, np.arange(1, _CELLS) / _CELLS, 1 - tail[::-1]])
    places = np.minimum((levels * len(pool)).astype(np.int64), len(pool) - 1)
    edges = np.unique(pool[places])
    return lambda outputs: np.searchsorted(edges, figure(outputs), side="right").astype(np.int64)


def _telling(first: Array, second: Array) -> list[int]:
    """Return the first coordinate, and those whose mean or spread differs most.

    The first coordinate is the mechanism's code of the whole output.
    """
    if first.shape[1] <= _COLUMNS:
        return list(range(first.shape[1]))
    with np.errstate(all="ignore"):
        means = [part.mean(axis=0, dtype=np.float64) for part in (first, second)]
        spreads = [part.std(axis=0, dtype=np.float64) + 1e-9 for part in (first, second)]
        distances = np.abs(means[0] - means[1]) / np.maximum(*spreads)
        distances = np.nan_to_num(distances + np.abs(np.log(spreads[0] / spreads[1])))
    distances[0] = np.inf
    columns: list[int] = np.argsort(-distances, kind="stable")[:_COLUMNS].tolist()
    return columns


Draw = Callable[[Any, int, Generator], Array]
_FEWEST = 1_000


@dataclass(frozen=True)
class Claim:
    """The claimed epsilon and delta of a mechanism."""

    mechanism: str
    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True)
class _Choice:
    """An event that tells two inputs apart, and the view of the outputs."""

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
    """Test an epsilon and a delta against samples of a function.

    Parameters
    ----------
    draw
        Function ``draw(x, n, rng)`` that returns n independent outputs for an input x, as numbers
        (n,) or (n, d).
    one, other
        Two neighbouring inputs.
    samples
        Draws for each input; more draws can show a larger epsilon.
    error
        Maximum chance of accusing a correct function.

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
    """Select the best event on one half of the samples, and bound it on the other half."""
    samples, error = whole("samples", samples, _FEWEST), share("error", error)
    source, part = generator(rng), error / BOUNDS
    half = samples // 2
    best = max(
        (
            choice
            for first, second in pairs
            for choice in _choices(
                (first, second),
                (_draw_rows(draw, first, half, source), _draw_rows(draw, second, half, source)),
                part,
                claim.delta,
            )
        ),
        key=lambda choice: choice.ratio,
    )
    trials = samples - half
    codes = [best.view(_draw_rows(draw, x, trials, source)) for x in best.pair]
    hits = count_hits(best.event, codes[0]), count_hits(best.event, codes[1])
    lower = proved_log_ratio(hits, trials, part, claim.delta)
    return Audit(
        claim.mechanism, best.pair, claim.epsilon, lower, claim.delta, hits, trials, samples, error
    )


def _choices(
    pair: tuple[object, object], samples: tuple[Array, Array], error: float, delta: float
) -> Iterator[_Choice]:
    """Yield an event for each view and direction, with its ratio on separate samples."""
    if samples[0].shape[1] != samples[1].shape[1]:
        raise InputError("A sampler must return outputs of the same size for both inputs.")
    part = len(samples[0]) // 2
    for view in views(samples[0][:part], samples[1][:part]):
        codes = [view(outputs) for outputs in samples]
        for high, low in ((0, 1), (1, 0)):
            event = choose_event(codes[high][:part], codes[low][:part], error, delta)
            more, less = (
                np.array([count_hits(event, codes[side][part:])], dtype=np.int64)
                for side in (high, low)
            )
            ratio = float(rough_log_ratios(more, less, len(samples[0]) - part, error, delta)[0])
            yield _Choice(ratio, (pair[high], pair[low]), view, event)


def _draw_rows(draw: Draw, x: object, n: int, rng: Generator) -> Array:
    """Draw outputs as (n, d) numbers."""
    outputs = np.asarray(draw(x, n, rng))
    if outputs.dtype.kind not in "biuf" or outputs.ndim not in (1, 2) or len(outputs) != n:
        raise InputError("A sampler must return numbers of shape (n,) or (n, d) for n outputs.")
    return outputs.reshape(n, -1)


Audited = Mechanism | Oracle
DELTA = 1e-3  # for converting zCDP: a larger delta shows more in few samples
Pair = tuple[object, object]


def audit(
    m: str | Audited,
    pair: Pair | None = None,
    samples: int = 100_000,
    error: float = 1e-6,
    rng: Randomness = None,
) -> Audit:
    """Test the claimed epsilon of a central or local mechanism against samples of it.

    If the guarantee is none but an epsilon was published, the published epsilon is tested. A zCDP
    claim is converted to an epsilon at a delta of 0.001.

    Parameters
    ----------
    m
        A central or local mechanism, or its spec.
    pair
        Two neighbouring inputs. By default the declared pairs are tried, and the one that shows
        most is used.
    samples
        Draws for each input. They limit what can be shown: even an unbounded loss measures only
        8.1 with the default, and ln 10 more with ten times as many.
    error
        Maximum chance that this audit accuses a correct mechanism.

    Examples
    --------
    >>> result = audit("above_threshold(epsilon=1, threshold=0, version=stoddard)", rng=1)
    >>> result.claimed, result.exceeded
    (1.0, True)
    """
    component = mechanism_or_oracle(m)
    pairs = list(component.pairs()) if pair is None else [_as_pair(pair)]
    if isinstance(component, Oracle):
        values = [
            (_PairValue(first, (first, second)), _PairValue(second, (first, second)))
            for first, second in pairs
        ]
        draw_reports = partial(_reports, component)
        result = hold(claim_of(component), values, draw_reports, samples, error, rng)
        return replace(
            result, pair=tuple(end.value for end in result.pair if isinstance(end, _PairValue))
        )
    inputs = [(component.check(first), component.check(second)) for first, second in pairs]
    if pair is not None and np.array_equal(*inputs[0]):
        raise InputError("The two inputs of an audit must differ. Got the same input twice.")
    return hold(claim_of(component), inputs, partial(_outputs, component), samples, error, rng)


def claim_of(m: Audited) -> Claim:
    """Return the claim to test: the published epsilon at the mechanism's delta."""
    guarantee = m.guarantee
    if guarantee.kind == "zcdp":
        return Claim(str(m), zcdp_epsilon(guarantee.rho, DELTA), DELTA)
    return Claim(str(m), m.published, guarantee.delta)


@dataclass(frozen=True)
class _PairValue:
    """A value, and the pair of values that its reports are used to tell apart."""

    value: Any
    pair: tuple[Any, Any]


def _outputs(m: Mechanism, x: Array, n: int, rng: Generator) -> Array:
    """Draw releases as rows: the mechanism's codes, and all numbers."""
    outputs = m.draw(x, n, rng)
    codes, numbers = m.codes(outputs)[:, None], outputs.reshape(n, -1)
    return codes if np.array_equal(codes, numbers) else np.hstack([codes, numbers])


def _reports(m: Oracle, value: _PairValue, n: int, rng: Generator) -> Array:
    """Draw reports of one value, as the mechanism's codes."""
    return m.codes(report([value.value] * n, m, rng=rng), value.pair)


def _as_pair(pair: Pair) -> Pair:
    if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
        raise InputError("The 'pair' argument must be two inputs, or None.")
    return pair[0], pair[1]
