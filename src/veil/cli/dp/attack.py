"""``veil dp attack``: what answers give away, on data of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veil.cli.terminal import NEW
from veil.core.errors import InputError, ParameterError
from veil.core.registry import read_spec

if TYPE_CHECKING:
    from veil.dp.restricted.demonstrations import Demonstration

_VALUES = "0.1,0.3,1"
_TEXTS = (
    "secret",
    "column",
    "equals",
)  # keys whose values are no numbers, whatever they look like
_STORIES = ("averaging", "denial", "differencing", "tracker")


@click.command()
@click.argument("attacker")
@click.option(
    "--secret",
    required=True,
    metavar="FILE:COLUMN",
    help="the secret of each record; FILE:COLUMN=VALUE for who has that value",
)
@click.option("-m", "--mechanism", metavar="SPEC", help="what adds noise to counts, as geometric")
@click.option(
    "--values", metavar="NUMBERS", help=f"of its epsilon, rho or sigma  [default: {_VALUES}]"
)
@click.option("--rows", type=int, default=100, show_default=True, help="records of a group")
@click.option("--groups", type=int, default=10, show_default=True, help="groups that are attacked")
@click.option(
    "--target", type=click.IntRange(0), help="show step by step how this record is found, from 0"
)
@click.option(
    "--min-size",
    type=int,
    default=1,
    show_default=True,
    help="least size of a set, where there is no noise",
)
@click.option(
    "--times", type=int, default=1000, show_default=True, help="of averaging with a target"
)
@click.option(
    "--audit", default="max", show_default=True, help="of denial: max or max-simulatable"
)
@click.option(
    "--unit", metavar="COLUMN", help="of membership: who has what the secret column says"
)
@click.option(
    "--members", type=int, default=400, show_default=True, help="of membership with --unit"
)
@click.option(
    "--max-items",
    type=int,
    default=20,
    show_default=True,
    help="of membership with --unit: items of a person that count",
)
@click.option("--seed", type=int, help="of the draws, which can be repeated")
@click.option(
    "-o",
    "--out",
    type=NEW,
    default=Path("dp-attack.html"),
    show_default=True,
    help="the plane, and a folder of the same name",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 256),
    help="processes to share the work; 0: none  [default: one per processor]",
)
def attack(attacker: str, secret: str, **given: Any) -> None:  # noqa: ANN401 - as the options have them
    """Attack answers about a secret: show what they give away, on the risk-utility plane.

    ATTACKER is reconstruction, differencing, tracker, averaging or membership, also with
    parameters, as 'reconstruction(queries=800)'. Counts of a secret are answered with noise, and
    the plane of all --values is written as a page.

    Step by step: differencing, tracker and averaging with a --target, against exact answers and
    --min-size (averaging: against noise); denial, against an auditor of maxima; membership with
    --unit, against published counts of what people have. These print what is found, which is as
    secret as the data.
    """
    name = read_spec(attacker)[0]
    if name == "denial" or given["target"] is not None:
        click.echo(_story(name, secret, given))
    elif given["unit"] is not None:
        _trace(name, secret, given)
    else:
        _plane(attacker, secret, given)


def _story(name: str, secret: str, given: dict[str, Any]) -> "Demonstration":
    """Show one attack step by step."""
    from veil.dp.inputs import read_bits, read_numbers, source_of
    from veil.dp.restricted import demonstrations as shown

    if name not in _STORIES:
        raise ParameterError(f"Step by step there are {', '.join(_STORIES)}; leave --target out.")
    path, column, equals = source_of(secret)
    target, seed = given["target"], given["seed"]
    if name == "averaging":
        bits = read_bits(path, column, equals)
        noise = given["mechanism"] or "geometric(epsilon=0.1)"
        return shown.averaging(bits, target, noise, given["times"], seed)
    numbers = read_numbers(path, column) if equals is None else read_bits(path, column, equals)
    if name == "denial":
        return shown.denial(numbers, given["audit"])
    if name == "tracker":
        return shown.tracker(numbers, target, given["min_size"], seed)
    return shown.differencing(numbers, target, given["min_size"])


def _trace(name: str, secret: str, given: dict[str, Any]) -> None:
    """Show who is found behind counts of what people have."""
    from rich.table import Table

    from veil.cli.terminal import stdout
    from veil.dp.attacks.membership import tracing
    from veil.dp.inputs import read_texts, source_of

    if name != "membership":
        raise ParameterError("The option --unit is of the attacker membership; leave it out.")
    path, column, _ = source_of(secret)
    found = tracing(
        read_texts(path, given["unit"]),
        read_texts(path, column),
        _numbers(given["values"] or "10,1"),
        given["members"],
        max_items=given["max_items"],
        rng=given["seed"],
    )
    table = Table("published", "advantage", "95 % interval")
    for one in found:
        told = f"{one.risk.low:.3f} to {one.risk.high:.3f}"
        table.add_row(one.published, f"{float(one.risk):.3f}", told)
    stdout().print(table)


def _plane(attacker: str, secret: str, given: dict[str, Any]) -> None:
    """Sweep the values as ``veil dp plane`` does, and print the points."""
    from veil.cli.domain import domain_group
    from veil.dp.attacks.plane import sweep_budget
    from veil.dp.inputs import read_texts, source_of

    out: Path = given["out"]
    if out.suffix != ".html":
        raise InputError("The plane is a page; name a file that ends in .html.")
    path, column, equals = source_of(secret)
    values = _numbers(given["values"] or _VALUES)
    noise = [one.brief for _, one in sweep_budget(given["mechanism"] or "geometric", values)]
    keys = {"secret": str(path), "column": column, "equals": equals or ""}
    keys |= {key: str(given[key]) for key in ("rows", "groups")}
    click.get_current_context().invoke(
        domain_group("dp").commands["plane"],
        mechanism=tuple(noise),
        attack=(attacker,),
        size=(),
        out=out,
        **{key: given[key] for key in ("seed", "workers")},
        **{key: repr(text) if key in _TEXTS else text for key, text in keys.items()},
    )
    records = min(given["rows"], len(read_texts(path, column)))
    _show(out.with_suffix(""), attacker, records)


def _show(folder: Path, attacker: str, records: int) -> None:
    """Print the points of the plane, and what all answers cost."""
    from rich.table import Column, Table

    from veil.cli.terminal import stdout
    from veil.dp.attack import count_questions
    from veil.dp.mechanisms import mechanism
    from veil.studies.export import read_csv
    from veil.studies.panels import panels

    asked = count_questions(attacker, records)
    for panel in panels(read_csv(folder / "results.csv")):
        whole = Column("configuration", overflow="fold", no_wrap=True)
        table = Table(whole, "risk", "95 % interval", "utility", f"{asked:,} answers")
        for point in (point for curve in panel.curves for point in curve.points):
            told = f"{point.risk.low:.3f} to {point.risk.high:.3f}"
            made = mechanism(point.risk.spec)
            claim = made.guarantee
            table.add_row(
                made.brief,
                f"{point.risk.score:.3f}",
                told,
                f"{point.utility.score:.3f}",
                str(claim.compose(asked, claim.unit)),
            )
        stdout().print(table)


def _numbers(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError("The values must be numbers with commas, as in 0.1,0.5,1.") from None
    return found
