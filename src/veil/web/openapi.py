"""The OpenAPI document, made from the table of the interface."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from veil.core.version import __version__
from veil.web.answers import ErrorAnswer
from veil.web.operation import Operation

_MEANING = {
    400: "The request names no host, or several, or tells its length in two ways.",
    401: "The token of the page is missing.",
    403: "Another site or another user is behind the request; or the budget, the gate or the risk"
    " forbids it.",
    408: "The request did not arrive in time.",
    413: "The request is too long.",
    415: "The body is not application/json.",
    421: "The server does not answer under this name.",
    422: "A parameter or a text cannot be used.",
    429: "Too many requests in a minute; Retry-After says when to come back.",
    431: "The head of the request is too long.",
    500: "The server failed.",
    502: "The engine failed.",
    503: "Too much is under way; Retry-After says when to come back.",
}
_ALWAYS = (400, 401, 403, 421, 422, 429, 431, 500, 503)
_WITH_BODY = (408, 413, 415)


def openapi(operations: Sequence[Operation]) -> dict[str, object]:
    """Describe the interface, by OpenAPI 3.1."""
    refs, schemas = _schemas(operations)
    paths: dict[str, dict[str, object]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, refs, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Veil",
            "version": __version__,
            "summary": "Private search: the engine sees variants of a query, not the query.",
            "description": "For programs that have the token of the page ('veil token' prints"
            " it); other sites are refused. Errors are one sentence, which quotes no text.",
        },
        "paths": paths,
        "security": [{"token": []}],
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


Refs = dict[type[BaseModel], dict[str, object]]
Schemas = dict[str, dict[str, object]]


def _schemas(operations: Iterable[Operation]) -> tuple[Refs, Schemas]:
    wanted: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {
        (ErrorAnswer, "serialization"): None
    }
    for one in operations:
        wanted[one.ask, "validation"] = None
        wanted[one.answer, "serialization"] = None
    found, made = models_json_schema(list(wanted), ref_template="#/components/schemas/{model}")
    refs = {model: found[model, mode] for model, mode in wanted}
    return refs, made["$defs"]


def _operation(one: Operation, refs: Refs, schemas: Schemas) -> dict[str, object]:
    statuses = [*_ALWAYS, *(_WITH_BODY if one.method == "POST" else ())]
    statuses += [502] if one.sends else []
    responses: dict[str, object] = {
        "200": {"description": (one.answer.__doc__ or "").strip(), **_json(refs[one.answer])}
    }
    for status in sorted(statuses):
        responses[str(status)] = {"description": _MEANING[status], **_json(refs[ErrorAnswer])}
    described: dict[str, object] = {
        "operationId": one.path.removeprefix("/api/"),
        "summary": one.summary,
        "responses": responses,
    }
    if one.method == "POST":
        described["requestBody"] = {"required": True, **_json(refs[one.ask])}
    else:
        described["parameters"] = _parameters(one.ask, schemas)
    return described


def _json(schema: dict[str, object]) -> dict[str, object]:
    return {"content": {"application/json": {"schema": schema}}}


def _parameters(ask: type[BaseModel], schemas: Schemas) -> list[dict[str, object]]:
    properties = schemas[ask.__name__].get("properties", {})
    if not isinstance(properties, dict):
        return []
    return [
        {
            "name": name,
            "in": "query",
            "required": ask.model_fields[name].is_required(),
            "description": ask.model_fields[name].description or "",
            "schema": schema,
        }
        for name, schema in properties.items()
    ]
