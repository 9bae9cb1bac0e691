"""The interface for programs: the verbs of the command line, each a row of one table.

Everything that is sent goes through the desk. What is protected here and not sent is not counted
in the ledger, as with ``veil protect``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

from veil import api
from veil.core.apart import apart
from veil.core.errors import LawError
from veil.corpus.text import check_text
from veil.proxy.documents import BudgetAnswer, CostAnswer, FoundAnswer
from veil.search.pipeline import check_query
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.words.explain import LogRatio
from veil.text.protect import variants_of
from veil.text.vectors.embeddings import Embeddings
from veil.web import dp, tables
from veil.web.answers import ProtectAnswer, SearchAnswer, TextAnswer
from veil.web.asks import Ask, ExplainAsk, LedgerAsk, Nothing, ProtectAsk, SearchAsk
from veil.web.bodies import JSON_BYTES, fields, read_body, read_json, require_type
from veil.web.catalogue import catalogue
from veil.web.faults import StatusError
from veil.web.figures import (
    ExplainAnswer,
    LedgerAnswer,
    LogRatioAnswer,
    MechanismsAnswer,
    PlaneAnswer,
    ReleaseAnswer,
    WordAnswer,
)
from veil.web.messages import Handler, Request, Response, document
from veil.web.places import (
    PlacesPlaneAnswer,
    PlacesPlaneAsk,
    PlacesProtectAnswer,
    PlacesProtectAsk,
    masked,
    measured,
)
from veil.web.service import Service
from veil.web.table_answers import TablesOpenAnswer, TablesPlaneAnswer, TablesProtectAnswer

_VARIANTS = 10_000  # of one request
_CHARACTERS = 10_000_000  # of all variants of one request


@dataclass(frozen=True, slots=True)
class Operation:
    """One address of the interface.

    Attributes
    ----------
    run
        Does the work, and may block.
    ask, answer
        What it takes, in the body or in the address, and what it returns.
    sends
        Whether an engine is asked, so that it can fail or be refused.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    run: Callable[[Service, Any], BaseModel]
    ask: type[Ask]
    answer: type[BaseModel]
    sends: bool = False


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
        in_clear=ask.in_clear,
    )
    return ProtectAnswer(
        mechanism=made.mechanism,
        size=size,
        texts=[
            TextAnswer(variants=list(row), protected_words=words, kept_words=list(kept))
            for row, words, kept in zip(made, made.protected, made.kept, strict=True)
        ],
        cost=CostAnswer.of(made.cost),
        seeded=made.seeded,
    )


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


def _places_plane(service: Service, ask: PlacesPlaneAsk) -> PlacesPlaneAnswer:
    del service
    return measured(ask)


def _places_protect(service: Service, ask: PlacesProtectAsk) -> PlacesProtectAnswer:
    del service
    return masked(ask)


def _alone(work: Callable[[Any], BaseModel]) -> Callable[[Service, Any], BaseModel]:
    """Return work that needs nothing of the service."""
    return lambda _, ask: work(ask)


def _mechanisms(service: Service, ask: Nothing) -> MechanismsAnswer:
    del service, ask
    return catalogue()


def _plane(service: Service, ask: Nothing) -> PlaneAnswer:
    del ask
    return PlaneAnswer.model_validate(service.plane)


def _ledger(service: Service, ask: LedgerAsk) -> LedgerAnswer:
    found = service.desk.releases(ask.count + 1, ask.before)
    shown = [ReleaseAnswer.model_validate(one) for one in found[: ask.count]]
    older = shown[-1].number if len(found) > ask.count else None
    return LedgerAnswer(releases=shown, older=older)


def _budget(service: Service, ask: Nothing) -> BudgetAnswer:
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
        "POST",
        "/api/places/plane",
        "Measure what a method leaves of points at several strengths. Nothing is kept.",
        _places_plane,
        PlacesPlaneAsk,
        PlacesPlaneAnswer,
    ),
    Operation(
        "POST",
        "/api/places/protect",
        "Mask points, and draw them. Nothing is kept, and nothing is counted in the ledger.",
        _places_protect,
        PlacesProtectAsk,
        PlacesProtectAnswer,
    ),
    Operation(
        "POST",
        "/api/dp/sql",
        "Answer a question in SQL with noise, and charge the budget of the policy.",
        dp.answered,
        dp.SqlAsk,
        dp.SqlAnswer,
    ),
    Operation(
        "POST",
        "/api/dp/explain",
        "Say what a question in SQL would compute and cost. Nothing is read or spent.",
        dp.explained,
        dp.SqlAsk,
        dp.ExplainedAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/open",
        "Say how exposed the records of a table are. Nothing is kept.",
        _alone(tables.looked),
        tables.TablesAsk,
        TablesOpenAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/plane",
        "Measure what a method leaves of a table at several strengths. Nothing is kept.",
        _alone(tables.measured),
        tables.TablesPlaneAsk,
        TablesPlaneAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/protect",
        "Protect a table, and draw it. Nothing is kept, and nothing is counted in the ledger.",
        _alone(tables.masked),
        tables.TablesProtectAsk,
        TablesProtectAnswer,
    ),
    Operation(
        "GET",
        "/api/mechanisms",
        "List the mechanisms, with the schema of their parameters.",
        _mechanisms,
        Nothing,
        MechanismsAnswer,
    ),
    Operation(
        "GET",
        "/api/plane",
        "Return the stops of the slider, with what was measured there.",
        _plane,
        Nothing,
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
        Nothing,
        BudgetAnswer,
    ),
)


def api_routes(service: Service) -> dict[tuple[str, str], Handler]:
    """Return the addresses of the interface, and who answers there."""
    return {(one.method, one.path): partial(_answer, service, one) for one in OPERATIONS}


async def _answer(service: Service, operation: Operation, request: Request) -> Response:
    """Answer one request of a program."""
    service.bucket.take()
    if operation.method == "POST":
        require_type(request, "application/json")
        body = await read_body(request, JSON_BYTES, service.patience)
        ask = operation.ask.read(read_json(body), strict=True)
    else:
        ask = operation.ask.read(fields(request.scope["query_string"]), strict=False)
    service.bucket.charge(ask.weight - 1)
    turns = service.searches if operation.method == "POST" else service.looks
    answer = await turns.run(request, partial(_written, service, operation, ask))
    return document(answer)


@apart()
def _written(service: Service, operation: Operation, ask: Ask) -> bytes:
    """Do the work; no law that was made for others is used, or left to them."""
    ask.check()
    return operation.run(service, ask).model_dump_json(by_alias=True).encode()
