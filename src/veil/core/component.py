"""Declare a parameter once; get checks, messages, spec strings and JSON Schema from it.

A component is a frozen pydantic model. Its fields are its parameters: their type, range, default
and description are read by the constructor, the command line, the documentation and the tests.
"""

import difflib
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from veil.core.errors import ParameterError

Direction = Literal["useful", "private"]
C = TypeVar("C", bound="Component")
PRIVATE: dict[str, Any] = {"more": "private"}  # of a parameter: larger values protect more

_WANTED = {
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
    """Base of everything that has a name and parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: ClassVar[str]

    def __init__(self, **parameters: Any) -> None:  # noqa: ANN401 - checked by pydantic
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            raise ParameterError(_sentence(type(self), error.errors())) from None

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth(cls, value: object, given: ValidationInfo) -> object:
        """Refuse a truth value where a number is wanted: Python takes one for 0 or 1."""
        wanted = cls.model_fields[given.field_name or ""].annotation
        may = [wanted, *get_args(wanted)]
        if isinstance(value, bool | np.bool_) and not any(m in (bool, Any) for m in may):
            raise PydanticCustomError("truth", "must not be true or false")
        return value

    @classmethod
    def load(cls, parameters: dict[str, object]) -> Self:
        """Build from parameters whose types are not known, as read from a file or a flag."""
        return cls(**parameters)

    @classmethod
    def direction(cls, parameter: str) -> Direction:
        """Say what more of a parameter is, as its field declares: more useful, or more private.

        ``Field(json_schema_extra=PRIVATE)`` declares the second; the first, as for epsilon, is
        what holds otherwise.
        """
        field = cls.model_fields.get(parameter)
        extra = None if field is None else field.json_schema_extra
        told = extra.get("more") if isinstance(extra, dict) else None
        return "private" if told == "private" else "useful"

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self)
        return f"{self.name}({shown})"

    @property
    def brief(self) -> str:
        """The spec without the parameters that have their default; it parses to the same."""
        fields = type(self).model_fields
        told = [f"{key}={value!r}" for key, value in self if value != fields[key].default]
        return f"{self.name}({', '.join(told)})" if told else self.name


def example(cls: type[C]) -> C:
    """Build a component from the examples and defaults of its parameters, or from its `sample`.

    `sample` is for a class whose parameters are all optional, and yet not all may be left out.
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
    """Return what a component says of itself, or the first line of its docstring, or nothing."""
    return str(getattr(cls, "says", "")) or (cls.__doc__ or "").strip().split("\n")[0]


def no_parameter(cls: type[Component], name: str) -> str:
    """Say in one sentence that a class has no parameter of that name."""
    near = difflib.get_close_matches(name.lower(), cls.model_fields, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    known = ", ".join(cls.model_fields)
    return f"{cls.name} has no parameter '{name}'; its parameters are: {known}.{hint}"


def _sentence(cls: type[Component], details: list[ErrorDetails]) -> str:
    """Render the most telling pydantic error in one sentence: a misspelt name comes first."""
    detail = min(details, key=lambda each: each["type"] != "extra_forbidden")
    field = ".".join(str(part) for part in detail["loc"])
    known = ", ".join(cls.model_fields)
    if detail["type"] == "missing":
        return f"The '{field}' parameter of {cls.name} is required; its parameters are: {known}."
    if detail["type"] == "extra_forbidden":
        return no_parameter(cls, field)
    info = cls.model_fields.get(field)
    kind = "a whole number" if info is not None and info.annotation is int else "a number"
    wanted = _WANTED.get(detail["type"])
    if wanted is None:
        wanted = detail["msg"][:1].lower() + detail["msg"][1:]
    else:
        wanted = wanted.format(kind=kind, **detail.get("ctx", {}))
    return (
        f"The '{field}' parameter of {cls.name} {wanted}. Got {_shown(detail['input'])} instead."
    )


def _shown(value: object) -> str:
    """Quote a number, also one in quotes; of anything else the type: it may be a text."""
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return f"a value of type {type(value).__name__}"
    return repr(value)[:60]
