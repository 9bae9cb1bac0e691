"""What programs are answered: each document is declared once, made and described by that.

A number that JSON cannot write (one without bound, or one that is not known) is null.
"""

import math
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from veil.core.guarantee import Guarantee
from veil.proxy.types import Found


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _sendable(text: object) -> object:
    """Replace halves of characters, which engines can send and UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


Figure = Annotated[float | None, BeforeValidator(_finite)]
Text = Annotated[str, BeforeValidator(_sendable)]


class Answer(BaseModel):
    """A document, or a part of one."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class ErrorAnswer(Answer):
    """Why a request was not served."""

    error: Text = Field(description="one sentence, which quotes no text")
    kind: str = Field(description="budget, gate, risk, engine, input, busy or server")


class CostAnswer(Answer):
    """What is proved of a release, all in all."""

    kind: str
    epsilon: Figure = Field(description="null where nothing is proved")
    metric: str
    unit: str
    caveat: str
    passed: int = Field(description="words that left as they are: nothing is bounded for them")

    @classmethod
    def of(cls, cost: Guarantee) -> "CostAnswer":
        """Make it of a guarantee."""
        epsilon = None if cost.kind == "none" else cost.epsilon
        return cls(
            kind=cost.kind,
            epsilon=epsilon,
            metric=cost.metric,
            unit=cost.unit,
            caveat=cost.caveat,
            passed=cost.passed,
        )


class TextAnswer(Answer):
    """The variants of one text."""

    variants: list[Text]
    protected_words: int
    kept_words: list[Text] = Field(description="words that passed unchanged by policy")


class ProtectAnswer(Answer):
    """The variants of all texts, in their order, and what the release costs."""

    mechanism: str
    size: int
    texts: list[TextAnswer]
    cost: CostAnswer
    seeded: bool


class BudgetAnswer(Answer):
    """The state of the budget: what was spent in the last 24 hours."""

    day: str = Field(description="the date on which the 24 hours end, in UTC")
    spent: Figure
    limit: Figure = Field(description="null where there is no limit")
    left: Figure
    unproved: int = Field(description="releases in the 24 hours that no sum covers")
    free: datetime | None = Field(description="when the oldest of the sums no longer counts")


class ItemAnswer(Answer):
    """One result, as the engine gave it."""

    rank: int
    id: Text
    title: Text
    text: Text
    score: Figure
    link: Text


class MarkAnswer(Answer):
    """A piece of a variant, and what it is."""

    text: Text
    kind: str = Field(description="layout, changed, same, unknown or kept")


class SeenAnswer(Answer):
    """A variant as the engine saw it."""

    text: Text
    marks: list[MarkAnswer]
    gap: str = Field(description="why it had no answer, or nothing")


class StandingAnswer(Answer):
    """Where the true query stands among the guesses of a local attacker."""

    attacker: str
    rank: int
    candidates: int
    ties: int = Field(description="guesses that stand as high, itself included")


class CheckedAnswer(Answer):
    """What the local attackers made of the variants before they were sent."""

    standings: list[StandingAnswer]
    waiting: list[str]
    unable: list[str]
    draws: int


class GateAnswer(Answer):
    """What the sensitivity gate said."""

    action: str
    reason: str
    rules: list[str]


class FoundAnswer(Answer):
    """The results of one query, and what the engine saw for them."""

    results: list[ItemAnswer]
    mechanism: str
    size: int
    plain: bool = Field(description="whether the query itself was sent, on request")
    variants: list[SeenAnswer]
    plain_top10_came_back: float | None
    protected_words: int
    kept_words: list[Text]
    cost: CostAnswer
    spent: Figure
    earlier: Figure
    reused: int
    shared: int
    sent: int
    release: int
    budget: BudgetAnswer
    gate: GateAnswer
    preflight: CheckedAnswer | None

    @classmethod
    def of(cls, found: Found, show: int | None) -> "FoundAnswer":
        """Make it of what a search found, with its first results."""
        back, checked = found.back, found.preflight
        return cls(
            results=[ItemAnswer.model_validate(item) for item in found.results[:show]],
            mechanism=found.setting.mechanism,
            size=found.setting.size,
            plain=found.plain,
            variants=[SeenAnswer.model_validate(seen) for seen in found.seen],
            plain_top10_came_back=back[0] / back[1] if back and back[1] else None,
            protected_words=found.words,
            kept_words=list(found.kept),
            cost=CostAnswer.of(found.cost),
            spent=found.spent,
            earlier=found.earlier,
            reused=found.reused,
            shared=found.shared,
            sent=found.sent,
            release=found.release,
            budget=BudgetAnswer.model_validate(found.budget),
            gate=GateAnswer.model_validate(found.gate),
            preflight=None if checked is None else CheckedAnswer.model_validate(checked),
        )


class SearchAnswer(Answer):
    """What was found for each query, in their order."""

    engine: str
    network: bool = Field(description="whether variants leave the machine")
    answers: list[FoundAnswer]
