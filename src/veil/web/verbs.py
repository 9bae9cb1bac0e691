"""``POST /api/<domain>/<verb>``: the verbs of all domains, from the signatures of their functions.

A program sends the contents of files and gets the contents of files back: no request can name a
file, a folder or an address of the server. A text in a request that could be one is rejected, and
so is a text parameter of a component, unless it is a column of a file that came with the request.
The files exist while the verb runs, in a folder that only the owner can read. The draws are fresh:
a seed is not accepted.
"""

import base64
import binascii
import csv
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import click
import numpy as np
from pydantic import Field, create_model

from veil.core.component import Component
from veil.core.errors import InputError, UnknownNameError, VeilError, with_message
from veil.core.outcome import Outcome
from veil.core.registry import Registry, read_spec
from veil.core.types import Release
from veil.core.verb import (
    MayNameFile,
    PathKind,
    Reply,
    Sheet,
    SpecOf,
    SplitOnCommas,
    is_local,
    parameter_help,
    verb_help,
)
from veil.data.files import scratch_folder
from veil.measures.risk import ATTACKERS, chance, risk
from veil.proxy.answers import Answer, Text
from veil.studies.domains import domain, domains
from veil.web.asks import Ask
from veil.web.messages import StatusError
from veil.web.operation import Operation
from veil.web.service import Service

MAX_OUTPUT = 16 * 2**20  # bytes of all files of an answer
_WITHHELD = ("dask", "report", "seed", "workers")  # parameters that no request sets
_NAME = re.compile(r"[\w][\w.-]{0,99}")
_ADDRESS = re.compile(r"[/\\~]|://|^\.\.?$|[\x00-\x1f]")  # what a path or an address has


class FileAsk(Ask):
    """A file: its name, whose ending tells the format, and its content."""

    verb: ClassVar[str] = "file"

    name: str = Field(description="name with its ending, for example town.csv")
    text: str | None = Field(default=None, description="content of a text file")
    base64: str | None = Field(default=None, description="content of any other file")

    def write(self, folder: Path) -> Path:
        """Write the file into a folder."""
        if not _NAME.fullmatch(self.name):
            raise StatusError(422, "A file must have a simple name, without folders.")
        if (self.text is None) == (self.base64 is None):
            raise StatusError(422, "A file must have its content as either text or base64.")
        path = folder / self.name
        if path.exists():
            raise StatusError(422, "The files of a request must have different names.")
        try:
            data = (
                self.text.encode("utf-8")
                if self.text is not None
                else base64.b64decode(self.base64 or "", validate=True)
            )
        except (binascii.Error, UnicodeEncodeError):
            raise StatusError(422, "The content of a file cannot be decoded.") from None
        path.write_bytes(data)
        return path


class FileAnswer(Answer):
    """A file that a verb wrote."""

    name: str
    base64: str = Field(description="its content")


class VerbAnswer(Answer):
    """What a verb reports."""

    lines: list[Text] = Field(description="results to read")
    notes: list[Text] = Field(description="remarks, such as costs")
    cautions: list[Text] = Field(description="limits that a reader must not miss")
    data: dict[str, Any] = Field(description="results as values")
    holds: bool = Field(description="false if a claim does not hold")
    files: list[FileAnswer]


class VerbAsk(Ask):
    """The parameters of a verb."""

    registries: ClassVar[Mapping[str, Any]] = {}
    lists: ClassVar[frozenset[str]] = frozenset()  # parameters that only name columns

    def check(self) -> None:
        """Reject texts that could name something of the server."""
        columns = set(_columns(self))
        for name, value in self:
            texts = value if isinstance(value, list | tuple) else [value]
            registry = self.registries.get(name)
            for text in texts:
                if isinstance(text, str) and registry is not None:
                    _check_spec(name, text, registry, columns)
                elif isinstance(text, str) and not (name in self.lists and text in columns):
                    _check_text(name, text)


def _check_text(name: str, text: str) -> None:
    if _ADDRESS.search(text) or _exists(text):
        raise StatusError(
            422, f"The '{name}' parameter must not name a file or an address of the server."
        )


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or no name at all
        return False


def _check_spec(name: str, spec: str, registry: Any, columns: set[str]) -> None:  # noqa: ANN401
    """Reject text parameters of a component, but for choices and columns of the files sent."""
    head, parameters = read_spec(spec)
    cls: type[Component] = registry.get(head)
    for key, value in parameters.items():
        field = cls.model_fields.get(key)
        is_free = field is not None and _has_free_text(field.annotation)
        if not (is_free and isinstance(value, str)):
            continue
        _check_text(key, value)
        if value not in columns:
            raise StatusError(
                422,
                f"The '{key}' parameter of {cls.name} in '{name}' must be a column of a file that"
                " the request sends.",
            )


def _has_free_text(annotation: object) -> bool:
    """Tell whether a type takes any text, and not only numbers and choices."""
    if annotation in (str, Any, Path):
        return True
    return any(map(_has_free_text, get_args(annotation))) if _is_nested(annotation) else False


def _is_nested(annotation: object) -> bool:
    return get_origin(annotation) in (Union, UnionType, tuple, list, Annotated)


