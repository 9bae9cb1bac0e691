"""Commands in the form of the last release; remove this module in 0.4.

A command in its former form works and prints the current form. Values are never printed, because
they may be texts.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from veil.core.errors import ParameterError
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
        Current parameters of the former arguments, in order; the last one may end in "..." for
        any number of words.
    options
        Current parameter of each former flag.
    component
        The parameter whose spec was the first word, with the parameters of the component as flags
        or in brackets: ``geometric --epsilon 0.5``. "" for none.
    sweep
        The flag in `options` with a parameter and its values, ``k=20,10``: the mechanism is
        repeated with each value.
    """

    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    component: str = ""
    sweep: str = ""


PLANE = Former(options={"--attacker": "attack"})
FORMER: dict[str, Former] = {
    "dp attack": Former(("attack",), {"--secret": "secret"}),
    "dp audit": Former(("mechanism...",)),
    "dp law": Former(component="mechanism"),
    "dp mine": Former(("mechanism", "file")),
    "dp release": Former(component="mechanism"),
    "dp report": Former(component="mechanism"),
    "places attack": Former(options={"--original": "of", "--attacker": "attack",
                                     "--method": "mechanism"}),
    "places measure": Former(("of", "masked")),
    "places plot": Former(options={"--original": "of"}),
    "ratings attack": Former(("attack", "target"), {"--truth": "of"}),
    "ratings evaluate": Former(("model", "of", "test")),
    "ratings fit": Former(("mechanism", "train")),
    "ratings plane": Former(
        ("mechanism", "train", "test"), {"--attacker": "attack", "--sweep": "mechanism"},
        sweep="--sweep",
    ),
    "ratings protect": Former(("mechanism", "source")),
    "ratings recommend": Former(options={"--train": "of"}),
    "ratings serve": Former(("mechanism",)),
    "sensitive attack": Former(options={"--strategy": "mechanism", "--attacker": "attack"}),
    "sensitive evaluate": Former(options={"--strategy": "mechanism"}),
    "sensitive search": Former(options={"--strategy": "mechanism"}),
    "task sentiment": Former(options={"--attacker": "attack"}),
    "tables attack": Former(("of", "masked", "attack...")),
    "tables choose": Former(("table", "mechanism..."), {"--attacker": "attack"}),
    "tables count": Former(options={"--method": "mechanism"}),
    "tables loss": Former(("of", "masked")),
    "tables measure": Former(options={"--original": "of"}),
    "tables plane": Former(("table", "mechanism..."), {"--attacker": "attack"}),
    "tables protect": Former(("file", "mechanism...")),
}  # fmt: skip
"""By the path of the command below ``veil``."""


def rewrite(
    path: str, command: click.Command, registry: Registered, args: Sequence[str]
) -> list[str]:
    """Return the arguments in the current form; arguments in that form are unchanged."""
    former = FORMER.get(path, PLANE if path.endswith(" plane") else None)
    if former is None or not args or set(args) & {"--help", "-h"}:
        return list(args)
    words, options = _split(command, former, registry, args)
    current: list[str] = []
    changed = False
    flags = {flag for flag, _ in options}
    has_flag = former.component and bool(flags & set(_flags(command, former.component)))
    if former.component and not has_flag and words and _is_component(registry, words[0]):
        spec, options = _spec(registry, words[0], options)
        current += [_flag(command, former.component), spec]
        words, changed = words[1:], True
    names = [param.name for param in command.params if isinstance(param, click.Argument)]
    positional: dict[str, list[str]] = {}
    sweeps = [value for flag, values in options for value in values if flag == former.sweep]
    for flag, values in options:
        if flag == former.sweep:
            continue
        renamed = former.options.get(flag)
        changed = changed or renamed is not None
        if renamed in names:
            positional.setdefault(str(renamed), []).extend(values)
        else:
            current += [flag if renamed is None else _flag(command, renamed), *values]
    if positional or (former.arguments and _too_many(command, words)):
        for name, value in _pair_with_names(former.arguments, words):
            positional.setdefault(name, []).append(value)
        words = [value for name in names for value in positional.pop(str(name), [])]
        for name, values in positional.items():
            current += [part for value in values for part in (_flag(command, name), value)]
        changed = True
    for sweep in sweeps:
        current, changed = list(_swept(current, sweep)), True
    if not changed:
        return list(args)
    click.echo(
        f"veil: this form will be removed in 0.4. Use: veil {path} {_form(command)}", err=True
    )
    return [*current, *(["--"] if any(word.startswith("-") for word in words) else []), *words]


