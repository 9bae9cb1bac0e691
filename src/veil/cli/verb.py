"""Derive a command from a verb: its arguments, options, help and completion.

The contract of verbs is in `veil.core.verb`.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click
from pydantic.fields import FieldInfo

from veil.cli.former import rewrite
from veil.cli.terminal import NEW, NEW_FILE, progress_bar
from veil.core.component import Component
from veil.core.errors import InputError, VeilError
from veil.core.verb import (
    PathKind,
    ReadsInput,
    Reply,
    SpecOf,
    SplitOnCommas,
    parameter_help,
    verb_help,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Verb = Callable[..., object]
Registries = Mapping[str, Any]  # by the name of the parameter whose specs they read
SHORT = {"mechanism": "-m", "attack": "-a", "attacker": "-a", "out": "-o", "k": "-k"}
_NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)", re.IGNORECASE)


class VerbCommand(click.Command):
    """Command of a verb.

    Parameters
    ----------
    registries
        Registry of the specs of each parameter, by its name.
    """

    def __init__(self, name: str, verb: Verb, registries: Registries) -> None:
        hints = get_type_hints(verb, include_extras=True)
        texts = parameter_help(verb)
        parameters = inspect.signature(verb).parameters.values()
        self._registries = dict(registries)
        self._verb, self._groups = verb, dict[str, tuple[type, object]]()
        self._split: set[str] = set()
        self._input: set[str] = set()
        self._parsed: set[str] = set()
        params: list[click.Parameter] = []
        for parameter in parameters:
            hint = hints.get(parameter.name, str)
            if parameter.name == "report":
                continue
            group = _dataclass_of(hint)
            if group is not None:
                self._groups[parameter.name] = group, parameter.default
                params += self._fields(group)
            else:
                text = texts.get(parameter.name, "")
                params.append(self._parameter(parameter, hint, text, registries))
        self._reports = "report" in hints
        if hints.get("return") is Reply:
            text = "Print the results as JSON."
            params.append(click.Option(["--json", "as_json"], is_flag=True, help=text))
        super().__init__(name, callback=self._run, params=params, help=verb_help(verb))

    def _fields(self, group: type) -> Iterator[click.Parameter]:
        """Yield one option for each field of a dataclass."""
        hints = get_type_hints(group, include_extras=True)
        texts = parameter_help(group)
        for entry in fields(group):
            default = entry.default
            if entry.default_factory is not MISSING:
                default = entry.default_factory()
            value = inspect.Parameter.empty if default is MISSING else default
            option = inspect.Parameter(entry.name, inspect.Parameter.KEYWORD_ONLY, default=value)
            yield self._parameter(option, hints[entry.name], texts.get(entry.name, ""), {})

    def _parameter(
        self, parameter: inspect.Parameter, hint: object, text: str, registries: Registries
    ) -> click.Parameter:
        name, notes = parameter.name, _annotations(hint)
        required = parameter.default is inspect.Parameter.empty
        kind, several, nargs = _shape(hint)
        if any(isinstance(note, SplitOnCommas) for note in notes):
            self._split.add(name)
        if any(isinstance(note, ReadsInput) for note in notes):
            self._input.add(name)
        registry = None if get_origin(kind) is Literal else _registry(name, notes, registries)
        if registry is not None:
            self._registries[name] = registry
        if registry is not None and isinstance(kind, type) and issubclass(kind, Component):
            self._parsed.add(name)
        param_type: Any = SpecType(registry) if registry is not None else _type(kind, notes)
        if name == "out" and isinstance(param_type, click.Path):
            param_type = NEW_FILE if not param_type.dir_okay else NEW
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY and name not in SHORT:
            return click.Argument(
                [name], type=param_type, required=required, nargs=-1 if several else 1
            )
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        if kind is bool:
            return click.Option([flag, name], is_flag=True, help=text)
        default = None if required or parameter.default in (None, ()) else parameter.default
        value: dict[str, Any] = {} if required else {"default": default}  # click takes a None
        return click.Option(
            [*filter(None, [SHORT.get(name)]), flag, name],
            type=param_type,
            required=required,
            multiple=several and nargs == 1,
            nargs=nargs,
            metavar="SPEC" if registry is not None else None,
            show_default=default not in (None, ""),
            help=text,
            **value,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, also in their former form and with negative numbers."""
        path = ctx.command_path.partition(" ")[2]
        args = rewrite(path, self, self._registries.get("mechanism"), args)
        counts = {opt: 0 if getattr(param, "is_flag", False) else param.nargs
                  for param in self.params for opt in param.opts}  # fmt: skip
        words: list[str] = []
        values = 0  # words that belong to the option before them
        for word in args:
            negative = not values and word not in counts and _NEGATIVE.match(word)
            words.append(f" {word}" if negative else word)
            values = values - 1 if values else counts.get(word, 0)
        return super().parse_args(ctx, words)

    def _run(self, as_json: bool = False, **values: Any) -> None:  # noqa: ANN401 - click's
        for name in self._input:
            values[name] = sys.stdin.read() if values[name] == "-" else values[name]
        for name in self._split & set(values):
            values[name] = split_names(values[name])
        for name in self._parsed:
            spec = values.get(name)
            values[name] = self._registries[name].parse(spec) if isinstance(spec, str) else spec
        for name, (group, default) in self._groups.items():
            members = {entry.name: values.pop(entry.name) for entry in fields(group)}
            empty = all(value in (None, (), False) for value in members.values())
            values[name] = default if empty and default is None else group(**members)
        paths = {name: value for name, value in values.items() if isinstance(value, Path)}
        keep_apart(paths, writes=self.name == "protect")
        with progress_bar() if self._reports else nullcontext() as report:
            result = self._verb(**values, **({"report": report} if self._reports else {}))
        from veil.cli.show import show  # tables and figures are slow to load, and help needs none

        show(result, as_json=as_json)


