"""``veil DOMAIN VERB``: the same verbs for every kind of data.

``methods``, ``plane`` and ``choose`` follow from what a domain declares. ``protect``, ``attack``
and ``measure`` are functions, or commands, of the domain's own, which its `verbs` name.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from veil.cli._listing import show_components
from veil.cli._methods import show_methods
from veil.cli._near import Commands
from veil.cli._sweeping import OUT, WORKERS, WORKERS_HELP, run_study
from veil.cli._verbs import command_of, value_of
from veil.cli.choose import choose
from veil.core.errors import InputError, ParameterError
from veil.core.registry import read_spec
from veil.studies.domains import Domain, domain
from veil.studies.export import read_csv
from veil.studies.load import make_study
from veil.studies.study import Study

ORDER = ("protect", "attack", "measure", "plane", "choose", "methods", "attackers")


class _Verbs(Commands):
    """Verbs in the order in which they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names as they were added."""
        del ctx
        return list(self.commands)


def domain_group(name: str) -> click.Group:
    """Return the commands of a domain."""
    found = domain(name)
    group = _Verbs(name, help=(found.__doc__ or "").strip().split("\n")[0])
    made = {"plane": _plane(name, found), "choose": _choose(name), "methods": _methods(found)}
    if found.attackers is not None:
        made["attackers"] = _attackers(found)
    made |= {verb: _own(verb, place, found) for verb, place in found.verbs.items()}
    for verb in sorted(made, key=lambda verb: (verb not in ORDER, [*ORDER, verb].index(verb))):
        group.add_command(made[verb], verb)
    return group


def _own(verb: str, place: str, found: Domain) -> click.Command:
    """Return a command of the domain's own, or make one of its function."""
    module, _, attribute = place.partition(":")
    given: Any = getattr(import_module(module), attribute)
    return given if isinstance(given, click.Command) else command_of(verb, given, found)


def _choose(name: str) -> click.Command:
    """Return ``veil choose``, for tables of this domain alone."""

    def run(results: Path, **given: Any) -> None:  # noqa: ANN401 - as choose has them
        kinds = {row.domain for row in read_csv(results / "results.csv")}
        if kinds - {name}:
            raise InputError(
                f"{results} is an audit of {', '.join(sorted(kinds))}, and not of {name}; 'veil"
                " choose' takes any."
            )
        click.get_current_context().invoke(choose, results=results, **given)

    return click.Command("choose", callback=run, params=choose.params, help=choose.help)


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


def _plane(name: str, found: Domain) -> click.Command:
    """Return the command that places methods on the risk-utility plane."""
    own = [key for key in found.keys.model_fields if key not in Study.model_fields]
    options = [
        click.Option([f"--{key.replace('_', '-')}", key], help=f"the key '{key}' of a study")
        for key in own
        if key != found.source
    ]

    def run(
        mechanism: tuple[str, ...],
        attacker: tuple[str, ...],
        size: tuple[int, ...],
        seed: int | None,
        out: Path,
        workers: int | None,
        **keys: str | None,
    ) -> None:
        given: dict[str, Any] = {"domain": name, "name": out.stem, "mechanism": grids(mechanism)}
        given |= {"attackers": list(attacker)} if attacker else {}
        given |= {"sizes": list(size)} if size else {}
        given |= {} if seed is None else {"seed": seed}
        given |= {key: value_of(text) for key, text in keys.items() if text is not None}
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
                type=OUT,
                default=Path("veil-report"),
                help="folder of the report, or an .html file; what is there already is not"
                " computed again",
            ),
            click.Option(["--workers"], type=WORKERS, help=WORKERS_HELP),
        ],
    )


def grids(specs: Sequence[str]) -> list[dict[str, object]]:
    """Put specs that differ in one number together, as a curve.

    >>> grids(["donut(low=1, high=5)", "donut(low=1, high=9)", "laplace(epsilon=2)"])
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
