"""Operations on texts and searches: their responses, and the work.

Everything that is sent goes through the private search. A text that is protected here and not sent
is not counted in the ledger, as with ``veil protect``.
"""

from datetime import datetime
from functools import cache
from typing import Any

from pydantic import Field, RootModel

from veil import api
from veil.core.component import example, summary
from veil.core.errors import LawError
from veil.core.guarantee import KINDS
from veil.corpus.tokens import check_text
from veil.proxy.answers import Answer, BudgetAnswer, CostAnswer, Figure, FoundAnswer, Text
from veil.search.pipeline import check_query
from veil.text.explain import LogRatio
from veil.text.mechanisms import catalogue as known
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.protect import variants_of
from veil.text.redact.redactor import By, Redactor
from veil.text.vectors.embeddings import Embeddings
from veil.web.asks import (
    EmptyAsk,
    ExplainAsk,
    LedgerAsk,
    ProtectAsk,
    SearchAsk,
    settable,
    usable,
)
from veil.web.messages import StatusError
from veil.web.operation import Operation
from veil.web.service import Service


class TextAnswer(Answer):
    """The variants of a text."""

    variants: list[Text]
    protected_words: int
    kept_words: list[Text] = Field(description="words kept unchanged by policy")
    redacted: list[str] = Field(description="kinds of personal data that were replaced, in order")


class ProtectAnswer(Answer):
    """The variants of all texts, in order, and the cost of the release."""

    mechanism: str
    size: int
    texts: list[TextAnswer]
    cost: CostAnswer
    seeded: bool


class SearchAnswer(Answer):
    """The results of each query, in order."""

    engine: str
    network: bool = Field(description="whether variants leave the machine")
    answers: list[FoundAnswer]


class WordAnswer(Answer):
    """The output distribution of a word."""

    word: Text
    top: list[tuple[Text, float]]
    itself: float
    support: int
    eta: float
    entropy: float
    min_entropy: float
    samples: int = Field(description="0 if the numbers are exact")
    interval: tuple[float, float] | None


class LogRatioAnswer(Answer):
    """How well an output distinguishes two words; null for unknown or infinite values."""

    words: tuple[Text, Text]
    value: Figure
    output: Text
    distance: Figure
    bound: Figure


class ExplainAnswer(Answer):
    """The output distributions of words."""

    mechanism: str
    words: list[WordAnswer]
    log_ratio: LogRatioAnswer | None = Field(
        description=("for two words, if the distribution is known")
    )


class GuaranteeAnswer(Answer):
    """What is proved about a mechanism, and what is not."""

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
    """A mechanism and the number of variants."""

    mechanism: str
    size: int


class StopAnswer(Answer):
    """A setting of the slider, with its measured risk and utility."""

    setting: SettingAnswer
    risk: FigureAnswer
    utility: FigureAnswer
    upper: Figure = Field(description="upper bound of the risk, with 97.5 % confidence")
    warning: str
    log_size: int | None


class PlaneAnswer(Answer):
    """The measured plane with the settings of the slider."""

    origin: str
    shipped: bool
    collection: str
    engine: str
    default: int = Field(description="index of the default setting, from 0")
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
    bits: Figure = Field(description="bits of leakage added")


class LedgerAnswer(Answer):
    """Entries of the ledger, newest first."""

    releases: list[ReleaseAnswer]
    older: int | None = Field(description="value of 'before' for the next page")


_VARIANTS = 10_000  # per request
_CHARACTERS = 10_000_000  # of all variants of a request


def _protect(service: Service, ask: ProtectAsk) -> ProtectAnswer:
    for number, text in enumerate(ask.texts, start=1):
        check_text(text, f"Text {number:,}")
    mechanism = api.mechanism(ask.mechanism)
    size = variants_of(mechanism, ask.size)
    written = max(map(len, ask.texts)) * len(ask.texts) * size
    if len(ask.texts) * size > _VARIANTS or written > _CHARACTERS:
        raise StatusError(
            422,
            f"A request can make at most {_VARIANTS:,} variants with {_CHARACTERS:,}"
            " characters. Send fewer or shorter texts, or a smaller size.",
        )
    release = api.protect(
        ask.texts,
        mechanism,
        _space(service, mechanism),
        size,
        unknown=ask.unknown,
        policies=ask.policies,
        select=ask.select,
        redact=None if ask.redact is None else _redactor(ask.redact),
        in_clear=ask.in_clear,
    )
    redacted = release.redacted or ((),) * len(release)
    return ProtectAnswer(
        mechanism=release.mechanism,
        size=size,
        texts=[
            TextAnswer(
                variants=list(row),
                protected_words=words,
                kept_words=list(kept),
                redacted=list(kinds),
            )
            for row, words, kept, kinds in zip(
                release, release.protected, release.kept, redacted, strict=True
            )
        ],
        cost=CostAnswer.of(release.cost),
        seeded=release.seeded,
    )