def _columns(ask: VerbAsk) -> Iterator[str]:
    """Yield the cells of the first line of each text file in a request."""
    for _, value in ask:
        if isinstance(value, FileAsk) and value.text:
            head = value.text.partition("\n")[0].strip()
            for separator in (",", ";", "\t"):
                yield from (cell.strip() for cell in next(csv.reader([head], delimiter=separator)))


@cache
def operation_of(domain_name: str, verb_name: str) -> Operation:
    """Return the operation of a verb; raises UnknownNameError if there is none."""
    experiment = domain(domain_name)
    place = dict(experiment.verbs).get(verb_name)
    verb = _load(place) if place is not None else None
    if verb is None:
        raise UnknownNameError("There is nothing at this address.")
    registries = {"mechanism": experiment.mechanisms, "attack": experiment.attackers}
    ask = _ask(domain_name, verb_name, verb, registries)
    return Operation(
        method="POST",
        path=f"/api/{domain_name}/{verb_name}",
        summary=verb_help(verb).partition("\n\n")[0].replace("\n", " "),
        run=partial(_run, verb),
        ask=ask,
        answer=VerbAnswer,
    )


def verb_operations() -> Iterator[Operation]:
    """Yield the operations of all verbs of all domains."""
    for name in domains():
        for verb in domain(name).verbs:
            try:
                yield operation_of(name, verb)
            except UnknownNameError:
                continue


def _load(place: str) -> Callable[..., object] | None:
    """Return a typed verb, or None if it is only for the command line."""
    module, _, attribute = place.partition(":")
    try:
        verb = getattr(import_module(module), attribute)
    except VeilError:
        return None
    return None if isinstance(verb, click.Command) or is_local(verb) else verb


def _ask(
    domain_name: str,
    verb_name: str,
    verb: Callable[..., object],
    registries: Mapping[str, Any],
) -> type[VerbAsk]:
    """Build the body of a verb from its signature."""
    own: dict[str, Any] = {}
    specs: dict[str, Any] = {}
    lists: set[str] = set()
    for name, hint, default, text in _parameters(verb):
        registry = _registry(name, hint, registries)
        if registry is not None:
            specs[name] = registry
        if any(isinstance(note, SplitOnCommas) for note in _notes(hint)):
            lists.add(name)
        kind = _json_type(hint)
        info = Field(default=... if default is inspect.Parameter.empty else default,
                     description=text or name)  # fmt: skip
        own[name] = (kind, info)
    title = f"{domain_name.title()}{verb_name.title()}Ask"
    with warnings.catch_warnings():  # a parameter may be called as a method of pydantic is
        warnings.simplefilter("ignore", UserWarning)
        model = create_model(title, __base__=VerbAsk, __doc__=verb_help(verb), **own)
    model.verb = verb_name
    model.registries, model.lists = specs, frozenset(lists)
    return model


def _parameters(verb: Callable[..., object]) -> Iterator[tuple[str, object, object, str]]:
    """Yield the name, type, default and help of each parameter that a request may set."""
    hints, texts = get_type_hints(verb, include_extras=True), parameter_help(verb)
    for parameter in inspect.signature(verb).parameters.values():
        hint = hints.get(parameter.name, str)
        group = _group(hint)
        if group is not None:
            group_hints = get_type_hints(group, include_extras=True)
            for entry in fields(group):
                default = (
                    entry.default if entry.default is not MISSING else inspect.Parameter.empty
                )
                if entry.name not in _WITHHELD:
                    help_text = parameter_help(group).get(entry.name, "")
                    yield entry.name, group_hints[entry.name], default, help_text
        elif parameter.name not in _WITHHELD:
            yield parameter.name, hint, parameter.default, texts.get(parameter.name, "")


def _registry(name: str, hint: object, registries: Mapping[str, Any]) -> Any:  # noqa: ANN401
    for note in _notes(hint):
        if isinstance(note, SpecOf):
            module, _, attribute = note.registry.partition(":")
            registry: Registry[Any] = getattr(import_module(module), attribute)
            return registry
    return registries.get(name)


def _notes(hint: object) -> list[object]:
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        return [*notes, *_notes(inner)]
    if get_origin(hint) in (Union, UnionType, tuple):
        return [note for member in get_args(hint) for note in _notes(member)]
    return []


