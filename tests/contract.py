"""The public contract as data: names, parameters, registries, commands and entry points.

``python -m tests.contract`` adds what is new to ``tests/golden/contract.json`` and removes none.
A name that goes away needs an alias, or a line deleted by hand and a word in the changelog.
"""

import enum
import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import veil
from veil.core.component import Component
from veil.core.registry import Registry

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "golden" / "contract.json"
PACKAGES = (
    "veil veil.cover veil.dp veil.dpia veil.encoders veil.places veil.pyterrier veil.ratings"
    " veil.search veil.sensitive veil.studies veil.tables veil.task veil.testing"
).split()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
HELPERS = {"ModuleType", "NamedTuple", "Registry", "TYPE_CHECKING", "facade", "import_module"}

Contract = dict[str, Any]


def current() -> Contract:
    """Return the contract of the code as it is."""
    return {
        "names": dict(names()),
        "registries": dict(registries()),
        "imports": documented_imports(),
        "commands": dict(commands()),
        "forms": forms(),
        "groups": entry_point_groups(),
    }


def names() -> Iterator[tuple[str, Contract]]:
    """Yield every public name with its parameters and, for a class, its attributes."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in public_names(module):
            yield f"{package}.{name}", description(getattr(module, name))


def public_names(module: ModuleType) -> list[str]:
    """Return what a package exports: `__all__`, or all of `dir` but modules and typing helpers."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name in dir(module)
        if not name.startswith("_")
        and name not in HELPERS
        and (type(module).__name__ == "Facade" or type(getattr(module, name)) is not ModuleType)
    )


def description(value: object) -> Contract:
    """Describe a public object: its kind, its parameters, its attributes."""
    if isinstance(value, ModuleType):
        return {"kind": "module"}
    if isinstance(value, type):
        return {"kind": "class", "parameters": parameters(value), "attributes": attributes(value)}
    if callable(value):
        return {"kind": "function", "parameters": parameters(value)}
    return {"kind": "value", "type": type(value).__name__}


def parameters(value: Any) -> list[str]:  # noqa: ANN401 - any callable
    """Return the names of parameters, in order; those of a component are its fields."""
    if isinstance(value, type) and issubclass(value, Component):
        return list(value.model_fields)
    if isinstance(value, type) and issubclass(value, enum.Enum | BaseException):
        return []
    try:
        return [name for name in inspect.signature(value).parameters if name != "self"]
    except (TypeError, ValueError):
        return []


def attributes(cls: type) -> list[str]:
    """Return the public attributes that our classes define."""
    found: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.startswith("veil."):
            found |= {*vars(base), *inspect.get_annotations(base)}
    return sorted(name for name in found if not name.startswith("_") and name != "model_config")


def registries() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield each public registry with its entries and their parameters."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in public_names(module):
            registry = getattr(module, name)
            if isinstance(registry, Registry):
                yield (
                    f"{package}.{name}",
                    {each: list(registry.get(each).model_fields) for each in registry.builtin},
                )


def documented_imports() -> list[str]:
    """Return every ``module:name`` that a code block of the docs imports."""
    found = set()
    for page in PAGES:
        for module, what in re.findall(
            r"from (veil(?:\.\w+)*) import ([\w, ]+)", page.read_text()
        ):
            found |= {f"{module}:{name.split(' as ')[0].strip()}" for name in what.split(",")}
    return sorted(found)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield each command with its flags and arguments."""
    from veil.cli import veil as program
    from veil.cli.domain import DomainCommands
    from veil.cli.former import FORMER, PLANE, RENAMED

    def walk(command: click.Command, path: str, parent: click.Context) -> Iterator[Any]:
        context = click.Context(command, info_name=path.split(" ")[-1], parent=parent)
        flags = [opt for param in command.params for opt in [*param.opts, *param.secondary_opts]]
        former = FORMER.get(path, PLANE if path.endswith(" plane") else None)
        yield path, sorted({*flags, *(former.options if former else ())})
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                if child is not None:
                    yield from walk(child, f"{path} {name}".strip(), context)
            renamed = {"": {"attackers": "attacks"}}.get(path, {})
            if type(command) is DomainCommands:
                renamed = RENAMED
            for name, current in renamed.items():
                child = command.get_command(context, current)
                if child is not None:
                    yield from walk(child, f"{path} {name}".strip(), context)

    yield from walk(program, "", click.Context(program))


def forms() -> list[str]:
    """Return the path of every command that the docs run."""
    return sorted({" ".join(path) for path in _documented_commands()})


def _documented_commands() -> Iterator[list[str]]:
    known = {path for path, _ in commands()}
    for page in PAGES:
        for line in re.findall(r"^(?:\$ )?veil ([a-z].*)$", page.read_text(), re.MULTILINE):
            try:
                words = shlex.split(line.rstrip("\\"), comments=True)
            except ValueError:  # a quotation that goes on in the next line
                words = line.split()
            path: list[str] = []
            for word in words:
                if " ".join([*path, word]) not in known:
                    break
                path.append(word)
            if path:
                yield path


def entry_point_groups() -> list[str]:
    """Return the groups in which other packages announce their parts."""
    groups = set()
    for info in pkgutil.walk_packages(veil.__path__, "veil."):
        with suppress(veil.MissingExtraError):
            members = vars(importlib.import_module(info.name))
            registries = [value for value in members.values() if isinstance(value, Registry)]
            groups |= {group for found in registries for group in (found.group, *found.former)}
            groups |= {value for name, value in members.items() if name == "GROUP"}
    return sorted(groups)


def _merge(old: Any, new: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(old, dict) and isinstance(new, dict):
        return {
            key: _merge(old.get(key, new.get(key)), new.get(key, old.get(key)))
            for key in sorted({*old, *new})
        }
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *(item for item in new if item not in old)]
    return old if old is not None else new


if __name__ == "__main__":
    frozen = json.loads(FILE.read_text()) if FILE.exists() else {}
    FILE.write_text(json.dumps(_merge(frozen, current()), indent=1) + "\n")
