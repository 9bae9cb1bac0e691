"""``veil DOMAIN VERB``: the same verbs for every kind of data.

The grammar is ``veil DOMAIN VERB INPUT [-m SPEC]... [-a SPEC]... [--of ORIGINAL] [-o OUT]``.
Verbs are typed functions in ``<domain>/api.py`` (see `veil.cli.verb`), named by the `verbs` of an
experiment. ``plane``, ``choose``, ``mechanisms`` and ``attacks`` follow from what it declares.
"""

import ast
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_origin

import click
from pydantic.fields import FieldInfo

from veil.cli.commands import Commands
from veil.cli.former import RENAMED, rewrite, say_renamed
from veil.cli.listing import show_components, show_mechanisms
from veil.cli.studies import WORKERS, WORKERS_HELP, choose, run_study
from veil.cli.terminal import NEW
from veil.cli.verb import SpecType, VerbCommand, sentence, split_names
from veil.core.errors import InputError, ParameterError
from veil.core.registry import read_spec
from veil.studies.domains import Domain, domain, make_study, vocabulary
from veil.studies.export import read_csv
from veil.studies.study import Study

SEED_HELP = "Repeats the draws, for experiments: NOT PRIVATE."
ORDER = ("protect", "attack", "measure", "plane", "choose", "mechanisms", "attacks")


class DomainCommands(Commands):
    """Commands of a domain, in the order in which they are used; each is built on demand."""

    def __init__(self, name: str, experiment: Domain) -> None:
        super().__init__(name, help=(experiment.__doc__ or "").strip().split("\n")[0])
        self._experiment, self._verbs = experiment, dict(experiment.verbs)
        self.add_command(_plane(name, experiment), "plane")
        self.add_command(_choose(name), "choose")
        self.add_command(_mechanisms(experiment), "mechanisms")
        if experiment.attackers is not None:
            self.add_command(_attacks(experiment), "attacks")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the usual verbs first."""
        del ctx
        names = {**self.commands, **self._verbs}
        return sorted(names, key=lambda verb: (verb not in ORDER, [*ORDER, verb].index(verb)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a verb; former names of verbs work, too."""
        if cmd_name in self._verbs:
            return self._verb(cmd_name)
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in RENAMED:
            say_renamed(f"{self.name} {cmd_name}", f"{self.name} {RENAMED[cmd_name]}")
            return self.get_command(ctx, RENAMED[cmd_name])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed, also by its former name."""
        if args and args[0] in RENAMED and args[0] not in self.list_commands(ctx):
            return args[0], self.get_command(ctx, args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def _verb(self, name: str) -> click.Command | None:
        """Return the command of a typed function, or None if its module is not installed."""
        module, _, attribute = self._verbs[name].partition(":")
        if find_spec(module) is None:
            return None
        verb: Any = getattr(import_module(module), attribute)
        if isinstance(verb, click.Command):
            return verb
        registries = {
            "mechanism": self._experiment.mechanisms,
            "attack": self._experiment.attackers,
            "attacker": self._experiment.attackers,
        }
        return VerbCommand(name, verb, registries)


def domain_group(name: str) -> click.Group:
    """Return the commands of a domain."""
    return DomainCommands(name, domain(name))


def _mechanisms(experiment: Domain) -> click.Command:
    @click.command("mechanisms")
    @click.argument("names", nargs=-1)
    @click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
    def mechanisms(names: tuple[str, ...], as_json: bool) -> None:
        """List mechanisms, their parameters, what is proved and what is not."""
        show_mechanisms(experiment.mechanisms, names, as_json=as_json)

    return mechanisms


def _attacks(experiment: Domain) -> click.Command:
    @click.command("attacks")
    @click.argument("names", nargs=-1)
    @click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
    def attacks(names: tuple[str, ...], as_json: bool) -> None:
        """List attacks and their parameters; with NAMES, only those."""
        known: Any = experiment.attackers
        show_components({"attacks": known}, "attack", names, as_json=as_json)

    return attacks


class PlaneCommand(click.Command):
    """A command that runs a study of a domain; its options are the keys of the study."""

    def __init__(
        self, name: str, domain_name: str, experiment: Domain, params: Sequence[click.Parameter],
        **named: Any,  # noqa: ANN401 - click's own
    ) -> None:  # fmt: skip
        self._path, self._experiment = f"{domain_name} {name}", experiment
        keys = experiment.keys.model_fields
        own = {key: field for key, field in keys.items() if key not in Study.model_fields}
        options = [_key_option(key, field) for key, field in own.items()
                   if key not in sources(experiment)]  # fmt: skip
        shared = [
            click.Option(["-m", "--mechanism"], multiple=True, required=True,
                         metavar="SPEC", type=SpecType(experiment.mechanisms),
                         help="Mechanism with its parameters; repeatable. Specs that differ in"
                         " one number are a curve."),
            click.Option(["-a", "--attack"], multiple=True, metavar="SPEC",
                         type=SpecType(experiment.attackers),
                         help="Attack; repeatable.  [default: the usual ones]"),
            click.Option(["--size"], multiple=True, type=int,
                         help=f"Number of {experiment.words.size}; repeatable."),
            click.Option(["--seed"], type=int, help=SEED_HELP),
            *options,
            click.Option(["-o", "--out"], type=NEW, default=Path("veil-report"),
                         show_default=True,
                         help="Folder of the report, or an .html file; finished work is reused."),
            click.Option(["--workers"], type=WORKERS, help=WORKERS_HELP),
        ]  # fmt: skip
        super().__init__(name, params=[*params, *shared], **named)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept the former form."""
        return super().parse_args(
            ctx, rewrite(self._path, self, self._experiment.mechanisms, args)
        )


