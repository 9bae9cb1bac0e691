"""Guarantees: what is proved about a release, and how guarantees compose."""

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
        " any other output reveals its input"
    ),
    "group-dp": (
        "log P(y|w) - log P(y|w') <= epsilon for words w, w' of one group; no bound across groups"
    ),
    "dp": "P(S|D) <= e^epsilon P(S|D') + delta for all neighbouring data D, D' and all events S",
    "zcdp": (
        "the Renyi divergence of order a between the outputs for neighbouring data is at most"
        " rho * a, for every a > 1"
    ),
    "local-dp": "P(S|x) <= e^epsilon P(S|x') + delta for any two values x, x' of one person",
    "k-anonymity": (
        "every record has the same values as at least k - 1 others in everything that an attacker"
        " may know"
    ),
    "l-diversity": "every equivalence class has l well-represented confidential values",
    "t-closeness": (
        "in every equivalence class, the confidential values are distributed as in the whole"
        " table, up to the distance t"
    ),
    "leakage": "for any prior belief, one guess is right at most 2^bits times as often",
    "none": "nothing is proved",
}

# The numbers that are added up when releases of a kind follow each other. Nothing is known about
# the sum of releases of other kinds.
_SUMS: dict[Kind, tuple[str, ...]] = {
    "metric-dp": ("epsilon", "additive"),
    "umldp": ("epsilon", "additive"),
    "group-dp": ("epsilon",),
    "dp": ("epsilon", "delta"),
    "zcdp": ("rho",),
    "local-dp": ("epsilon", "delta"),
    "leakage": ("bits",),
}
_LEVELS: dict[Kind, tuple[str, str]] = {  # the number of every other kind, and which is weaker
    "k-anonymity": ("k", "lower"),
    "l-diversity": ("l", "lower"),
    "t-closeness": ("t", "higher"),
}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A bound on what one output reveals about two possible inputs.

    `kind` names the inequality (see `KINDS`) and `metric` the distance d in it. `unit` is what
    changes between the two inputs, `neighbours` how it changes (for example "add or remove one
    person"). `caveat` states in plain words what the bound does not cover. `passed` counts the
    words of a release that were left unchanged: no bound holds for those. Each kind uses its own
    numbers: `epsilon`, `delta`, `additive`, `rho`, `bits`, or the levels `k`, `l`, `t`.

    ``a + b`` holds for two releases of the same data, ``a | b`` for two releases of disjoint data.
    Guarantees that do not add up become `none`, with the reason in the caveat.

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
        """Return the guarantee of `times` independent releases (basic composition: a sum)."""
        if self.kind not in _SUMS:
            unchanged = self.kind == "none" or times <= 1
            return replace(self if unchanged else _no_guarantee(self, self), unit=unit)
        sums = {name: _times(getattr(self, name), times) for name in _SUMS[self.kind]}
        return replace(self, unit=unit, **_clip_delta(sums))  # type: ignore[arg-type]

    def __add__(self, other: "Guarantee") -> "Guarantee":
        """Return the guarantee of two releases of the same data, one after the other."""
        if self.kind not in _SUMS or not self._fits(other):
            return _no_guarantee(self, other)
        names = _SUMS[self.kind]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return self._with(other, _clip_delta(sums))

    def __or__(self, other: "Guarantee") -> "Guarantee":
        """Return the guarantee of two releases of disjoint data: the weaker of the two."""
        if self.kind == "none" or not self._fits(other):
            return _no_guarantee(self, other)
        if self.kind in _LEVELS:
            name, weaker = _LEVELS[self.kind]
            pick = min if weaker == "lower" else max
            return self._with(other, {name: pick(getattr(self, name), getattr(other, name))})
        names = _SUMS[self.kind]
        return self._with(
            other, {name: max(getattr(self, name), getattr(other, name)) for name in names}
        )

    def bound(self, distance: float) -> float:
        """Return the largest log-ratio that the guarantee allows for two inputs at `distance`.

        It holds only for inputs that agree in all words that `passed`. If delta is above 0, and
        for zcdp, no bound holds for every output.
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
        """Return whether two guarantees bound the same kind of inputs in the same terms."""
        mine, others = (
            (item.kind, item.metric, item.unit.partition(" (")[0], item.neighbours)
            for item in (self, other)
        )
        return mine == others

    def _with(self, other: "Guarantee", numbers: dict[str, float]) -> "Guarantee":
        caveat = other.caveat if other.caveat not in self.caveat else ""
        passed = self.passed + other.passed
        combined = replace(self, passed=passed, **numbers)  # type: ignore[arg-type]
        return combined.with_caveat(caveat) if caveat else combined

    def __str__(self) -> str:
        words = count_of(self.passed, "word")
        exception = f"; no guarantee for {words} that passed unchanged" if self.passed else ""
        if self.kind == "none":
            return f"no formal guarantee, per {self.unit}{exception}"
        return f"{self.kind}: {self._numbers()}, per {self.unit}{exception}"

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
    return 0.0 if times == 0 else value * times  # 0 even if the value is infinite


def _clip_delta(sums: dict[str, float]) -> dict[str, float]:
    """Limit a sum of deltas to 1, where it already bounds nothing."""
    return {name: min(1.0, value) if name == "delta" else value for name, value in sums.items()}


def _no_guarantee(first: Guarantee, second: Guarantee) -> Guarantee:
    """Return the guarantee `none` for two releases together, with the reason as a caveat."""
    caveats = " ".join(dict.fromkeys(filter(None, (first.caveat, second.caveat))))
    passed = first.passed + second.passed
    none = Guarantee("none", unit=first.unit, caveat=caveats, passed=passed)
    if "none" in (first.kind, second.kind):
        return none.with_caveat("If nothing is proved of one release, nothing is proved of both.")
    if first.kind != second.kind:
        return none.with_caveat(f"{first.kind} and {second.kind} do not add up.")
    if first.kind in _LEVELS and first._fits(second):
        return none.with_caveat(
            f"{first.kind} does not compose: combining two releases can undo it."
        )
    return none.with_caveat(f"Two releases of kind {first.kind} that differ in metric, unit or"
                            " neighbours do not add up.")  # fmt: skip
