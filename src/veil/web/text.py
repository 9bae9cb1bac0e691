"""The verbs of text and search for programs.

Everything that is sent goes through the desk. What is protected here and not sent is not counted
in the ledger, as with ``veil protect``.
"""

from functools import cache

from veil import api
from veil.core.errors import LawError
from veil.corpus.tokens import check_text
from veil.proxy.answers import BudgetAnswer, CostAnswer, FoundAnswer
from veil.search.pipeline import check_query
from veil.text.explain import LogRatio
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.protect import variants_of
from veil.text.redact.redactor import By, Redactor
from veil.text.vectors.embeddings import Embeddings
from veil.web.answers import (
    ExplainAnswer,
    LedgerAnswer,
    LogRatioAnswer,
    MechanismsAnswer,
    PlaneAnswer,
    ProtectAnswer,
    ReleaseAnswer,
    SearchAnswer,
    TextAnswer,
    WordAnswer,
    catalogue,
)
from veil.web.asks import EmptyAsk, ExplainAsk, LedgerAsk, ProtectAsk, SearchAsk
from veil.web.messages import StatusError
from veil.web.operation import Operation
from veil.web.service import Service

_VARIANTS = 10_000  # of one request
_CHARACTERS = 10_000_000  # of all variants of one request


def _protect(service: Service, ask: ProtectAsk) -> ProtectAnswer:
    for number, text in enumerate(ask.texts, start=1):
        check_text(text, f"Text {number:,}")
    mechanism = api.mechanism(ask.mechanism)
    size = variants_of(mechanism, ask.size)
    written = max(map(len, ask.texts)) * len(ask.texts) * size
    if len(ask.texts) * size > _VARIANTS or written > _CHARACTERS:
        raise StatusError(
            422,
            f"At most {_VARIANTS:,} variants with {_CHARACTERS:,} characters are made for one"
            " request; give fewer or shorter texts, or a smaller size.",
        )
    made = api.protect(
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
    redacted = made.redacted or ((),) * len(made)
    return ProtectAnswer(
        mechanism=made.mechanism,
        size=size,
        texts=[
            TextAnswer(
                variants=list(row),
                protected_words=words,
                kept_words=list(kept),
                redacted=list(kinds),
            )
            for row, words, kept, kinds in zip(
                made, made.protected, made.kept, redacted, strict=True
            )
        ],
        cost=CostAnswer.of(made.cost),
        seeded=made.seeded,
    )


@cache
def _redactor(by: By) -> Redactor:
    """Return who looks; Presidio takes seconds to load, and is kept."""
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
        found = [desk.search_here(query) for query in ask.all_queries]
    elif ask.query is not None:
        found = [desk.search(ask.query, setting, plain=ask.plain is True)]
    else:
        found = desk.search_all(ask.all_queries, setting)
    answers = [
        FoundAnswer.of(
            one,
            network=desk.network,
            standing=desk.standing,
            show=ask.show,
            variants=one.seen,
        )
        for one in found
    ]
    return SearchAnswer(engine=desk.engine, network=desk.network, answers=answers)


def _explain(service: Service, ask: ExplainAsk) -> ExplainAnswer:
    mechanism = api.mechanism(ask.mechanism)
    space = service.vectors()
    space.ids(ask.words)  # all must be known before any is explained
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
    found = service.desk.releases(ask.count + 1, ask.before)
    shown = [ReleaseAnswer.model_validate(one) for one in found[: ask.count]]
    older = shown[-1].number if len(found) > ask.count else None
    return LedgerAnswer(releases=shown, older=older)


def _budget(service: Service, ask: EmptyAsk) -> BudgetAnswer:
    del ask
    return BudgetAnswer.model_validate(service.desk.budget())


OPERATIONS = (
    Operation(
        "POST",
        "/api/protect",
        "Make variants of texts. Nothing is sent, and nothing is counted in the ledger.",
        _protect,
        ProtectAsk,
        ProtectAnswer,
    ),
    Operation(
        "POST",
        "/api/search",
        "Search privately for one query or several, and spend of the budget; documents of your"
        " own, on this machine, are searched for them as they are.",
        _search,
        SearchAsk,
        SearchAnswer,
        sends=True,
    ),
    Operation(
        "POST",
        "/api/explain",
        "Say what a mechanism does to words.",
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
        "Return the stops of the slider, with what was measured there.",
        _plane,
        EmptyAsk,
        PlaneAnswer,
    ),
    Operation(
        "GET",
        "/api/ledger",
        "Return entries of the ledger: what was released when.",
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
