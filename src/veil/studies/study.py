"""The keys that all studies share, the messages about wrong keys, and canonical specs.

Two specs of equal components have the same canonical form, which parses to an equal component.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from veil.core.component import Component
from veil.core.errors import ParameterError, VeilError, with_message
from veil.core.registry import read_spec
from veil.studies import DEFAULT

COUNTS = (1, 2, 5, 10, 20, 50)  # numbers of releases of a subject to measure recovery for
MAX_SIZE = 1_000  # releases of a subject


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Specs = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class SpecParser(Protocol):
    """Builds a mechanism from its spec; a `Registry` does."""

    def parse(self, spec: str) -> Any:  # noqa: ANN401 - of the domain's own type
        """Build one."""
        ...


class Grid(BaseModel):
    """One ``[[mechanism]]``: its fixed parameters, the swept parameter, and its values.

    `attackers` replace those of the study for this mechanism.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    spec: str
    parameter: str = ""
    values: Annotated[tuple[float, ...], Field(strict=False)] = ()
    attackers: Annotated[Specs | None, Field(strict=False)] = None

    def mechanisms(self, registry: SpecParser) -> Iterator[tuple[Any, float]]:
        """Yield a mechanism for each value; without a parameter, one mechanism with value 0."""
        if not self.parameter:
            yield registry.parse(self.spec), 0.0
            return
        if re.findall(rf"[(,]\s*{re.escape(self.parameter)}\s*=", self.spec):
            raise ParameterError(
                f"'{self.parameter}' is in the spec and also the swept parameter. Remove it from"
                " the spec."
            )
        head, _, rest = self.spec.strip().partition("(")
        fixed = rest.rstrip().removesuffix(")").strip()
        parameters = ", ".join(filter(None, (fixed, f"{self.parameter}={self.values[0]!r}")))
        first = registry.parse(f"{head}({parameters})")
        for value in self.values:
            yield type(first).load({**dict(first), self.parameter: value}), value


class Study(BaseModel):
    """The keys of a study file; a domain adds keys in a subclass.

    Paths are absolute, because workers may run elsewhere, and specs are in canonical form. Equal
    studies measure the same.

    Attributes
    ----------
    domain
        The kind of data: a name of `veil.studies.DOMAINS`, or of a plugin's.
    sizes
        Numbers of releases of each subject.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    name: Annotated[str, Field(min_length=1, max_length=100)]
    domain: str = DEFAULT
    sizes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_SIZE)], ...], Field(min_length=1, strict=False)
    ] = (1,)
    seed: Annotated[int, Field(ge=0)] = 1
    attackers: Annotated[Specs, Field(strict=False)] = ()
    mechanism: Annotated[tuple[Grid, ...], Field(min_length=1, strict=False)]

    @property
    def all_attackers(self) -> tuple[str, ...]:
        """The attacks on any mechanism."""
        attackers = (spec for grid in self.mechanism for spec in self.against(grid))
        return tuple(dict.fromkeys(attackers))

    def against(self, grid: Grid) -> tuple[str, ...]:
        """Return the attacks on a mechanism."""
        return self.attackers if grid.attackers is None else grid.attackers

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of releases to measure recovery for."""
        largest = max(self.sizes)
        return tuple(sorted({count for count in COUNTS if count < largest} | {largest}))


_KINDS = {
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "finite_number": "a finite number",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "too_short": "a list of at least {min_length}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "model_type": "a table, written as [[mechanism]]",
}
Place = tuple[int | str, ...]