@cache
def _redactor(by: By) -> Redactor:
    """Return the redactor, cached because Presidio takes seconds to load."""
    return Redactor(by)


def _space(service: Service, mechanism: TextMechanism) -> Embeddings | None:
    return service.vectors() if "vectors" in mechanism.needs else None


def _search(service: Service, ask: SearchAsk) -> SearchAnswer:
    desk = service.desk
    for query in ask.all_queries:
        check_query(query)
    place = service.plane.default if ask.stop is None else ask.stop
    setting = ask.setting() or service.setting(place)
    if ask.here(own=service.own):
        outcomes = [desk.search_here(query) for query in ask.all_queries]
    elif ask.query is not None:
        outcomes = [desk.search(ask.query, setting, plain=ask.plain is True)]
    else:
        outcomes = desk.search_all(ask.all_queries, setting)
    answers = [
        FoundAnswer.of(
            outcome,
            network=desk.network,
            standing=desk.standing,
            show=ask.show,
            variants=outcome.seen,
        )
        for outcome in outcomes
    ]
    return SearchAnswer(engine=desk.engine, network=desk.network, answers=answers)


def _explain(service: Service, ask: ExplainAsk) -> ExplainAnswer:
    mechanism = api.mechanism(ask.mechanism)
    space = service.vectors()
    space.ids(ask.words)  # raises an error for unknown words
    words = [
        api.explain(mechanism, space, word, top=ask.top, eta=ask.eta, samples=ask.samples)
        for word in ask.words
    ]
    ratio: LogRatio | None = None
    if len(ask.words) == 2:
        try:
            ratio = api.log_ratio(mechanism, space, *ask.words)
        except LawError:
            ratio = None
    return ExplainAnswer(
        mechanism=str(mechanism),
        words=[WordAnswer.model_validate(word) for word in words],
        log_ratio=None if ratio is None else LogRatioAnswer.model_validate(ratio),
    )


def _mechanisms(service: Service, ask: EmptyAsk) -> MechanismsAnswer:
    del service, ask
    return catalogue()


def _plane(service: Service, ask: EmptyAsk) -> PlaneAnswer:
    del ask
    return PlaneAnswer.model_validate(service.plane)


def _ledger(service: Service, ask: LedgerAsk) -> LedgerAnswer:
    releases = service.desk.releases(ask.count + 1, ask.before)
    page = [ReleaseAnswer.model_validate(release) for release in releases[: ask.count]]
    older = page[-1].number if len(releases) > ask.count else None
    return LedgerAnswer(releases=page, older=older)


def _budget(service: Service, ask: EmptyAsk) -> BudgetAnswer:
    del ask
    return BudgetAnswer.model_validate(service.desk.budget())


@cache
def catalogue() -> MechanismsAnswer:
    """Return the mechanisms that requests can use, by name."""
    classes = {name: known.mechanism_class(name) for name in known.names()}
    return MechanismsAnswer({name: _entry(cls) for name, cls in classes.items() if usable(cls)})


def _entry(cls: type[TextMechanism]) -> MechanismAnswer:
    component = example(cls)
    guarantee = component.guarantee
    shown = ", ".join(f"{key}={getattr(component, key)!r}" for key in settable(cls))
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
    """Return the JSON Schema of the parameters that may be set."""
    schema = cls.model_json_schema()
    allowed = settable(cls)
    properties = schema.get("properties", {})
    schema["properties"] = {name: properties[name] for name in properties if name in allowed}
    return schema


OPERATIONS = (
    Operation(
        "POST",
        "/api/protect",
        "Make variants of texts. Nothing is sent or counted in the ledger.",
        _protect,
        ProtectAsk,
        ProtectAnswer,
    ),
    Operation(
        "POST",
        "/api/search",
        "Search privately for one or several queries, and charge the budget; your own documents"
        " on this machine are searched with the queries themselves.",
        _search,
        SearchAsk,
        SearchAnswer,
        sends=True,
    ),
    Operation(
        "POST",
        "/api/explain",
        "Explain what a mechanism does to words.",
        _explain,
        ExplainAsk,
        ExplainAnswer,
    ),
    Operation(
        "GET",
        "/api/mechanisms",
        "List the mechanisms, with the schema of their parameters.",
        _mechanisms,
        EmptyAsk,
        MechanismsAnswer,
    ),
    Operation(
        "GET",
        "/api/plane",
        "Return the settings of the slider, with their measured risk and utility.",
        _plane,
        EmptyAsk,
        PlaneAnswer,
    ),
    Operation(
        "GET",
        "/api/ledger",
        "Return entries of the ledger, newest first.",
        _ledger,
        LedgerAsk,
        LedgerAnswer,
    ),
    Operation(
        "GET",
        "/api/budget",
        "Return what was spent in the last 24 hours, and what is left.",
        _budget,
        EmptyAsk,
        BudgetAnswer,
    ),
)
