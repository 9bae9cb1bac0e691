"""``veil DOMAIN VERB``: the same verbs for every kind of data.

The grammar is ``veil DOMAIN VERB INPUT [-m SPEC]... [-a SPEC]... [--of ORIGINAL] [-o OUT]``.
Verbs are typed functions in ``<domain>/api.py`` (see `veil.cli.verb`), listed in the `verbs` of an
experiment. ``plane``, ``choose``, ``mechanisms`` and ``attacks`` follow from its declarations.
"""

import ast
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_origin

import click
from pydantic.fields import FieldInfo

from veil.cli.commands import Commands
from veil.cli.former import RENAMED, rewrite, say_renamed
from veil.cli.terminal import NEW
from veil.cli.verb import SpecType, VerbCommand, sentence, split_names
from veil.core.errors import InputError, ParameterError
from veil.core.verb import KeepCommas
from veil.studies.domains import Domain, domain, make_study, vocabulary
from veil.studies.study import Study
from veil.studies.study import group_specs as group_specs

SEED_HELP = "Seed that makes the draws reproducible, for experiments: NOT PRIVATE."
ORDER = ("protect", "attack", "measure", "plane", "choose", "mechanisms", "attacks")


class DomainCommands(Commands):
    """Commands of a domain, in the usual order of use; each is built on demand."""

    def __init__(self, name: str, experiment: Domain) -> None:
        super().__init__(name, help=(experiment.__doc__ or "").strip().split("\n")[0])
        self._experiment, self._verbs = experiment, dict(experiment.verbs)
        self._usual = {
            "plane": lambda: _plane(name, experiment),
            "choose": lambda: _choose(name, experiment),
            "mechanisms": lambda: _mechanisms(experiment),
        }
        if experiment.attackers is not None:
            self._usual["attacks"] = lambda: _attacks(experiment)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the usual verbs first."""
        del ctx
        names = {**self._usual, **self._verbs}
        return sorted(names, key=lambda verb: (verb not in ORDER, [*ORDER, verb].index(verb)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a verb, also for a former name."""
        if cmd_name in self._verbs:
            return self._verb(cmd_name)
        if cmd_name in self._usual:
            return self._usual[cmd_name]()
        if cmd_name in RENAMED:
            say_renamed(f"{self.name} {cmd_name}", f"{self.name} {RENAMED[cmd_name]}")
            return self.get_command(ctx, RENAMED[cmd_name])
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, also for a former name."""
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
    @click.option("--json", "as_json", is_flag=True, help="Print JSON, with the schema of each.")
    def mechanisms(names: tuple[str, ...], as_json: bool) -> None:
        """List mechanisms, their parameters and guarantees.

        NAMES limit the list. It also shows what is not proved.
        """
        from veil.cli.listing import show_mechanisms

        listed = experiment.listed or experiment.mechanisms
        show_mechanisms(listed, names, as_json=as_json)
        if experiment.advice and not as_json:
            click.echo(experiment.advice)

    return mechanisms


def _attacks(experiment: Domain) -> click.Command:
    @click.command("attacks")
    @click.argument("names", nargs=-1)
    @click.option("--json", "as_json", is_flag=True, help="Print JSON, with the schema of each.")
    def attacks(names: tuple[str, ...], as_json: bool) -> None:
        """List attacks and their parameters.

        NAMES limit the list.
        """
        from veil.cli.listing import show_components

        registry: Any = experiment.attackers
        show_components({"attacks": registry}, "attack", names, as_json=as_json)

    return attacks


class PlaneCommand(click.Command):
    """Command that runs a study of a domain; its options are the keys of the study.

    With `always`, the study always runs, so its data and mechanisms are required.
    """

    def __init__(
        self, name: str, domain_name: str, experiment: Domain, params: Sequence[click.Parameter],
        *, always: bool = True, **named: Any,  # noqa: ANN401 - click's own
    ) -> None:  # fmt: skip
        from veil.cli.studies import WORKERS, WORKERS_HELP  # other verbs need no studies

        self._path, self._experiment = f"{domain_name} {name}", experiment
        keys = experiment.keys.model_fields
        own = {key: field for key, field in keys.items() if key not in Study.model_fields}
        options = [_key_option(key, field, always=always) for key, field in own.items()
                   if key not in sources(experiment)]  # fmt: skip
        shared = [
            click.Option(["-m", "--mechanism"], multiple=True, required=always,
                         metavar="SPEC", type=SpecType(experiment.mechanisms),
                         help="Mechanism with its parameters; repeatable. Specs that differ in"
                         " one number form a curve."),
            click.Option(["-a", "--attack"], multiple=True, metavar="SPEC",
                         type=SpecType(experiment.attackers),
                         help="Attack; repeatable.  [default: the usual ones]"),
            click.Option(["--size"], multiple=True, type=int,
                         help=f"Number of {experiment.words.size}; repeatable."),
            click.Option(["--seed"], type=int, help=SEED_HELP),
            *options,
            click.Option(["-o", "--out", *([] if always else ["--results"]), "out"], type=NEW,
                         default=Path("veil-report"), show_default=True,
                         help="Folder for the report, or an .html file. Results already there"
                         " are reused."),
            click.Option(["--workers"], type=WORKERS, help=WORKERS_HELP),
        ]  # fmt: skip
        super().__init__(name, params=[*params, *shared], **named)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, also in their former form."""
        return super().parse_args(
            ctx, rewrite(self._path, self, self._experiment.mechanisms, args)
        )


def sources(experiment: Domain) -> tuple[str, ...]:
    """Return the keys of a study that name its data."""
    source = experiment.source
    return (source,) if isinstance(source, str) and source else tuple(source)


