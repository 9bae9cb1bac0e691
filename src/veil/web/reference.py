"""The interface in words, for the documentation: made from the same declarations."""

from collections.abc import Iterator, Sequence
from typing import Any

from veil.web.operation import Operation


def reference(operations: Sequence[Operation]) -> str:
    """Return one section for each operation, in Markdown."""
    return "\n".join(line for one in operations for line in _operation(one))


def _operation(one: Operation) -> Iterator[str]:
    yield f"## {one.method} {one.path}\n"
    yield f"{one.summary}\n"
    asked = one.ask.model_json_schema()
    if asked.get("properties"):
        yield from _table("body" if one.method == "POST" else "parameter", asked)
    answered = one.answer.model_json_schema(mode="serialization")
    if answered.get("properties"):
        yield from _table("answer", answered, told=False)
    for name, field in answered.get("properties", {}).items():
        if inner := field.get("items", {}).get("$ref", "").rpartition("/")[2]:
            yield from _table(f"each of `{name}`", answered["$defs"][inner], told=False)


def _table(head: str, schema: dict[str, Any], *, told: bool = True) -> Iterator[str]:
    """List what there is; `told` of what a caller must give."""
    yield f"| {head} | | meaning |\n|---|---|---|"
    required = schema.get("required", []) if told else []
    for name, field in schema["properties"].items():
        says = field.get("description", "").replace("|", "\\|")
        need = "**required**" if name in required else _default(field)
        kind = f"{_kind(field)}{f', {need}' if need else ''}"
        yield f"| `{name}` | {kind} | {says} |"
    yield ""


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "" if default in (None, "", {}) else f"default `{default}`"


def _kind(field: dict[str, Any]) -> str:
    """Name the kind of a value: a word for each choice that there is."""
    if "$ref" in field:
        return "object"
    if "enum" in field:
        return " or ".join(f"`{one}`" for one in field["enum"])
    if "anyOf" in field:
        return " or ".join(_kind(one) for one in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    return str(field.get("type", "any"))