class SpecType(click.ParamType[str]):
    """Type of a component spec; completion offers names, then parameters."""

    name = "spec"

    def __init__(self, registry: Any) -> None:  # noqa: ANN401 - a registry
        self.registry = registry

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """Return names, or inside brackets the parameters of the component."""
        from click.shell_completion import CompletionItem  # only a shell that completes needs it

        del ctx, param
        name, bracket, inside = incomplete.partition("(")
        if not bracket:
            names = self.registry.names()
            return [CompletionItem(word) for word in names if word.startswith(incomplete)]
        try:
            keys = list(self.registry.get(name.strip()).model_fields)
        except VeilError:
            return []
        before, _, begun = inside.rpartition(",")
        head = f"{name}({before}," if before else f"{name}("
        used = {part.partition("=")[0].strip() for part in before.split(",")}
        begun = begun.strip()
        return [
            CompletionItem(f"{head}{' ' if before else ''}{key}=")
            for key in keys
            if key not in used and key.startswith(begun)
        ]


def sentence(text: str) -> str:
    """Return the text with a capital letter and a full stop.

    >>> sentence("file of the records")
    'File of the records.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def split_names(values: Sequence[str]) -> tuple[str, ...]:
    """Return the names in comma-separated values.

    >>> split_names(("sex,age", "race"))
    ('sex', 'age', 'race')
    """
    names = (name.strip() for value in values for name in value.split(","))
    return tuple(name for name in names if name)


def keep_apart(paths: Mapping[str, Path], *, writes: bool) -> None:
    """Raise an error if the output would overwrite an input.

    The output is `out`. A verb that writes but has no `out` may write to any of its paths.
    """
    places = {name: path.resolve() for name, path in paths.items()}
    out = places.pop("out", None)
    doubled = out is None and writes and len(set(places.values())) < len(places)
    if doubled or out in places.values():
        raise InputError("The output would overwrite the input. Choose another file.")


def _annotations(hint: object) -> list[object]:
    """Return the metadata of a type, including that of union members."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        return [*notes, *_annotations(inner)]
    if get_origin(hint) in (Union, UnionType, tuple):
        return [note for member in get_args(hint) for note in _annotations(member)]
    return []


def _bare(hint: object) -> Any:  # noqa: ANN401 - a type
    """Return a type without metadata and without None."""
    while True:
        if get_origin(hint) is Annotated:
            hint = get_args(hint)[0]
        elif get_origin(hint) in (Union, UnionType):
            members = [member for member in get_args(hint) if member is not NoneType]
            paths = [member for member in members if _bare(member) is Path]
            hint = (paths or members)[0]
        else:
            return hint


def _dataclass_of(hint: object) -> type | None:
    bare = _bare(hint)
    return bare if isinstance(bare, type) and is_dataclass(bare) else None


def _shape(hint: object) -> tuple[Any, bool, int]:
    """Return the type of one value, whether it is repeatable, and its number of arguments."""
    bare = _bare(hint)
    if get_origin(bare) is not tuple:
        return bare, False, 1
    members = get_args(bare)
    if len(members) == 2 and members[1] is Ellipsis:
        return _bare(members[0]), True, 1
    return _bare(members[0]), False, len(members)


def _registry(name: str, notes: Sequence[object], registries: Registries) -> Any:  # noqa: ANN401
    for note in notes:
        if isinstance(note, SpecOf):
            module, _, attribute = note.registry.partition(":")
            return getattr(import_module(module), attribute)
    return registries.get(name)


def _type(kind: Any, notes: Sequence[object]) -> Any:  # noqa: ANN401 - click's types
    if get_origin(kind) is Literal:
        return click.Choice([str(choice) for choice in get_args(kind)])
    if kind is Path:
        return _path_type(next((note for note in notes if isinstance(note, PathKind)), PathKind()))
    if kind in (int, float):
        low, above = _bound(notes, "ge", "gt")
        high, below = _bound(notes, "le", "lt")
        ranged = click.IntRange if kind is int else click.FloatRange
        unbounded = click.INT if kind is int else click.FLOAT
        bounded = low is not None or high is not None
        return ranged(low, high, min_open=above, max_open=below) if bounded else unbounded
    return click.STRING


def _path_type(place: PathKind) -> Any:  # noqa: ANN401 - click's types
    if place.new:
        return NEW_FILE if place.kind == "file" else NEW
    return click.Path(
        path_type=Path, dir_okay=place.kind != "file", file_okay=place.kind != "folder"
    )


def _bound(notes: Sequence[object], closed: str, opened: str) -> tuple[Any, bool]:
    """Return a limit of a field (or None), and whether the limit itself is excluded."""
    rules = [rule for note in notes if isinstance(note, FieldInfo) for rule in note.metadata]
    for key in (closed, opened):
        for rule in rules:
            if getattr(rule, key, None) is not None:
                return getattr(rule, key), key == opened
    return None, False
