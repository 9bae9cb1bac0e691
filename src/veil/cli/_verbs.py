"""Make a command of a function: its arguments are arguments, its keywords are options.

What it returns is shown: a release by its cost, the outcome of an attack by its risks, figures by
their means with intervals.
"""

import ast
import inspect
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import stderr, stdout
from veil.core.errors import InputError, ParameterError
from veil.core.outcome import Outcome
from veil.core.types import Release
from veil.measures.estimate import Estimate, bootstrap
from veil.measures.risk import ATTACKERS, chance, risk
from veil.studies.domains import Domain

SPECS = {"mechanism": "-m", "attacker": "-a"}  # arguments that are given as specs
SHORT = {**SPECS, "out": "-o"}
_TYPES: dict[object, click.ParamType[Any]] = {
    Path: click.Path(path_type=Path),
    int: click.INT,
    float: click.FLOAT,
    str: click.STRING,
}


def command_of(verb: str, function: Callable[..., object], domain: Domain) -> click.Command:
    """Return the command of a function."""
    hints = get_type_hints(function)
    given = inspect.signature(function).parameters
    known = {"mechanism": domain.mechanisms, "attacker": domain.attackers}

    def run(**values: Any) -> None:  # noqa: ANN401 - checked by click
        for name in SPECS:
            methods = known[name]
            if isinstance(values.get(name), str) and methods is not None:
                values[name] = methods.parse(values[name])
        if verb == "protect":
            _keep_apart({name: one for name, one in values.items() if isinstance(one, Path)})
        show(function(**values))

    params = [_parameter(one, hints.get(name, str)) for name, one in given.items()]
    return click.Command(verb, callback=run, params=params, help=inspect.getdoc(function) or "")


def _keep_apart(paths: dict[str, Path]) -> None:
    """Refuse to write over what is read; which one is written only the name `out` tells."""
    places = {name: path.resolve() for name, path in paths.items()}
    out = places.pop("out", None)
    if out in places.values() or (out is None and len(set(places.values())) < len(places)):
        raise InputError("The output would replace the input; name another file.")


def _parameter(one: inspect.Parameter, hint: object) -> click.Parameter:
    kinds = get_args(hint) if isinstance(hint, types.UnionType) or _is_union(hint) else (hint,)
    kind = next((each for each in kinds if each is not type(None)), str)
    several = get_origin(kind) is tuple
    kind = get_args(kind)[0] if several else kind
    required = one.default is inspect.Parameter.empty
    if one.name not in SPECS and one.kind is not inspect.Parameter.KEYWORD_ONLY:
        return click.Argument([one.name], type=_TYPES.get(kind, click.STRING), required=required)
    flag = f"--{one.name.replace('_', '-')}"
    if kind is bool:
        return click.Option([flag, one.name], is_flag=True)
    default: dict[str, Any] = {} if required else {"default": one.default}
    return click.Option(
        [*filter(None, [SHORT.get(one.name)]), flag, one.name],
        type=_TYPES.get(kind, click.STRING),
        required=required,
        multiple=several,
        metavar="SPEC" if one.name in SPECS else None,
        show_default=default.get("default") not in (None, ()),
        **default,
    )


def _is_union(hint: object) -> bool:
    return get_origin(hint) is Union


def show(found: object) -> None:
    """Print what a verb returned."""
    if isinstance(found, Outcome):
        _show_outcome(found)
    elif isinstance(found, Mapping):
        _show_figures(found)
    elif isinstance(found, Release):
        _show_release(found)
    elif isinstance(found, str):
        click.echo(found)
    elif found is not None:  # it may hold an original
        raise ParameterError(
            "A verb returns a release, the outcome of an attack, figures by name, a text or"
            f" nothing; {type(found).__name__} is not shown."
        )


def _show_release(found: Release) -> None:
    notes, cost = stderr(), found.cost
    notes.print(f"{escape(found.mechanism)}: {escape(str(cost))}.")
    if cost.caveat:
        notes.print(f"[yellow]{escape(cost.caveat)}[/yellow]")
    if found.seeded:
        notes.print("[yellow]Seeded: the draws can be repeated. NOT PRIVATE.[/yellow]")


def _show_outcome(found: Outcome) -> None:
    table = Table("measure", "risk", "95 % interval", "blind guess")
    for who in ATTACKERS:
        made = risk(
            found.ranks,
            who,
            candidates=found.candidates,
            groups=found.subjects,
            ties=found.ties,
        )
        blind = chance(
            found.candidates,
            who,
            ranks=found.ranks,
            prior=found.prior,
            prior_ties=found.prior_ties,
        )
        table.add_row(who, f"{float(made):.3f}", _interval(made), f"{blind:.4f}")
    stdout().print(table)


def _show_figures(found: Mapping[str, Any]) -> None:
    table = Table("measure", "mean", "95 % interval", "n")
    for name, values in found.items():
        known = np.atleast_1d(np.asarray(values, dtype=np.float64))
        known = known[np.isfinite(known)]
        if not len(known):
            table.add_row(escape(name), "-", "", "0")
            continue
        mean = bootstrap(known)
        table.add_row(escape(name), f"{float(mean):.4g}", _interval(mean), f"{mean.n:,}")
    stdout().print(table)


def _interval(made: Estimate) -> str:
    return f"{made.low:.4g} to {made.high:.4g}"


def value_of(text: str) -> object:
    """Read a value of the command line as TOML would: a number, true or false, else a text.

    >>> value_of("3"), value_of("0.5"), value_of("true"), value_of("town.csv")
    (3, 0.5, True, 'town.csv')
    """
    if text in ("true", "false"):
        return text == "true"
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if not isinstance(found, int | float | list | tuple | str):
        raise ParameterError("A value must be a number, a text, or a list of them.")
    return list(found) if isinstance(found, tuple) else found
