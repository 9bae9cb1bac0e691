"""``veil DOMAIN VERB``: the same verbs for every kind of data, made of typed functions.

Make a command of a function: its arguments are arguments, its keywords are options.
What it returns is shown: a release by its cost, the outcome of an attack by its risks, figures by
their means with intervals.

``methods``, ``plane`` and ``choose`` follow from what a domain declares. ``protect``, ``attack``
and ``measure`` are functions, or commands, of the domain's own, which its `verbs` name.
"""

import ast
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import click
import numpy as np
from pydantic.fields import FieldInfo
from rich.markup import escape
from rich.table import Table

from veil.cli.commands import Commands
from veil.cli.listing import show_components, show_methods
from veil.cli.studies import WORKERS, WORKERS_HELP, choose, run_study
from veil.cli.terminal import NEW, stderr, stdout
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate, bootstrap
from veil.core.outcome import Outcome
from veil.core.registry import read_spec
from veil.core.types import Release
from veil.measures.risk import ATTACKERS, chance, risk
from veil.studies.domains import Domain, domain, make_study, vocabulary
from veil.studies.export import read_csv
from veil.studies.study import Study

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
        type=NEW if one.name == "out" and kind is Path else _TYPES.get(kind, click.STRING),
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


ORDER = ("protect", "attack", "measure", "plane", "choose", "methods", "attackers")


