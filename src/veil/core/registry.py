"""Find a component by name: a table of built-ins plus entry points, loaded on first use."""

import ast
import difflib
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Generic, TypeVar, cast

from veil.core.component import Component
from veil.core.errors import ParameterError, UnknownNameError, VeilError

C = TypeVar("C", bound=Component)
_MAX_SPEC = 2_000  # characters; a spec is a line, not a document


@dataclass(frozen=True)
class Registry(Generic[C]):
    """Components of one family, by name.

    `group` is the entry-point group in which other packages announce theirs; a plugin cannot
    replace a built-in, and two plugins of one name are an error that names both.
    """

    noun: str
    group: str
    builtin: Mapping[str, str]
    _loaded: dict[str, type[C]] = field(default_factory=dict, repr=False)

    def names(self) -> tuple[str, ...]:
        """Return all known names, sorted."""
        return tuple(sorted(set(self.builtin) | set(self._plugins())))

    def get(self, name: str) -> type[C]:
        """Return the class of that name."""
        if name not in self._loaded:
            target = self.builtin.get(name) or self._plugins().get(name)
            if target is None:
                raise unknown_name(self.noun, name, self.names())
            self._loaded[name] = self._load(name, target)
        return self._loaded[name]

    def _load(self, name: str, target: str) -> type[C]:
        """Load a class; one of a plugin may be anything, and fail in any way."""
        module, _, attribute = target.partition(":")
        if name in self.builtin:
            return cast(type[C], getattr(importlib.import_module(module), attribute))
        try:
            found = getattr(importlib.import_module(module), attribute)
        except VeilError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the plugin does
            raise UnknownNameError(
                f"The plugin {target} of {self.group} cannot be loaded ({type(error).__name__});"
                " repair it, or uninstall it."
            ) from None
        if not (isinstance(found, type) and issubclass(found, Component)):
            raise UnknownNameError(
                f"The plugin {target} of {self.group} is no Component; repair it, or uninstall it."
            )
        return cast(type[C], found)

    def parse(self, spec: str) -> C:
        """Build a component from ``name`` or ``name(key=value, ...)``.

        Values are numbers, true/false, or texts with or without quotes.
        """
        found, parameters = self.read(spec)
        return found.load(parameters)

    def read(self, spec: str) -> tuple[type[C], dict[str, object]]:
        """Return what a spec names, the class and the parameters; nothing is built."""
        name, parameters = read_spec(spec)
        return self.get(name), parameters

    def _plugins(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for point in entry_points(group=self.group):
            if point.name in self.builtin:
                raise UnknownNameError(
                    f"The plugin {point.value} may not replace the built-in '{point.name}'"
                    f" of {self.group}; rename its entry point."
                )
            if found.get(point.name, point.value) != point.value:
                raise UnknownNameError(
                    f"Two plugins are called '{point.name}' in {self.group}:"
                    f" {found[point.name]} and {point.value}; uninstall one."
                )
            found[point.name] = point.value
        return found


def unknown_name(noun: str, name: str, names: Sequence[str]) -> UnknownNameError:
    """Say that there is no such name, which is the nearest, and which there are."""
    shown = name if len(name) <= 40 else name[:37] + "..."
    hint = did_you_mean(name, names)
    return UnknownNameError(f"No {noun} called '{shown}'.{hint} Known: {', '.join(names)}.")


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return " Did you mean '...'?" with the name that is nearest, or nothing."""
    near = difflib.get_close_matches(name.lower(), names, n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


_SPEC = re.compile(r"\s*([A-Za-z_]\w*(?:-\w+)*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_PARAMETER = re.compile(
    r"""\s*([A-Za-z_]\w*)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,'"]*)\s*(,|$)""",
    re.DOTALL,
)


def read_spec(spec: str) -> tuple[str, dict[str, object]]:
    """Split a spec into name and parameters without evaluating anything."""
    problem = ParameterError(
        "A spec must look like name(key=value, ...), for example cmp(epsilon=10); a value with a"
        " comma or a quote needs quotes."
    )
    found = _SPEC.fullmatch(spec) if isinstance(spec, str) and len(spec) <= _MAX_SPEC else None
    if found is None:
        raise problem
    parameters: dict[str, object] = {}
    rest = (found[2] or "").strip()
    while rest:
        match = _PARAMETER.match(rest)
        if match is None or match[1] in parameters or not match[2].strip():
            raise problem
        parameters[match[1]] = _value(match[2].strip(), problem)
        rest = rest[match.end() :].strip()
    return found[1], parameters


def _value(text: str, problem: ParameterError) -> object:
    """Read one value of a spec: a number, true or false, a text in quotes, or a bare one."""
    if text in ("true", "false"):
        return text == "true"
    try:
        value = cast(object, ast.literal_eval(text))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        if text[0] in "\"'":
            raise problem from None
        return text
    return value if isinstance(value, str | int | float | bool | type(None)) else text
