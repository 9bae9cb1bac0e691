"""What is proved about a release, and how it adds up."""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

Kind = Literal["metric-dp", "umldp", "group-dp", "none"]

KINDS: dict[Kind, str] = {
    "metric-dp": (
        "log P(y|w) - log P(y|w') <= epsilon * d(w, w') for all words w, w' and y of the vectors"
    ),
    "umldp": (
        "log P(y|w) - log P(y|w') <= epsilon * d(w, w') + additive for every sensitive output y;"
        " any other output names its input"
    ),
    "group-dp": "log P(y|w) - log P(y|w') <= epsilon for words w, w' of one group; none across",
    "none": "nothing is proved",
}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A bound on what one output says about two possible inputs.

    `kind` names the inequality (see `KINDS`), `metric` the distance d in it, `unit` what is being
    changed between the two inputs, `caveat` in plain words what the bound does not cover. `passed`
    counts words of a release that left as they are: nothing is bounded for those, whatever the
    bound for the others.

    >>> Guarantee("metric-dp", 10.0, "euclidean").compose(20, "text").epsilon
    200.0
    """

    kind: Kind
    epsilon: float = math.inf
    metric: str = ""
    unit: str = "word"
    caveat: str = ""
    additive: float = 0.0
    passed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"No guarantee of kind {self.kind!r}; known: {', '.join(KINDS)}.")

    def compose(self, times: int, unit: str) -> "Guarantee":
        """Add up `times` independent releases (basic composition: budgets are summed)."""
        total = 0.0 if times == 0 else self.epsilon * times
        return replace(self, epsilon=total, additive=self.additive * times, unit=unit)

    def bound(self, distance: float) -> float:
        """Largest log-ratio the guarantee allows for two inputs at that distance.

        The inputs have the same words where words `passed`: else there is no bound.
        """
        if self.kind == "none":
            return math.inf
        if self.kind == "group-dp":
            return self.epsilon
        return self.epsilon * distance + self.additive

    def with_caveat(self, sentence: str) -> "Guarantee":
        """Return the same guarantee with one more caveat."""
        return replace(self, caveat=f"{self.caveat} {sentence}".strip())

    def __str__(self) -> str:
        clear = f"; none for {self.passed} words that passed as they are" if self.passed else ""
        if self.kind == "none":
            return f"no formal guarantee, per {self.unit}{clear}"
        metric = f" * {self.metric}" if self.kind != "group-dp" else " within one group"
        additive = f" + {self.additive:g}" if self.additive else ""
        return f"{self.kind}: {self.epsilon:g}{metric}{additive}, per {self.unit}{clear}"
