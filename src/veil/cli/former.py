"""How commands were written in the last release; remove this module in 0.4.

A command in its former form works, and shows the form of today. Values are never repeated on the
screen: they may be texts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from veil.core.registry import read_spec

Registered = Any  # a registry, what looks like one, or None
RENAMED = {"attackers": "attacks", "methods": "mechanisms", "oracles": "mechanisms"}
"""Former names of commands that all domains have."""


@dataclass(frozen=True)
class Former:
    """The former form of a command.

    Attributes
    ----------
    arguments
        Names of the former arguments in order, as parameters are called today; the last one may
        end in "..." for any number of words.
    options
        Former flags, and the parameter that each gives today.
    component
        The parameter whose spec was the first word, with the parameters of the component as flags
        or in brackets: ``geometric --epsilon 0.5``. "" for none.
    """

    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    component: str = ""


PLANE = Former(options={"--attacker": "attack"})
FORMER: dict[str, Former] = {
    "places attack": Former(options={"--original": "of", "--attacker": "attack",
                                     "--method": "mechanism"}),
    "places measure": Former(("of", "masked")),
    "places plot": Former(options={"--original": "of"}),
    "ratings plane": Former(("mechanism", "train", "test"), {"--attacker": "attack"}),
    "tables plane": Former(("table", "mechanism..."), {"--attacker": "attack"}),
    "tables protect": Former(("file", "mechanism...")),
}  # fmt: skip
"""By the path of the command below ``veil``."""


def rewrite(
    path: str, command: click.Command, registry: Registered, args: Sequence[str]
) -> list[str]:
    """Return the arguments of a command in the form of today; others are returned as they are."""
    former = FORMER.get(path, PLANE if path.endswith(" plane") else None)
    if former is None or not args or set(args) & {"--help", "-h"}:
        return list(args)
    words, options = _split(command, former, registry, args)
    current: list[str] = []
    changed = False
    if former.component and words and _is_component(registry, words[0]):
        spec, options = _spec(registry, words[0], options)
        current += [_flag(command, former.component), spec]
        words, changed = words[1:], True
    for flag, values in options:
        renamed = former.options.get(flag)
        changed = changed or renamed is not None
        current += [flag if renamed is None else _flag(command, renamed), *values]
    if former.arguments and _too_many(command, words):
        positional: dict[str, list[str]] = {}
        for name, value in _named(former.arguments, words):
            positional.setdefault(name, []).append(value)
        names = [param.name for param in command.params if isinstance(param, click.Argument)]
        words = [value for name in names for value in positional.pop(str(name), [])]
        for name, values in positional.items():
            current += [part for value in values for part in (_flag(command, name), value)]
        changed = True
    if not changed:
        return list(args)
    click.echo(f"veil: this form goes away in 0.4. Write: veil {path} {_form(command)}", err=True)
    return [*current, *(["--"] if any(word.startswith("-") for word in words) else []), *words]


def say_renamed(former: str, current: str) -> None:
    """Say that a command has another name today."""
    click.echo(f"veil: '{former}' goes away in 0.4. Write: veil {current}", err=True)


def _split(
    command: click.Command,
    former: Former,
    registry: Registered,
    args: Sequence[str],
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the words of a command line that are no options, and the options with values."""
    known = {opt: param for param in command.params for opt in
             (*param.opts, *param.secondary_opts) if isinstance(param, click.Option)}  # fmt: skip
    words: list[str] = []
    options: list[tuple[str, list[str]]] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if word == "--":
            return [*words, *rest], options
        if flag in known or flag in former.options or (former.component and word[:2] == "--"):
            renamed = former.options.get(flag)
            param = known.get(flag if renamed is None else _flag(command, renamed))
            count = 1
            if isinstance(param, click.Option):
                count = 0 if param.is_flag else param.nargs
            elif words and _is_component(registry, words[0]):
                count = 0 if _is_flag(registry, words[0], flag) else 1
            values = [value] if equals else [rest.pop(0) for _ in range(count) if rest]
            options.append((flag, values))
        else:
            words.append(word)
    return words, options


def _is_component(registry: Registered, word: str) -> bool:
    return registry is not None and word.partition("(")[0].strip() in registry.names()


def _is_flag(registry: Registered, word: str, flag: str) -> bool:
    fields = registry.get(word.partition("(")[0].strip()).model_fields
    key = flag.removeprefix("--").removeprefix("no-").replace("-", "_")
    return key in fields and fields[key].annotation is bool


def _spec(
    registry: Registered,
    word: str,
    options: Sequence[tuple[str, list[str]]],
) -> tuple[str, list[tuple[str, list[str]]]]:
    """Return a component and its flags as one spec, and the other options."""
    name, parameters = read_spec(word)
    fields = registry.get(name).model_fields
    parts = [f"{key}={value!r}" for key, value in parameters.items()]
    others: list[tuple[str, list[str]]] = []
    for flag, values in options:
        key = flag.removeprefix("--").replace("-", "_")
        if key in fields:
            parts.append(f"{key}={_literal(values)}")
        elif key.removeprefix("no_") in fields and not values:
            parts.append(f"{key.removeprefix('no_')}=false")
        else:
            others.append((flag, values))
    return f"{name}({', '.join(parts)})" if parts else name, others


def _literal(values: Sequence[str]) -> str:
    """Write the value of a flag as a spec has it."""
    if not values:
        return "true"
    (value,) = values
    try:
        float(value)
    except ValueError:
        return value if value in ("true", "false") else repr(value)
    return value


def _too_many(command: click.Command, words: Sequence[str]) -> bool:
    """Tell whether there are more words than the command takes today."""
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    return all(param.nargs != -1 for param in arguments) and len(words) > len(arguments)


def _named(names: Sequence[str], words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name of the former argument that each word gives."""
    for i, word in enumerate(words):
        name = names[min(i, len(names) - 1)]
        if i >= len(names) and not name.endswith("..."):
            raise click.UsageError("too many arguments")
        yield name.removesuffix("..."), word


def _flag(command: click.Command, name: str) -> str:
    """Return the flag of a parameter."""
    for param in command.params:
        if param.name == name and isinstance(param, click.Option):
            return max(param.opts, key=len)
    raise KeyError(name)


def _form(command: click.Command) -> str:
    """Return the form of today, with placeholders for values."""
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    parts = [param.human_readable_name.upper() for param in arguments]
    for param in command.params:
        if isinstance(param, click.Option) and param.name in ("mechanism", "attack", "of", "out"):
            word = {"of": "ORIGINAL", "out": "OUT"}.get(str(param.name), "SPEC")
            parts.append(f"{param.opts[0]} {word}")
    return " ".join(parts)