def sources(experiment: Domain) -> tuple[str, ...]:
    """Return the keys of a study that name its data."""
    source = experiment.source
    return (source,) if isinstance(source, str) and source else tuple(source)


def _key_option(key: str, field: FieldInfo) -> click.Option:
    """Return the option for a key of a study, with its description and default."""
    plain = isinstance(field.default, str | int | float) and field.default != ""
    default = f"  [default: {field.default}]" if plain else ""
    return click.Option(
        [f"--{key.replace('_', '-')}", key],
        required=field.is_required(),
        multiple=_is_list(field),
        help=sentence(field.description or f"the key '{key}' of a study") + default,
    )


def _is_list(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is tuple and Ellipsis in field.annotation.__args__  # type: ignore[union-attr]


def study_of(
    name: str,
    experiment: Domain,
    curves: Sequence[Mapping[str, object]],
    out: Path,
    attack: Sequence[str],
    size: Sequence[int],
    seed: int | None,
    keys: Mapping[str, object],
) -> Study:
    """Return the study that the options of a command describe."""
    content: dict[str, Any] = {"domain": name, "name": out.stem, "mechanism": list(curves)}
    content |= {"attackers": list(attack)} if attack else {}
    content |= {"sizes": list(size)} if size else {}
    content |= {} if seed is None else {"seed": seed}
    fields = experiment.keys.model_fields
    for key, text in keys.items():
        if isinstance(text, tuple):
            content |= {key: [value_of(name) for name in split_names(text)]} if text else {}
        elif isinstance(text, str):
            value = value_of(text)
            is_text = fields[key].annotation is str and not isinstance(value, str)
            content[key] = text if is_text else value
    return make_study(content, "the command", Path.cwd())


def _arguments(experiment: Domain) -> list[click.Parameter]:
    return [click.Argument([key]) for key in sources(experiment)]


def _plane(name: str, experiment: Domain) -> click.Command:
    """Return the command that places mechanisms on the risk-utility plane."""

    def run(
        mechanism: tuple[str, ...],
        attack: tuple[str, ...],
        size: tuple[int, ...],
        seed: int | None,
        out: Path,
        workers: int | None,
        **keys: object,
    ) -> None:
        curves = group_specs(mechanism)
        study = study_of(name, experiment, curves, out, attack, size, seed, keys)
        page = out if out.suffix == ".html" else None
        run_study(study, out.with_suffix("") if page else out, workers=workers, page=page)

    return PlaneCommand(
        "plane", name, experiment, _arguments(experiment), callback=run,
        help="Place mechanisms on the risk-utility plane: protect, attack, measure, and draw.\n\n"
        "The report was made with the true data. Keep it to yourself.",
    )  # fmt: skip


def _choose(name: str) -> click.Command:
    """Return ``veil choose`` for studies of this domain."""

    def run(results: Path, **options: Any) -> None:  # noqa: ANN401 - as choose has them
        table = results / "results.csv"
        if not table.is_file():
            raise InputError(
                f"There is no {table}. Run 'veil {name} plane' first, or name its folder with"
                " --results."
            )
        other = {row.domain for row in read_csv(table)} - {name}
        if other:
            raise InputError(
                f"{results} is a study of {', '.join(sorted(other))}, not of {name}. Use 'veil"
                " choose', which takes any."
            )
        click.get_current_context().invoke(choose, results=results, **options)

    params = [_success(name) if param.name == "attacker" else param for param in choose.params]
    return click.Command("choose", callback=run, params=params, help=choose.help)


def _success(name: str) -> click.Parameter:
    """Return the option that says how success is counted, with the measures of the domain."""
    risks = vocabulary(name).risks
    usual = next((axis.name for axis in risks if axis.name == "active"), risks[-1].name)
    listed = ", ".join(f"{axis.name} ({axis.says})" for axis in risks)
    return click.Option(
        ["--attacker"],
        metavar="MEASURE",
        default=usual,
        show_default=True,
        help=f"how success is counted: {listed}",
    )


def value_of(text: str) -> object:
    """Read a value of the command line as TOML would: a number, true or false, else a text.

    >>> value_of("3"), value_of("0.5"), value_of("true"), value_of("town.csv")
    (3, 0.5, True, 'town.csv')
    """
    if text in ("true", "false"):
        return text == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if not isinstance(value, int | float | list | tuple | str):
        raise ParameterError("A value must be a number, a text, or a list of them.")
    return list(value) if isinstance(value, tuple) else value


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
        raise ParameterError("Name a mechanism with -m.")
    return made
