"""What is proved about a release, and how it adds up."""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from veil.core.formatting import count_of, number_of

Kind = Literal[
    "metric-dp",
    "umldp",
    "group-dp",
    "dp",
    "zcdp",
    "local-dp",
    "k-anonymity",
    "l-diversity",
    "t-closeness",
    "leakage",
    "none",
]

KINDS: dict[Kind, str] = {
    "metric-dp": (
        "log P(y|w) - log P(y|w') <= epsilon * d(w, w') for all inputs w, w' and outputs y"
    ),
    "umldp": (
        "log P(y|w) - log P(y|w') <= epsilon * d(w, w') + additive for every sensitive output y;"
        " any other output names its input"
    ),
    "group-dp": "log P(y|w) - log P(y|w') <= epsilon for words w, w' of one group; none across",
    "dp": "P(S|D) <= e^epsilon P(S|D') + delta for all neighbouring data D, D' and all events S",
    "zcdp": (
        "the Renyi divergence of order a between the outputs for neighbouring data is at most"
        " rho * a, for every a > 1"
    ),
    "local-dp": "P(S|x) <= e^epsilon P(S|x') + delta for any two values x, x' of one person",
    "k-anonymity": "every record looks like at least k - 1 others in what an attacker may know",
    "l-diversity": "every group of records that look alike has l well-represented secret values",
    "t-closeness": (
        "in every group of records that look alike, secret values are spread as in the whole, up"
        " to the distance t"
    ),
    "leakage": "whatever is believed before, one guess is right at most 2^bits times as often",
    "none": "nothing is proved",
}

