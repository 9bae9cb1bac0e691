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

    `group` is the entry-point group through which other packages add their own, and `former` are
    the groups of the last release, which still work. A plugin cannot replace a built-in. Two
    plugins with the same name are an error that names both.
    """

    noun: str
    group: str
    builtin: Mapping[str, str]
    former: tuple[str, ...] = ()
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
        """Load a class. A plugin's may turn out to be anything and fail in any way."""
        module, _, attribute = target.partition(":")
        if name in self.builtin:
            return cast(type[C], getattr(importlib.import_module(module), attribute))
        try:
            plugin = getattr(importlib.import_module(module), attribute)
        except VeilError:
            raise
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            raise UnknownNameError(
                f"The plugin {target} of {self.group} cannot be loaded ({type(error).__name__})."
                " Repair or uninstall it."
            ) from None
        if not (isinstance(plugin, type) and issubclass(plugin, Component)):
            raise UnknownNameError(
                f"The plugin {target} of {self.group} is not a Component. Repair or uninstall it."
            )
        return cast(type[C], plugin)

    def parse(self, spec: str) -> C:
        """Build a component from ``name`` or ``name(key=value, ...)``.

        Values are numbers, true/false, or strings with or without quotes.
        """
        component, parameters = self.read(spec)
        return component.load(parameters)

    def read(self, spec: str) -> tuple[type[C], dict[str, object]]:
        """Return the class and the parameters in a spec, without building the component."""
        name, parameters = read_spec(spec)
        return self.get(name), parameters

    def _plugins(self) -> dict[str, str]:
        targets: dict[str, str] = {}
        groups = (self.group, *self.former)
        for point in (point for group in groups for point in entry_points(group=group)):
            if point.name in self.builtin:
                raise UnknownNameError(
                    f"The plugin {point.value} may not replace the built-in '{point.name}'"
                    f" of {self.group}. Rename its entry point."
                )
            if targets.get(point.name, point.value) != point.value:
                raise UnknownNameError(
                    f"Two plugins are called '{point.name}' in {self.group}:"
                    f" {targets[point.name]} and {point.value}. Uninstall one."
                )
            targets[point.name] = point.value
        return targets


def unknown_name(noun: str, name: str, names: Sequence[str]) -> UnknownNameError:
    """Return the error for an unknown name, with the closest known name and all known names."""
    label = name if len(name) <= 40 else name[:37] + "..."
    hint = did_you_mean(name, names)
    return UnknownNameError(f"No {noun} called '{label}'.{hint} Known: {', '.join(names)}.")


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return " Did you mean '...'?" with the closest of the names, or "" if none is close."""
    matches = difflib.get_close_matches(name.lower(), names, n=1)
    return f" Did you mean '{matches[0]}'?" if matches else ""


_SPEC = re.compile(r"\s*([A-Za-z_]\w*(?:-\w+)*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_PARAMETER = re.compile(
    r"""\s*([A-Za-z_]\w*)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,'"]*)\s*(,|$)""",
    re.DOTALL,
)


def read_spec(spec: str) -> tuple[str, dict[str, object]]:
    """Split a spec into name and parameters, without evaluating anything."""
    problem = ParameterError(
        "A spec must look like name(key=value, ...), for example cmp(epsilon=10). Quote a value"
        " that contains a comma or a quote."
    )
    parts = _SPEC.fullmatch(spec) if isinstance(spec, str) and len(spec) <= _MAX_SPEC else None
    if parts is None:
        raise problem
    parameters: dict[str, object] = {}
    rest = (parts[2] or "").strip()
    while rest:
        match = _PARAMETER.match(rest)
        if match is None or match[1] in parameters or not match[2].strip():
            raise problem
        parameters[match[1]] = _value(match[2].strip(), problem)
        rest = rest[match.end() :].strip()
    return parts[1], parameters


def _value(text: str, problem: ParameterError) -> object:
    """Read one value of a spec: a number, true or false, or a string with or without quotes."""
    if text in ("true", "false"):
        return text == "true"
    try:
        value = cast(object, ast.literal_eval(text))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        if text[0] in "\"'":
            raise problem from None
        return text
    return value if isinstance(value, str | int | float | bool | type(None)) else text
