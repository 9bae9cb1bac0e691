"""The interface for programs: the verbs of every kind of data, each a row of one table."""

from functools import partial

from veil.data.memo import private_caches
from veil.web import dp, places, sensitive, tables, verbs
from veil.web.asks import Ask
from veil.web.bodies import JSON_BYTES, fields, read_body, read_json, require_type
from veil.web.messages import Handler, Request, Response, document
from veil.web.operation import Operation
from veil.web.service import Service

_PARTS = (verbs, places, dp, tables, sensitive)
OPERATIONS: tuple[Operation, ...] = tuple(one for part in _PARTS for one in part.OPERATIONS)


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


@private_caches()
def _written(service: Service, operation: Operation, ask: Ask) -> bytes:
    """Do the work; no law that was made for others is used, or left to them."""
    ask.check()
    return operation.run(service, ask).model_dump_json(by_alias=True).encode()