def _key_option(key: str, field: FieldInfo, *, always: bool) -> click.Option:
    """Return the option for a key of a study; a list of at most n values takes n arguments."""
    has_default = isinstance(field.default, str | int | float) and field.default != ""
    default = f"  [default: {field.default}]" if has_default else ""
    limits = [getattr(rule, "max_length", None) for rule in field.metadata]
    length = next((limit for limit in limits if limit is not None and _is_list(field)), None)
    return click.Option(
        [f"--{key.replace('_', '-')}", key],
        required=always and field.is_required(),
        multiple=_is_list(field) and length is None,
        nargs=length or 1,
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
    """Return the study that the options of a command describe.

    Without curves, it has the mechanisms that the domain suggests.
    """
    content: dict[str, Any] = {"domain": name, "name": out.stem}
    content |= {"attackers": list(attack)} if attack else {}
    content |= {"sizes": list(size)} if size else {}
    content |= {} if seed is None else {"seed": seed}
    fields = experiment.keys.model_fields
    for key, text in keys.items():
        if isinstance(text, tuple):
            content |= {key: _items(fields[key], text)} if text else {}
        elif isinstance(text, str):
            value = value_of(text)
            is_text = fields[key].annotation is str and not isinstance(value, str)
            content[key] = text if is_text else value
    content["mechanism"] = list(curves or experiment.suggest(content))
    if not content["mechanism"]:
        raise ParameterError("A mechanism is required. Add -m SPEC.")
    return make_study(content, "the command", Path.cwd())


def _items(field: FieldInfo, texts: Sequence[str]) -> list[Any]:
    """Return the items of a list-valued key of a study."""
    whole = any(isinstance(note, KeepCommas) for note in field.metadata)
    names = texts if whole else split_names(texts)
    return list(names) if field.annotation == tuple[str, ...] else list(map(value_of, names))


def _plane(name: str, experiment: Domain) -> click.Command:
    """Return the command ``plane`` of a domain."""
    from veil.cli.studies import run_study

    def run(
        mechanism: tuple[str, ...],
        attack: tuple[str, ...],
        size: tuple[int, ...],
        seed: int | None,
        out: Path,
        workers: int | None,
        **keys: object,
    ) -> None:
        curves = group_specs(mechanism) if mechanism else []
        study = study_of(name, experiment, curves, out, attack, size, seed, keys)
        page = out if out.suffix == ".html" else None
        run_study(study, _folder(out), workers=workers, page=page)

    arguments = [click.Argument([key]) for key in sources(experiment)]
    return PlaneCommand(
        "plane", name, experiment, arguments, callback=run,
        help="Place mechanisms on the risk-utility plane: protect, attack, measure and draw.\n\n"
        "The report is computed from the unprotected data. Do not share it.",
    )  # fmt: skip


def _folder(out: Path) -> Path:
    """Return the folder of a report; that of ``out.html`` is ``out``."""
    return out.with_suffix("") if out.suffix == ".html" else out


def _choose(name: str, experiment: Domain) -> click.Command:
    """Return the command ``choose`` of a domain; with an input, it computes the plane first."""
    from veil.cli.studies import choose
    from veil.studies.export import read_csv

    plane = _plane(name, experiment)
    own = {param.name for param in plane.params} - {"out"}
    inputs = sources(experiment)

    def run(out: Path, **options: Any) -> None:  # noqa: ANN401 - those of plane and of choose
        values = {key: options.pop(key) for key in own}
        specified = {key for key, value in values.items() if value not in (None, ())}
        if specified & set(inputs or ("mechanism",)):
            plane.callback(out=out, **values)  # type: ignore[misc]
        elif specified:
            raise click.UsageError(f"Missing argument '{inputs[0].upper()}'.")
        results = _folder(out)
        table = results / "results.csv"
        if not table.is_file():
            raise InputError(
                f"File {table} does not exist. Run 'veil {name} plane' first, or give the data, or"
                " the folder of a report with --results."
            )
        other = {row.domain for row in read_csv(table)} - {name}
        if other:
            raise InputError(
                f"{results} is a study of {', '.join(sorted(other))}, not of {name}. Use 'veil"
                " choose', which accepts all domains."
            )
        click.get_current_context().invoke(choose, results=results, **options)

    risks = vocabulary(name).risks
    usual = next((axis.name for axis in risks if axis.name == "active"), risks[-1].name)
    listed = ", ".join(f"{axis.name} ({axis.says})" for axis in risks)
    success = click.Option(["--attacker"], metavar="MEASURE", default=usual, show_default=True,
                           hidden=len(risks) == 1,
                           help=f"How success is counted: {listed}.")  # fmt: skip
    others = [param for param in choose.params if param.name not in ("attacker", "results")]
    first, _, rest = cleandoc(choose.help or "").partition("\n\n")
    data = " and ".join(inputs).upper() or "-m"
    text = (
        f"{first}\n\nWith {data}, 'veil {name} plane' runs first. Otherwise, the report in"
        " --results is used. If the domain suggests mechanisms, -m may be left out."
        f"\n\n{rest}"
    )
    return PlaneCommand(
        "choose", name, experiment,
        [*(click.Argument([key], required=False) for key in inputs), *others, success],
        always=False, callback=run, help=text,
    )  # fmt: skip


def value_of(text: str) -> object:
    """Parse a value as TOML would: as a number, true or false, else as a string.

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
        raise ParameterError("A value must be a number, a text, or a list of these.")
    return list(value) if isinstance(value, tuple) else value
