r"""Composition of privacy loss distributions, the tightest accountant (dp-accounting).

The loss distributions of mechanisms are bounded as follows.

*Discrete Laplace noise on an array.* A shift by n steps at slope s has, at the losses s (n - 2j),
delta = 1 - e^(-sj), and the chord in between. Let one number move by a steps and
another by b >= a. At the loss e = s (a + b - 2j) >= 0 the delta of both together is

.. math:: 1 - q^j \left(1 + \min(j, a) \frac{1-q}{1+q}\right) \le 1 - q^j, \quad q = e^{-s}

which is below that of one number that moves by a + b; and all knots are those. So an array of L1
sensitivity n is never worse than one number that moves by n, which is counted.

*Laplace noise on a grid.* The chord is above the delta of the continuous distribution, but below
that of a continuous one whose epsilon is larger by 2 ln cosh(s/2) <= s^2/4. The grid makes s at
most 2^-20, so the continuous distribution of epsilon + 2^-42 is an upper bound for any number of
numbers.

*Discrete Gaussian noise* has an exact loss distribution for one number. For an array it is **not**
that of one number that moves by the L2 sensitivity: at sigma 0.3 and epsilon 25, four numbers that
move by 1 each have 3.9 times the delta of one that moves by 2. Hence a caveat.

If all releases are Gaussian, there is a closed form: mu_1, mu_2, ... together are one Gaussian
with sqrt(mu_1^2 + mu_2^2 + ...), where mu is sensitivity over sigma.

References
----------
Koskela, Jalko, Honkela. Computing Tight Differential Privacy Guarantees Using FFT. AISTATS 2020.
Doroshenko, Ghazi, Kamath, Kumar, Manurangsi. Connect the Dots: Tighter Discrete Approximations of
Privacy Loss Distributions. PoPETs 2022(4).
Zhu, Dong, Wang. Optimal Accounting of Differential Privacy via Characteristic Function. AISTATS
2022, Theorem 10 (dominating pairs) and Theorem 11 (sampling).
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from veil.core.errors import MissingExtraError, ParameterError, VeilError
from veil.dp.accounting.bounds import Bound, Counts, advanced, sum_amounts
from veil.dp.accounting.cost import Cost
from veil.dp.calibration import gaussian_delta, zcdp_epsilon
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import mechanism as named
from veil.dp.mechanisms.gaussian import DiscreteGaussian, Gaussian
from veil.dp.mechanisms.laplace import Geometric, Laplace

IDEAL = (
    "The losses of gaussian are counted with idealised numerics, as those of the continuous normal"
    " distribution, which is not proved for the grid on which the noise is drawn."
)
ONE_NUMBER = (
    "The losses of discrete_gaussian are those of one number per release. For arrays use zcdp."
)
_GRID = 2.0**-42  # what a grid adds to the epsilon of laplace, at most
_STEPS = 2**12  # of a shift that is composed step by step
_WIDE = 2.0**14  # largest sigma of a discrete Gaussian whose distribution is summed

Form = Literal["laplace", "discrete laplace", "gaussian", "discrete gaussian", "pair", "zcdp"]


@dataclass(frozen=True, slots=True)
class Law:
    """The loss distribution of one release, on a sample if `rate` is below 1.

    `size` is epsilon for Laplace and pairs, sensitivity over sigma for Gaussians, and rho for
    zCDP. `steps` is the shift of a discrete distribution. Only pairs use `delta`.
    """

    form: Form
    size: float
    steps: int = 1
    rate: float = 1.0
    delta: float = 0.0
    caveat: str = ""


def law_of(cost: Cost) -> Law:
    """Return the loss distribution of a release, or the worst one that its guarantee allows."""
    of = _load_mechanism(cost.spec) if cost.spec else None
    if of is not None and (own := _own(of, cost.rate)) is not None:
        return own
    guarantee = cost.guarantee
    if guarantee.kind == "zcdp":
        return Law("zcdp", guarantee.rho)
    return Law("pair", guarantee.epsilon, delta=guarantee.delta)


def _load_mechanism(spec: str) -> Mechanism | None:
    """Return the mechanism of a spec, or None if its plugin is no longer installed."""
    try:
        return named(spec)
    except VeilError:
        return None


def _own(of: Mechanism, rate: float) -> Law | None:
    if isinstance(of, Laplace):
        return Law("laplace", of.epsilon + _GRID, rate=rate)
    if isinstance(of, Geometric):
        return _geometric(of, rate)
    if isinstance(of, Gaussian):
        return Law("gaussian", of.sensitivity / of.scale, rate=rate, caveat=IDEAL)
    if isinstance(of, DiscreteGaussian) and of.sigma2 <= _WIDE**2:
        sigma = math.sqrt(of.sigma2)
        return Law(
            "discrete gaussian", of.sensitivity / sigma, of.sensitivity, rate, caveat=ONE_NUMBER
        )
    return None


def _geometric(of: Geometric, rate: float) -> Law:
    if of.sensitivity <= _STEPS:
        return Law("discrete laplace", of.epsilon, of.sensitivity, rate)
    slope = of.epsilon / of.sensitivity
    return Law("laplace", of.epsilon + slope * slope / 4, rate=rate)


_ROUNDING = 1e-13  # error of the transforms in delta: ten times what was observed
_EACH = 1e-15  # additional error per release
_VISIBLE = 10  # a delta must be this many times the rounding error
_TAILS = 1e-15  # probability of losses counted as infinite, per composition
_STEP = 1e-4  # of losses, or finer if they are small
_CELLS = 2**20  # of the lattice of losses, at most


def convolve(laws: Mapping[Law, int], delta: float) -> float:
    """Return the epsilon of the composition at a delta, or infinity.

    The transforms have errors of up to 1e-16 in delta per release, in either direction. A multiple
    of that is subtracted from delta; a delta not far above it gives infinity.
    """
    rounding = _ROUNDING + _EACH * sum(laws.values())
    if delta < _VISIBLE * rounding:
        return math.inf
    pld, common = _library()
    step = _step(laws)
    whole = None
    with np.errstate(over="ignore", under="ignore"):
        for law, times in sorted(laws.items(), key=repr):
            losses = _losses(pld, common, law, step)
            losses = losses.self_compose(times, _TAILS) if times > 1 else losses
            whole = losses if whole is None else whole.compose(losses, _TAILS)
        assert whole is not None  # noqa: S101 - there is a law
        return float(whole.get_epsilon_for_delta(delta - rounding))


def _library() -> tuple[Any, Any]:
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise MissingExtraError(
            "The accountant pld needs dp-accounting: pip install 'veil[accounting]'."
        ) from None
    return privacy_loss_distribution, common


def _losses(pld: Any, common: Any, law: Law, step: float) -> Any:  # noqa: ANN401 - it has no types
    """Return the loss distribution of one release, rounded pessimistically."""
    if law.form == "pair":
        pair = common.DifferentialPrivacyParameters(law.size, law.delta)
        return pld.from_privacy_parameters(pair, value_discretization_interval=step)
    options = {
        "value_discretization_interval": step,
        "sampling_prob": law.rate,
        "use_connect_dots": True,
    }
    if law.form == "laplace":
        return pld.from_laplace_mechanism(1 / law.size, **options)
    if law.form == "discrete laplace":
        return pld.from_discrete_laplace_mechanism(law.size / law.steps, law.steps, **options)
    if law.form == "gaussian":
        return pld.from_gaussian_mechanism(1 / law.size, **options)
    return pld.from_discrete_gaussian_mechanism(law.steps / law.size, law.steps, **options)


def _step(laws: Mapping[Law, int]) -> float:
    """Return a step that is small relative to every loss but keeps the lattice small."""
    spreads = {law: _spread(law) for law in laws}
    squares = math.fsum(times * spreads[law] ** 2 for law, times in laws.items())
    most = math.fsum(times * _range(law) for law, times in laws.items())
    reach = min(most, squares / 2 + 10 * math.sqrt(squares))
    fine = min([_STEP, *(spread / 20 for spread in spreads.values() if spread)])
    return max(fine, reach / _CELLS, max(map(_range, laws)) / _CELLS)


def _spread(law: Law) -> float:
    """Return the approximate standard deviation of the losses of one release."""
    if "gaussian" in law.form:
        far = law.rate * math.sqrt(math.expm1(min(law.size**2, 50.0)))
        return min(law.size, far)
    return _range(law)


def _range(law: Law) -> float:
    """Return the approximate largest loss of one release."""
    if "gaussian" in law.form:
        return law.size**2 / 2 + 10 * law.size
    return math.log1p(law.rate * math.expm1(min(law.size, 700.0)))


_HEAVY = 50.0  # an epsilon so large that it is simply added


def pld(counts: Counts, delta: float) -> Bound:
    """Return the smallest epsilon of all losses together at a delta above 0.

    Releases without a known loss distribution enter as their epsilon and delta. The sum of zCDP
    enters as its epsilon at half of delta; if no other loss uses delta, it is converted at all of
    delta. The result is never worse than `advanced`, which is used if the error of the transforms
    would hide the delta: below 1e-12 + 1e-14 per release.
    """
    if not delta:
        raise ParameterError(
            "The accountant pld needs a delta above 0, such as delta=1e-6 or --delta 1e-6."
        )
    laws: Counter[Law] = Counter()
    for cost, times in counts.items():
        laws[law_of(cost)] += times
    bound = _bound(laws, delta)
    fallback = _without_laws(counts, delta)
    least = fallback if fallback and fallback.epsilon <= bound.epsilon else bound
    if math.isinf(least.epsilon):
        raise ParameterError(
            "No epsilon holds at this delta, because the releases have larger deltas. Increase"
            " 'delta'."
        )
    return least


def _without_laws(counts: Counts, delta: float) -> Bound | None:
    """Return the bound of `advanced`, or None if it does not hold at this delta."""
    try:
        bound = advanced(counts, delta)
    except ParameterError:  # no delta remains for zCDP
        return None
    return bound if bound.delta <= delta else None


def _bound(laws: Counter[Law], delta: float) -> Bound:
    """Compose the parts with a closed form directly, and the rest by convolution."""
    caveats = tuple(sorted({law.caveat for law in laws if law.caveat}))
    rest, heavy, mu, rho = _sorted(laws)
    if rest or (mu and rho):
        if rho:
            rest[Law("pair", zcdp_epsilon(rho, delta / 2), delta=delta / 2)] += 1
        if mu:
            rest[Law("gaussian", mu)] += 1
        epsilon, by = convolve(rest, delta), "the privacy loss distribution"
    elif mu:
        epsilon, by = gaussian_epsilon(mu, delta), "the privacy loss distribution, exactly"
    else:
        epsilon, by = zcdp_epsilon(rho, delta), "zCDP, converted once"
    return Bound(sum_amounts([(heavy, 1), (epsilon, 1)]) if heavy else epsilon, delta, by=by,
                 caveats=caveats)  # fmt: skip


def _sorted(laws: Counter[Law]) -> tuple[Counter[Law], float, float, float]:
    """Return distributions to convolve, the sum of huge epsilons, mu of Gaussians, and rho."""
    rest: Counter[Law] = Counter()
    heavy, mus, rhos = [], [], []
    for law, times in laws.items():
        if law.form == "gaussian" and law.rate == 1:
            mus.append(law.size * law.size * times)
        elif law.form == "zcdp":
            rhos.append((law.size, times))
        elif "gaussian" not in law.form and law.size > _HEAVY:
            heavy.append((law.size, times))
            rest[Law("pair", 0.0, delta=law.delta)] += times if law.delta else 0
        else:
            rest[law] += times if law.size or law.delta else 0
    return +rest, sum_amounts(heavy), math.sqrt(math.fsum(mus)), sum_amounts(rhos)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon, rounded up, of Gaussian noise with sigma = 1/mu at a delta.

    >>> round(gaussian_epsilon(2.5, 1e-6), 6)
    14.450777
    """
    if gaussian_delta(0.0, 1 / mu) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(high, 1 / mu) > delta:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if gaussian_delta(middle, 1 / mu) <= delta else (middle, high)
    return high
