"""What programs are answered; documents of a search are those of all doors."""

from datetime import datetime
from functools import cache
from typing import Any

from pydantic import Field, RootModel

from veil.core.component import example, summary
from veil.core.guarantee import KINDS
from veil.proxy.answers import Answer, CostAnswer, Figure, FoundAnswer, Text
from veil.text.mechanisms import catalogue as find
from veil.text.mechanisms.mechanism import TextMechanism
from veil.web.asks import settable, usable


class ErrorAnswer(Answer):
    """Why a request was not served."""

    error: Text = Field(description="one sentence, which quotes no text")
    kind: str = Field(description="budget, gate, risk, engine, input, busy or server")


class TextAnswer(Answer):
    """The variants of one text."""

    variants: list[Text]
    protected_words: int
    kept_words: list[Text] = Field(description="words that passed unchanged by policy")
    redacted: list[str] = Field(description="kinds of personal data that were replaced, in order")


class ProtectAnswer(Answer):
    """The variants of all texts, in their order, and what the release costs."""

    mechanism: str
    size: int
    texts: list[TextAnswer]
    cost: CostAnswer
    seeded: bool


class SearchAnswer(Answer):
    """What was found for each query, in their order."""

    engine: str
    network: bool = Field(description="whether variants leave the machine")
    answers: list[FoundAnswer]


class WordAnswer(Answer):
    """What a mechanism does to a word."""

    word: Text
    top: list[tuple[Text, float]]
    itself: float
    support: int
    eta: float
    entropy: float
    min_entropy: float
    samples: int = Field(description="0 where the numbers are exact")
    interval: tuple[float, float] | None


class LogRatioAnswer(Answer):
    """How well one output tells two words apart; null for what is not known or has no bound."""

    words: tuple[Text, Text]
    value: Figure
    output: Text
    distance: Figure
    bound: Figure


class ExplainAnswer(Answer):
    """What a mechanism does to words."""

    mechanism: str
    words: list[WordAnswer]
    log_ratio: LogRatioAnswer | None = Field(description="of two words, where the law is known")


class GuaranteeAnswer(Answer):
    """What is proved of a mechanism, and what is not."""

    kind: str
    means: str
    metric: str
    neighbours: str
    caveat: str


class MechanismAnswer(Answer):
    """A mechanism, its paper, and the JSON Schema of its parameters."""

    paper: str
    summary: str
    family: str
    needs: list[str]
    select: str | None
    example: str
    guarantee: GuaranteeAnswer
    schema_: dict[str, object] = Field(serialization_alias="schema")


class MechanismsAnswer(RootModel[dict[str, MechanismAnswer]]):
    """All mechanisms, by name."""


class FigureAnswer(Answer):
    """A measured figure with its 95 % interval."""

    kind: str
    measure: str
    attacker: str
    score: Figure
    low: Figure
    high: Figure
    n: int
    chance: Figure


class SettingAnswer(Answer):
    """A mechanism, and how many variants are sent."""

    mechanism: str
    size: int


class StopAnswer(Answer):
    """A stop of the slider, with what was measured there."""

    setting: SettingAnswer
    risk: FigureAnswer
    utility: FigureAnswer
    upper: Figure = Field(description="what the risk is at most, with 97.5 % confidence")
    warning: str
    log_size: int | None


class PlaneAnswer(Answer):
    """The measured plane that the slider moves along."""

    origin: str
    shipped: bool
    collection: str
    engine: str
    default: int = Field(description="place of the stop to start with, from 0")
    note: str
    stops: list[StopAnswer]


class ReleaseAnswer(Answer):
    """An entry of the ledger."""

    number: int
    made: datetime
    last: datetime
    asked: int
    mechanism: str
    variants: list[Text]
    words: int
    shared: int
    spent: Figure
    chosen: bool
    plain: bool
    bits: Figure = Field(description="what it added in leakage")


class LedgerAnswer(Answer):
    """Entries of the ledger, newest first."""

    releases: list[ReleaseAnswer]
    older: int | None = Field(description="value of 'before' for the entries that follow")


@cache
def catalogue() -> MechanismsAnswer:
    """Return the mechanisms that a request can name, by name."""
    classes = {name: find.mechanism_class(name) for name in find.names()}
    return MechanismsAnswer({name: _entry(cls) for name, cls in classes.items() if usable(cls)})


def _entry(cls: type[TextMechanism]) -> MechanismAnswer:
    made = example(cls)
    guarantee = made.guarantee
    shown = ", ".join(f"{key}={getattr(made, key)!r}" for key in settable(cls))
    return MechanismAnswer(
        paper=cls.paper,
        summary=summary(cls),
        family=cls.family,
        needs=sorted(cls.needs),
        select=getattr(cls, "select", None),
        example=f"{cls.name}({shown})",
        guarantee=GuaranteeAnswer(
            kind=guarantee.kind,
            means=KINDS[guarantee.kind],
            metric=guarantee.metric,
            neighbours=guarantee.neighbours,
            caveat=guarantee.caveat,
        ),
        schema_=_schema(cls),
    )


def _schema(cls: type[TextMechanism]) -> dict[str, Any]:
    """Return the schema of the parameters that may be set."""
    schema = cls.model_json_schema()
    allowed = settable(cls)
    properties = schema.get("properties", {})
    schema["properties"] = {name: properties[name] for name in properties if name in allowed}
    return schema