# The numbers of a kind that are added up when releases follow each other; of the other kinds
# nothing is known then.
_SUMS: dict[Kind, tuple[str, ...]] = {
    "metric-dp": ("epsilon", "additive"),
    "umldp": ("epsilon", "additive"),
    "group-dp": ("epsilon",),
    "dp": ("epsilon", "delta"),
    "zcdp": ("rho",),
    "local-dp": ("epsilon", "delta"),
    "leakage": ("bits",),
}
_LEVELS: dict[Kind, tuple[str, str]] = {  # of the other kinds, and which of two is the weaker
    "k-anonymity": ("k", "lower"),
    "l-diversity": ("l", "lower"),
    "t-closeness": ("t", "higher"),
}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A bound on what one output says about two possible inputs.

    `kind` names the inequality (see `KINDS`), `metric` the distance d in it, `unit` what is being
    changed between the two inputs, `neighbours` how (for example "add or remove one person"),
    `caveat` in plain words what the bound does not cover. `passed` counts words of a release that
    left as they are: nothing is bounded for those, whatever the bound for the others. A kind has
    its own numbers: `epsilon`, `delta`, `additive`, `rho`, `bits`, or the levels `k`, `l`, `t`.

    ``a + b`` is what holds when both are released of the same data, ``a | b`` when they are of
    disjoint data. What cannot be added up becomes `none`, and the caveat says why.

    >>> Guarantee("metric-dp", 10.0, "euclidean").compose(20, "text").epsilon
    200.0
    >>> str(Guarantee("dp", 1.0, unit="person") + Guarantee("dp", 0.5, delta=1e-6, unit="person"))
    'dp: epsilon 1.5, delta 1e-06, per person'
    """

    kind: Kind
    epsilon: float = math.inf
    metric: str = ""
    unit: str = "word"
    caveat: str = ""
    additive: float = 0.0
    passed: int = 0
    delta: float = 0.0
    rho: float = math.inf
    bits: float = math.inf
    k: int = 1
    l: float = 1.0  # noqa: E741 - the letter of the literature
    t: float = math.inf
    neighbours: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"No guarantee of kind {self.kind!r}; known: {', '.join(KINDS)}.")
        if not (0 <= self.delta <= 1 and min(self.epsilon, self.rho, self.bits, self.t) >= 0):
            raise ValueError("The numbers of a guarantee must be >= 0, and delta at most 1.")

    def compose(self, times: int, unit: str) -> "Guarantee":
        """Add up `times` independent releases (basic composition: budgets are summed)."""
        if self.kind not in _SUMS:
            alone = self.kind == "none" or times <= 1
            return replace(self if alone else _lost(self, self), unit=unit)
        sums = {name: _times(getattr(self, name), times) for name in _SUMS[self.kind]}
        return replace(self, unit=unit, **_whole(sums))  # type: ignore[arg-type]

    def __add__(self, other: "Guarantee") -> "Guarantee":
        """Return what holds for two releases of the same data, one after the other."""
        if self.kind not in _SUMS or not self._fits(other):
            return _lost(self, other)
        names = _SUMS[self.kind]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return self._with(other, _whole(sums))

    def __or__(self, other: "Guarantee") -> "Guarantee":
        """Return what holds for two releases of disjoint data: the weaker of the two."""
        if self.kind == "none" or not self._fits(other):
            return _lost(self, other)
        if self.kind in _LEVELS:
            name, weaker = _LEVELS[self.kind]
            pick = min if weaker == "lower" else max
            return self._with(other, {name: pick(getattr(self, name), getattr(other, name))})
        names = _SUMS[self.kind]
        return self._with(
            other, {name: max(getattr(self, name), getattr(other, name)) for name in names}
        )

    def bound(self, distance: float) -> float:
        """Largest log-ratio the guarantee allows for two inputs at that distance.

        The inputs have the same words where words `passed`: else there is no bound. Nor is there
        one for every output where delta is above 0, or under zcdp.
        """
        if self.kind in ("metric-dp", "umldp"):
            return self.epsilon * distance + self.additive
        if self.kind in ("group-dp", "dp", "local-dp") and not self.delta:
            return self.epsilon
        return math.inf

    def with_caveat(self, sentence: str) -> "Guarantee":
        """Return the same guarantee with one more caveat."""
        return replace(self, caveat=f"{self.caveat} {sentence}".strip())

    def _fits(self, other: "Guarantee") -> bool:
        """Tell whether two guarantees speak of the same inputs in the same terms."""
        mine, others = (
            (one.kind, one.metric, one.unit.partition(" (")[0], one.neighbours)
            for one in (self, other)
        )
        return mine == others

    def _with(self, other: "Guarantee", numbers: dict[str, float]) -> "Guarantee":
        new = other.caveat if other.caveat not in self.caveat else ""
        made = replace(self, passed=self.passed + other.passed, **numbers)  # type: ignore[arg-type]
        return made.with_caveat(new) if new else made

    def __str__(self) -> str:
        are = "it is" if self.passed == 1 else "they are"
        words = count_of(self.passed, "word")
        clear = f"; none for {words} that passed as {are}" if self.passed else ""
        if self.kind == "none":
            return f"no formal guarantee, per {self.unit}{clear}"
        return f"{self.kind}: {self._numbers()}, per {self.unit}{clear}"

    def _numbers(self) -> str:
        if self.kind in ("metric-dp", "umldp", "group-dp"):
            metric = f" * {self.metric}" if self.kind != "group-dp" else " within one group"
            additive = f" + {number_of(self.additive)}" if self.additive else ""
            return f"{number_of(self.epsilon)}{metric}{additive}"
        if self.kind in ("dp", "local-dp"):
            delta = f", delta {self.delta:g}" if self.delta else ""
            return f"epsilon {number_of(self.epsilon)}{delta}"
        if self.kind == "zcdp":
            return f"rho {self.rho:g}"
        if self.kind == "leakage":
            return f"{self.bits:.4g} bits" if math.isfinite(self.bits) else "bits not known yet"
        name, _ = _LEVELS[self.kind]
        return f"{name} = {getattr(self, name):g}"


def _times(value: float, times: int) -> float:
    return 0.0 if times == 0 else value * times  # also of what is infinite


def _whole(sums: dict[str, float]) -> dict[str, float]:
    """Keep a sum of deltas a probability: 1 says nothing, and more is no more."""
    return {name: min(1.0, value) if name == "delta" else value for name, value in sums.items()}


def _lost(one: Guarantee, other: Guarantee) -> Guarantee:
    """Return that nothing is known of two releases together, and why."""
    said = " ".join(dict.fromkeys(filter(None, (one.caveat, other.caveat))))
    made = Guarantee("none", unit=one.unit, caveat=said, passed=one.passed + other.passed)
    if "none" in (one.kind, other.kind):
        return made.with_caveat("Together with a release of which nothing is proved, nothing is.")
    if one.kind != other.kind:
        return made.with_caveat(f"{one.kind} and {other.kind} do not add up.")
    if one.kind in _LEVELS and one._fits(other):
        return made.with_caveat(
            f"{one.kind} does not compose: what two releases have in common can be less."
        )
    return made.with_caveat(f"Two releases of kind {one.kind} that differ in metric, unit or"
                            " neighbours do not add up.")  # fmt: skip