def no_such_key(where: str, key: str, keys: Sequence[str]) -> ParameterError:
    """Return the error for an unknown key, with the nearest key and all valid ones."""
    near = difflib.get_close_matches(key, keys, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return ParameterError(f"{where} has no '{key[:40]}'.{hint} Available: {', '.join(keys)}.")


def error_sentence(
    detail: ErrorDetails,
    content: Mapping[str, Any],
    name: str,
    keys: Callable[[Place], Sequence[str]],
) -> str:
    """Return the message for an error of pydantic; `keys` returns the keys of a table."""
    nested = len(detail["loc"]) > 2 and detail["loc"][0] == "mechanism"
    place = detail["loc"][:2] if nested else ()
    where = f"[[mechanism]] {int(place[1]) + 1} of {name}" if nested else name
    inner = detail["loc"][len(place) :]
    key = str(inner[0])
    if detail["type"] in ("extra_forbidden", "missing"):
        table = content["mechanism"][place[1]] if nested else content
        unknown = next((name for name in table if name not in keys(place)), None)
        if unknown is not None:  # a misspelt key may also be reported as missing
            return str(no_such_key(where, unknown, keys(place)))
        written = "[[mechanism]]" if key == "mechanism" else f"'{key}'"
        return f"{where} needs {written}. Available: {', '.join(keys(place))}."
    ordinal = f" number {int(inner[1]) + 1}" if len(inner) > 1 else ""
    expected = _KINDS.get(detail["type"], detail["msg"][:1].lower() + detail["msg"][1:])
    expected = expected.format(**detail.get("ctx", {}))
    return (
        f"The '{key}'{ordinal} of {where} must be {expected}. Got {detail['input']!r:.60} instead."
    )


@contextmanager
def locate_errors(where: str) -> Iterator[None]:
    """Prefix errors with their location in the study."""
    try:
        yield
    except VeilError as error:
        raise with_message(error, f"{where}: {error}") from None


_BARE = re.compile(r"(?!(?:true|false|True|False|None)$)[A-Za-z_][\w./-]*")  # needs no quotes


def distinct_specs(components: Iterable[Component]) -> tuple[str, ...]:
    """Return the canonical specs of components without duplicates."""
    return tuple(dict.fromkeys(map(short_spec, components)))


def short_spec(component: Component, leave: str = "") -> str:
    """Return the spec of a component with its non-default parameters, except `leave`.

    >>> from typing import ClassVar
    >>> class Blur(Component):
    ...     name: ClassVar[str] = "blur"
    ...     far: float
    ...     near: float = 0.0
    >>> short_spec(Blur(far=2)), short_spec(Blur(far=2, near=1), leave="far")
    ('blur(far=2.0)', 'blur(near=1.0)')
    """
    fields = type(component).model_fields
    changed = [
        f"{key}={_value(value)}"
        for key, value in component
        if key != leave and value != fields[key].default
    ]
    return f"{component.name}({', '.join(changed)})" if changed else component.name


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) and _BARE.fullmatch(value) else repr(value)


def group_specs(specs: Sequence[str]) -> list[dict[str, object]]:
    """Return specs grouped into curves: those of a curve differ in one number.

    >>> group_specs(["donut(low=1, high=5)", "donut(low=1, high=9)", "laplace(epsilon=2)"])
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'spec': 'donut(low=1)', 'parameter': 'high', 'values': [5.0, 9.0]},
     {'spec': 'laplace(epsilon=2)'}]
    """
    remaining = [(spec, *read_spec(spec)) for spec in specs]
    if not remaining:
        raise ParameterError("A mechanism is required. Add -m SPEC.")
    curves: list[dict[str, object]] = []
    while remaining:
        spec, head, parameters = remaining[0]
        alike = [row for row in remaining if row[1] == head and set(row[2]) == set(parameters)]
        swept = {key for key in parameters for row in alike if row[2][key] != parameters[key]}
        key = next(iter(swept), "")
        numbers = [row[2].get(key) for row in alike]
        if len(swept) == 1 and all(isinstance(number, int | float) for number in numbers):
            fixed = ", ".join(
                f"{name}={value!r}" for name, value in parameters.items() if name != key
            )
            curves.append(
                {
                    "spec": f"{head}({fixed})" if fixed else head,
                    "parameter": key,
                    "values": [float(str(number)) for number in numbers],
                }
            )
            remaining = [row for row in remaining if row not in alike]
        else:
            curves.append({"spec": spec})
            remaining = remaining[1:]
    return curves
