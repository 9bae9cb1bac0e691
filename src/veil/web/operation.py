"""Operations of the HTTP interface as data, the source of routes, OpenAPI and reference."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from veil.core.version import __version__
from veil.proxy.answers import Answer, Text
from veil.web.asks import Ask
from veil.web.service import Service


class ErrorAnswer(Answer):
    """Why a request failed."""

    error: Text = Field(description="one sentence, which quotes no text")
    kind: str = Field(description="budget, gate, risk, engine, input, busy or server")


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the HTTP interface.

    Attributes
    ----------
    run
        Does the work; it may block.
    ask, answer
        Models of the request (body or URL) and of the response.
    sends
        Whether it queries an engine, which can fail or refuse.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    run: Callable[[Service, Any], BaseModel]
    ask: type[Ask]
    answer: type[BaseModel]
    sends: bool = False


def without_service(work: Callable[[Any], BaseModel]) -> Callable[[Service, Any], BaseModel]:
    """Adapt a function that needs no service to `Operation.run`."""
    return lambda _, ask: work(ask)


_MEANING = {
    400: "The request must name one host and give its length only once.",
    401: "The token of the page is missing.",
    403: "The request comes from another site or user, or the budget, the gate or the risk"
    " forbids it.",
    408: "The request did not arrive in time.",
    413: "The request is too long.",
    415: "The body is not application/json.",
    421: "The host is not a name of this server.",
    422: "A parameter or a text cannot be used.",
    429: "Too many requests per minute; Retry-After has the time to wait.",
    431: "The head of the request is too long.",
    500: "The server failed.",
    502: "The engine failed.",
    503: "Too many concurrent requests; Retry-After has the time to wait.",
}
_ALWAYS = (400, 401, 403, 421, 422, 429, 431, 500, 503)
_WITH_BODY = (408, 413, 415)


def openapi(operations: Sequence[Operation]) -> dict[str, object]:
    """Return the OpenAPI 3.1 description of the interface."""
    refs, schemas = _schemas(operations)
    paths: dict[str, dict[str, object]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _openapi_operation(
            operation, refs, schemas
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Veil",
            "version": __version__,
            "summary": "Private search: the engine sees variants of a query, not the query.",
            "description": "For programs with the token of the page, which 'veil token' prints;"
            " requests of other sites are refused. Errors are one sentence that quotes no"
            " text.",
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
    models: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {
        (ErrorAnswer, "serialization"): None
    }
    for operation in operations:
        models[operation.ask, "validation"] = None
        models[operation.answer, "serialization"] = None
    keys, definitions = models_json_schema(
        list(models), ref_template="#/components/schemas/{model}"
    )
    refs = {model: keys[model, mode] for model, mode in models}
    return refs, definitions["$defs"]


def _openapi_operation(operation: Operation, refs: Refs, schemas: Schemas) -> dict[str, object]:
    statuses = [*_ALWAYS, *(_WITH_BODY if operation.method == "POST" else ())]
    statuses += [502] if operation.sends else []
    responses: dict[str, object] = {
        "200": {
            "description": (operation.answer.__doc__ or "").strip(),
            **_json(refs[operation.answer]),
        }
    }
    for status in sorted(statuses):
        responses[str(status)] = {"description": _MEANING[status], **_json(refs[ErrorAnswer])}
    document: dict[str, object] = {
        "operationId": operation.path.removeprefix("/api/"),
        "summary": operation.summary,
        "responses": responses,
    }
    if operation.method == "POST":
        document["requestBody"] = {"required": True, **_json(refs[operation.ask])}
    else:
        document["parameters"] = _parameters(operation.ask, schemas)
    return document


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


def reference(operations: Sequence[Operation]) -> str:
    """Return a section in Markdown for each operation."""
    return "\n".join(line for operation in operations for line in _operation_text(operation))


def _operation_text(operation: Operation) -> Iterator[str]:
    yield f"## {operation.method} {operation.path}\n"
    yield f"{operation.summary}\n"
    ask = operation.ask.model_json_schema()
    if ask.get("properties"):
        yield from _table("body" if operation.method == "POST" else "parameter", ask)
    answer = operation.answer.model_json_schema(mode="serialization")
    if answer.get("properties"):
        yield from _table("answer", answer, required=False)
    for name, field in answer.get("properties", {}).items():
        if inner := field.get("items", {}).get("$ref", "").rpartition("/")[2]:
            yield from _table(f"each of `{name}`", answer["$defs"][inner], required=False)


def _table(head: str, schema: dict[str, Any], *, required: bool = True) -> Iterator[str]:
    """Yield a table of the fields; `required` marks mandatory ones."""
    yield f"| {head} | | meaning |\n|---|---|---|"
    needed = schema.get("required", []) if required else []
    for name, field in schema["properties"].items():
        meaning = field.get("description", "").replace("|", "\\|")
        need = "**required**" if name in needed else _default(field)
        kind = f"{_kind(field)}{f', {need}' if need else ''}"
        yield f"| `{name}` | {kind} | {meaning} |"
    yield ""


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "" if default in (None, "", {}) else f"default `{default}`"


def _kind(field: dict[str, Any]) -> str:
    """Return the type of a value, or its choices."""
    if "$ref" in field:
        return "object"
    if "enum" in field:
        return " or ".join(f"`{choice}`" for choice in field["enum"])
    if "anyOf" in field:
        return " or ".join(_kind(option) for option in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    return str(field.get("type", "any"))