class _Verbs(Commands):
    """Verbs in the order in which they are used; the domain's own are loaded when asked for."""

    def __init__(self, name: str, found: Domain) -> None:
        super().__init__(name, help=(found.__doc__ or "").strip().split("\n")[0])
        self._domain, self._own = found, dict(found.verbs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the usual verbs first."""
        del ctx
        names = {**self.commands, **self._own}
        return sorted(names, key=lambda verb: (verb not in ORDER, [*ORDER, verb].index(verb)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a verb of the domain's own, or return one that all have."""
        if cmd_name in self._own:
            return _own(cmd_name, self._own[cmd_name], self._domain)
        return super().get_command(ctx, cmd_name)


def domain_group(name: str) -> click.Group:
    """Return the commands of a domain."""
    found = domain(name)
    group = _Verbs(name, found)
    made = {"plane": _plane(name, found), "choose": _choose(name), "methods": _methods(found)}
    if found.attackers is not None:
        made["attackers"] = _attackers(found)
    for verb, command in made.items():
        group.add_command(command, verb)
    return group


def _own(verb: str, place: str, found: Domain) -> click.Command | None:
    """Return a command of the domain's own, or make one of its function; None if it is missing."""
    module, _, attribute = place.partition(":")
    if find_spec(module) is None:
        return None
    given: Any = getattr(import_module(module), attribute)
    return given if isinstance(given, click.Command) else command_of(verb, given, found)


def _choose(name: str) -> click.Command:
    """Return ``veil choose``, for tables of this domain alone."""

    def run(results: Path, **given: Any) -> None:  # noqa: ANN401 - as choose has them
        table = results / "results.csv"
        if not table.is_file():
            raise InputError(
                f"There is no {table}; run 'veil {name} plane' first, or name its folder by"
                " --results."
            )
        kinds = {row.domain for row in read_csv(table)}
        if kinds - {name}:
            raise InputError(
                f"{results} is an audit of {', '.join(sorted(kinds))}, and not of {name}; 'veil"
                " choose' takes any."
            )
        click.get_current_context().invoke(choose, results=results, **given)

    params = [_measured(name) if one.name == "attacker" else one for one in choose.params]
    return click.Command("choose", callback=run, params=params, help=choose.help)


def _measured(name: str) -> click.Parameter:
    """Return the option that says how success is counted, with the measures of the domain."""
    risks = vocabulary(name).risks
    usual = next((axis.name for axis in risks if axis.name == "active"), risks[-1].name)
    told = ", ".join(f"{axis.name} ({axis.says})" for axis in risks)
    return click.Option(
        ["--attacker"],
        metavar="MEASURE",
        default=usual,
        show_default=True,
        help=f"how success is counted: {told}",
    )


def _methods(found: Domain) -> click.Command:
    @click.command("methods")
    @click.argument("names", nargs=-1)
    @click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
    def methods(names: tuple[str, ...], as_json: bool) -> None:
        """List methods, their parameters, what is proved and what is not."""
        show_methods(found.mechanisms, names, as_json=as_json)

    return methods


def _attackers(found: Domain) -> click.Command:
    @click.command("attackers")
    @click.argument("names", nargs=-1)
    @click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
    def attackers(names: tuple[str, ...], as_json: bool) -> None:
        """List attackers with their parameters, or those of NAMES alone."""
        known: Any = found.attackers
        show_components({"attackers": known}, "attacker", names, as_json=as_json)

    return attackers


def _flag_of(key: str, field: FieldInfo) -> click.Option:
    """Return the flag for a key of a study, with its description and default."""
    plain = isinstance(field.default, str | int | float) and field.default != ""
    default = f"  [default: {field.default}]" if plain else ""
    return click.Option(
        [f"--{key.replace('_', '-')}", key],
        required=field.is_required(),
        help=(field.description or f"the key '{key}' of a study") + default,
    )


def _plane(name: str, found: Domain) -> click.Command:
    """Return the command that places methods on the risk-utility plane."""
    own = {k: f for k, f in found.keys.model_fields.items() if k not in Study.model_fields}
    texts = {key for key, field in own.items() if field.annotation is str}
    options = [_flag_of(key, field) for key, field in own.items() if key != found.source]

    def run(
        mechanism: tuple[str, ...],
        attacker: tuple[str, ...],
        size: tuple[int, ...],
        seed: int | None,
        out: Path,
        workers: int | None,
        **keys: str | None,
    ) -> None:
        given: dict[str, Any] = {
            "domain": name,
            "name": out.stem,
            "mechanism": group_specs(mechanism),
        }
        given |= {"attackers": list(attacker)} if attacker else {}
        given |= {"sizes": list(size)} if size else {}
        given |= {} if seed is None else {"seed": seed}
        for key, text in keys.items():
            if text is not None:
                value = value_of(text)
                given[key] = text if key in texts and not isinstance(value, str) else value
        study = make_study(given, "the command", Path.cwd())
        page = out if out.suffix == ".html" else None
        run_study(study, out.with_suffix("") if page else out, workers=workers, page=page)

    source = [click.Argument([found.source])] if found.source else []
    return click.Command(
        "plane",
        callback=run,
        help="Place methods on the risk-utility plane: protect, attack, measure, and draw."
        " Specs that differ in one number are a curve.",
        params=[
            *source,
            click.Option(
                ["-m", "--mechanism"],
                multiple=True,
                required=True,
                metavar="SPEC",
                help="a method with its parameters; several times",
            ),
            click.Option(
                ["--attacker"], multiple=True, metavar="SPEC", help="who attacks; several times"
            ),
            click.Option(
                ["--size"], multiple=True, type=int, help=f"{found.words.size}; several times"
            ),
            click.Option(["--seed"], type=int, help="of the draws, which can be repeated"),
            *options,
            click.Option(
                ["-o", "--out"],
                type=NEW,
                default=Path("veil-report"),
                help="folder of the report, or an .html file; what is there already is not"
                " computed again",
            ),
            click.Option(["--workers"], type=WORKERS, help=WORKERS_HELP),
        ],
    )


def group_specs(specs: Sequence[str]) -> list[dict[str, object]]:
    """Put specs that differ in one number together, as a curve.

    >>> group_specs(["donut(low=1, high=5)", "donut(low=1, high=9)", "laplace(epsilon=2)"])
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'spec': 'donut(low=1)', 'parameter': 'high', 'values': [5.0, 9.0]},
     {'spec': 'laplace(epsilon=2)'}]
    """
    read = [(spec, *read_spec(spec)) for spec in specs]
    made: list[dict[str, object]] = []
    left = list(read)
    while left:
        spec, head, values = left[0]
        alike = [one for one in left if one[1] == head and set(one[2]) == set(values)]
        swept = {key for key in values for one in alike if one[2][key] != values[key]}
        key = next(iter(swept), "")
        numbers = [one[2].get(key) for one in alike]
        if len(swept) == 1 and all(isinstance(one, int | float) for one in numbers):
            fixed = ", ".join(f"{name}={value!r}" for name, value in values.items() if name != key)
            swept_values = [float(str(number)) for number in numbers]
            made.append(
                {
                    "spec": f"{head}({fixed})" if fixed else head,
                    "parameter": key,
                    "values": swept_values,
                }
            )
            left = [one for one in left if one not in alike]
        else:
            made.append({"spec": spec})
            left = left[1:]
    if not made:
        raise ParameterError("Name a method with -m.")
    return made