class FormerCommand(click.Command):
    """Hand-written command that also accepts its former form."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, also in their former form."""
        path = ctx.command_path.partition(" ")[2]
        return super().parse_args(ctx, rewrite(path, self, None, args))


def say_renamed(former: str, current: str) -> None:
    """Print the current name of a renamed command."""
    click.echo(f"veil: '{former}' will be removed in 0.4. Use: veil {current}", err=True)


def _split(
    command: click.Command,
    former: Former,
    registry: Registered,
    args: Sequence[str],
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the positional words of a command line, and the options with their values."""
    options_by_flag = {opt: param for param in command.params for opt in
             (*param.opts, *param.secondary_opts) if isinstance(param, click.Option)}  # fmt: skip
    words: list[str] = []
    options: list[tuple[str, list[str]]] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if word == "--":
            return [*words, *rest], options
        if (
            flag in options_by_flag
            or flag in (*former.options, former.sweep)
            or (former.component and word[:2] == "--")
        ):
            renamed = former.options.get(flag)
            current = flag if renamed is None else max(_flags(command, renamed), key=len)
            param = options_by_flag.get(current)
            count = 1
            if isinstance(param, click.Option):
                count = 0 if param.is_flag else param.nargs
            elif former.component and words and _is_component(registry, words[0]):
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
    """Return a component and its flags as one spec, and the remaining options."""
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
    """Return the value of a flag as a spec writes it."""
    if not values:
        return "true"
    (value,) = values
    try:
        float(value)
    except ValueError:
        return value if value in ("true", "false") else repr(value)
    return value


def _swept(options: Sequence[str], sweep: str) -> Iterator[str]:
    """Repeat each mechanism for each value of a parameter.

    >>> list(_swept(["-m", "kprofiles(factors=4)", "--seed", "1"], "k=20,10"))
    ['-m', 'kprofiles(factors=4, k=20)', '-m', 'kprofiles(factors=4, k=10)', '--seed', '1']
    """
    key, _, values = sweep.partition("=")
    try:
        numbers = [float(value) for value in values.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)) or not key.strip().isidentifier():
        raise ParameterError("--sweep must be a parameter and its values, such as k=20,10,5,2.")
    words = iter(options)
    for word in words:
        if word not in ("-m", "--mechanism"):
            yield word
            continue
        name, parameters = read_spec(next(words))
        fixed = "".join(f"{other}={value!r}, " for other, value in parameters.items())
        for number in numbers:
            yield from ("-m", f"{name}({fixed}{key.strip()}={number:g})")


def _too_many(command: click.Command, words: Sequence[str]) -> bool:
    """Return whether there are more words than the command now accepts."""
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    return all(param.nargs != -1 for param in arguments) and len(words) > len(arguments)


def _pair_with_names(names: Sequence[str], words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each word with the name of its former argument."""
    for i, word in enumerate(words):
        name = names[min(i, len(names) - 1)]
        if i >= len(names) and not name.endswith("..."):
            raise click.UsageError("too many arguments")
        yield name.removesuffix("..."), word


def _flag(command: click.Command, name: str) -> str:
    """Return the flag of a parameter."""
    return max(_flags(command, name), key=len)


def _flags(command: click.Command, name: str) -> list[str]:
    """Return the flags of a parameter; an argument has only its name."""
    return next(param.opts for param in command.params if param.name == name)


def _form(command: click.Command) -> str:
    """Return the current form, with placeholders for values."""
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    parts = [param.human_readable_name.upper() for param in arguments]
    for param in command.params:
        if isinstance(param, click.Option) and param.name in ("mechanism", "attack", "of", "out"):
            word = {"of": "ORIGINAL", "out": "OUT"}.get(str(param.name), "SPEC")
            parts.append(f"{param.opts[0]} {word}")
    return " ".join(parts)