def _bare(hint: object) -> Any:  # noqa: ANN401 - a type
    """Return a type without its path and column notes."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _group(hint: object) -> Any:  # noqa: ANN401 - a dataclass or None
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [_bare(member) for member in members if _bare(member) is not NoneType]
    return kinds[0] if kinds and isinstance(kinds[0], type) and is_dataclass(kinds[0]) else None


def _json_type(hint: object) -> Any:  # noqa: ANN401 - a type
    """Return the type of a parameter in a request: files by content, outputs by name."""
    if get_origin(hint) in (Union, UnionType):
        members = tuple(_json_type(member) for member in get_args(hint))
        return Union[members]  # noqa: UP007 - of a tuple
    path = next((note for note in _notes(hint) if isinstance(note, PathKind)), None)
    bare = _bare(hint)
    if bare is str and _may_name_file(hint):
        return FileAsk | str
    if bare is Path:
        return str if path is not None and path.new else FileAsk
    if get_origin(bare) is tuple:
        members = get_args(bare)
        inner: Any = list[_json_type(members[0])]  # type: ignore[misc]
        count = len(members)
        return (
            inner if Ellipsis in members
            else Annotated[inner, Field(min_length=count, max_length=count)]
        )  # fmt: skip
    return bare if path is not None else hint


def _run(verb: Callable[..., object], service: Service, ask: VerbAsk) -> VerbAnswer:
    """Run a verb in a folder of its own."""
    del service
    with scratch_folder() as folder:
        values = {name: _value(value, folder) for name, value in ask}
        for name, hint, _, _ in _parameters(verb):
            if values.get(name) is not None and _is_output(hint):
                values[name] = _output(name, str(values[name]), folder)
            elif isinstance(values.get(name), Path) and _may_name_file(hint):
                values[name] = str(values[name])
        written = set(folder.rglob("*"))
        place = f"{folder}{os.sep}"  # no text shows where the server keeps files
        try:
            answer = _answer(verb(**_grouped(verb, values)))
        except VeilError as error:
            raise with_message(error, str(error).replace(place, "")) from None
        outputs = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        files = _files([path for path in outputs if path not in written], folder)
        texts = {
            name: [text.replace(place, "") for text in getattr(answer, name)]
            for name in ("lines", "notes", "cautions")
        }
        return answer.model_copy(update={**texts, "files": list(files)})


def _value(value: object, folder: Path) -> object:
    if isinstance(value, FileAsk):
        return value.write(folder)
    if isinstance(value, list):
        return tuple(_value(member, folder) for member in value)
    return value


def _is_output(hint: object) -> bool:
    return any(isinstance(note, PathKind) and note.new for note in _notes(hint))


def _may_name_file(hint: object) -> bool:
    return any(isinstance(note, MayNameFile) for note in _notes(hint))


def _output(parameter: str, name: str, folder: Path) -> Path:
    if not _NAME.fullmatch(name) or (folder / name).exists():
        raise StatusError(
            422, f"The '{parameter}' parameter must be the simple name of a new file."
        )
    return folder / name


def _grouped(verb: Callable[..., object], values: dict[str, object]) -> dict[str, object]:
    """Put the parameters of a dataclass together."""
    hints = get_type_hints(verb, include_extras=True)
    result: dict[str, object] = {}
    for parameter in inspect.signature(verb).parameters.values():
        group = _group(hints.get(parameter.name, str))
        if group is None:
            if parameter.name in values:
                result[parameter.name] = values[parameter.name]
            continue
        parts = {entry.name: values[entry.name] for entry in fields(group) if entry.name in values}
        empty = all(value in (None, (), False) for value in parts.values())
        if not (empty and parameter.default is None):
            result[parameter.name] = group(**parts)
    return result


def _files(paths: list[Path], folder: Path) -> Iterator[FileAnswer]:
    remaining = MAX_OUTPUT
    for path in paths:
        remaining -= path.stat().st_size
        if remaining < 0:
            raise InputError("The result is too large for an answer. Use the command line.")
        name = path.relative_to(folder).as_posix()
        yield FileAnswer(name=name, base64=base64.b64encode(path.read_bytes()).decode())


def _answer(result: object) -> VerbAnswer:
    """Return what a verb returned as an answer, without files."""
    reply = result if isinstance(result, Reply) else Reply(**_content(result))
    return VerbAnswer(
        lines=[line for entry in reply.lines for line in _lines(entry)],
        notes=list(reply.notes),
        cautions=list(reply.cautions),
        data=dict(reply.data),
        holds=reply.code == 0,
        files=[],
    )


def _lines(entry: str | Sheet) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        yield "\t".join(entry.columns)
        yield from ("\t".join(row) for row in entry.rows)


def _content(result: object) -> dict[str, Any]:
    if isinstance(result, Release):
        caveat = [result.cost.caveat] if result.cost.caveat else []
        return {
            "notes": [f"{result.mechanism}: {result.cost}."],
            "cautions": caveat,
            "data": {"mechanism": result.mechanism, "epsilon": _finite(result.cost.epsilon)},
        }
    if isinstance(result, Outcome):
        return {"data": dict(_risks(result))}
    if isinstance(result, Mapping):
        means = {name: _mean(values) for name, values in result.items()}
        return {"data": means}
    return {"lines": [result]} if isinstance(result, str) else {}


def _risks(outcome: Outcome) -> Iterator[tuple[str, dict[str, float]]]:
    for attacker in ATTACKERS:
        success = risk(
            outcome.ranks, attacker, candidates=outcome.candidates,
            groups=outcome.subjects, ties=outcome.ties,
        )  # fmt: skip
        blind = chance(outcome.candidates, attacker, ranks=outcome.ranks, prior=outcome.prior)
        yield attacker, {
            "risk": float(success), "low": success.low, "high": success.high, "chance": blind
        }  # fmt: skip


def _mean(values: object) -> float | None:
    numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.mean()) if len(numbers) else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
