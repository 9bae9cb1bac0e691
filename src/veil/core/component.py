"""Declare a parameter once; get checks, messages, spec strings and JSON Schema from it.

A component is a frozen pydantic model. Its fields are its parameters: the constructor, the command
line, the documentation and the tests read their type, range, default and description.
"""

import difflib
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from veil.core.errors import ParameterError

Direction = Literal["useful", "private"]
C = TypeVar("C", bound="Component")
PRIVATE: dict[str, Any] = {"more": "private"}  # for a parameter whose larger values protect more

_RULES = {
    "greater_than": "must be {kind} > {gt:g}",
    "greater_than_equal": "must be {kind} >= {ge:g}",
    "less_than": "must be {kind} < {lt:g}",
    "less_than_equal": "must be {kind} <= {le:g}",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "literal_error": "must be {expected}",
}


class Component(BaseModel):
    """Base class of everything with a name and parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: ClassVar[str]

    def __init__(self, **parameters: Any) -> None:  # noqa: ANN401 - checked by pydantic
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            raise ParameterError(_sentence(type(self), error.errors())) from None

    @field_validator("*", mode="before")
    @classmethod
    def _reject_booleans(cls, value: object, info: ValidationInfo) -> object:
        """Reject a boolean where a number is expected: Python would read it as 0 or 1."""
        annotation = cls.model_fields[info.field_name or ""].annotation
        types = [annotation, *get_args(annotation)]
        if isinstance(value, bool | np.bool_) and not any(kind in (bool, Any) for kind in types):
            raise PydanticCustomError("truth", "must not be true or false")
        return value

    @classmethod
    def load(cls, parameters: dict[str, object]) -> Self:
        """Build from parameters of unknown types, as read from a file or a flag."""
        return cls(**parameters)

    @classmethod
    def direction(cls, parameter: str) -> Direction:
        """Return whether larger values of a parameter make a release more useful or more private.

        A field declares "private" with ``Field(json_schema_extra=PRIVATE)``. The default is
        "useful", as for epsilon.
        """
        field = cls.model_fields.get(parameter)
        extra = None if field is None else field.json_schema_extra
        declared = extra.get("more") if isinstance(extra, dict) else None
        return "private" if declared == "private" else "useful"

    def __str__(self) -> str:
        parameters = ", ".join(f"{key}={value!r}" for key, value in self)
        return f"{self.name}({parameters})"

    @property
    def brief(self) -> str:
        """The spec without parameters at their default; it parses to an equal component."""
        fields = type(self).model_fields
        changed = [f"{key}={value!r}" for key, value in self if value != fields[key].default]
        return f"{self.name}({', '.join(changed)})" if changed else self.name


def example(cls: type[C]) -> C:
    """Build a component from its `sample` and from the examples and defaults of its parameters.

    A class needs a `sample` if all its parameters are optional but some of them must be set.
    """
    values: dict[str, object] = dict(getattr(cls, "sample", {}))
    for key, field in cls.model_fields.items():
        if field.is_required():
            if not field.examples:
                raise ParameterError(
                    f"The '{key}' parameter of {cls.name} needs an example: Field(examples=[...])."
                )
            values[key] = field.examples[0]
    return cls.load(values)


def summary(cls: type[Component]) -> str:
    """Return the `says` text of a component, or the first line of its docstring, or ""."""
    return str(getattr(cls, "says", "")) or (cls.__doc__ or "").strip().split("\n")[0]


def no_parameter(cls: type[Component], name: str) -> str:
    """Return the message for a parameter name that a class does not have."""
    matches = difflib.get_close_matches(name.lower(), cls.model_fields, n=1)
    hint = f" Did you mean '{matches[0]}'?" if matches else ""
    names = ", ".join(cls.model_fields)
    return f"{cls.name} has no parameter '{name}'; its parameters are: {names}.{hint}"


def _sentence(cls: type[Component], details: list[ErrorDetails]) -> str:
    """Return the message for the most helpful pydantic error: a misspelt name comes first."""
    detail = min(details, key=lambda error: error["type"] != "extra_forbidden")
    field = ".".join(str(part) for part in detail["loc"])
    names = ", ".join(cls.model_fields)
    if detail["type"] == "missing":
        return f"The '{field}' parameter of {cls.name} is required; its parameters are: {names}."
    if detail["type"] == "extra_forbidden":
        return no_parameter(cls, field)
    info = cls.model_fields.get(field)
    kind = "a whole number" if info is not None and info.annotation is int else "a number"
    rule = _RULES.get(detail["type"])
    if rule is None:
        rule = detail["msg"][:1].lower() + detail["msg"][1:]
    else:
        rule = rule.format(kind=kind, **detail.get("ctx", {}))
    value = _describe(detail["input"])
    return f"The '{field}' parameter of {cls.name} {rule}. Got {value} instead."


def _describe(value: object) -> str:
    """Quote a number, even one in a string. For anything else give its type: it may be data."""
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return f"a value of type {type(value).__name__}"
    return repr(value)[:60]
