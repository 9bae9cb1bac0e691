"""``veil ratings plane``: what protection costs recommendations, and what it is worth."""

from pathlib import Path
from typing import Any

import click

from veil.cli.domain import group_specs
from veil.cli.studies import WORKERS, WORKERS_HELP, run_study
from veil.cli.terminal import NEW
from veil.core.errors import ParameterError
from veil.studies.domains import make_study

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("plane")
@click.argument("protection")
@click.argument("train", type=FILE)
@click.argument("test", type=FILE)
@click.option("--sweep", metavar="NAME=VALUES", help="a parameter and its values: k=20,10,5,2")
@click.option("--attack", "attackers", multiple=True, metavar="SPEC",
              help="who attacks; several times  [default: scoreboard(known=8)]")  # fmt: skip
@click.option("--recommender", metavar="SPEC", help="learnt of releases  [default: itemknn(k=20)]")
@click.option("--scale", type=float, nargs=2, metavar="LOW HIGH",
              help="lowest and highest rating there can be; private methods need it")  # fmt: skip
@click.option("--columns", metavar="NAMES", help="user, item, rating and perhaps time")
@click.option("--positive", type=float, help="from which rating on an item is liked")
@click.option("--utility", metavar="MEASURE", help="rmse, or a measure of lists  [default: ndcg]")
@click.option("--items", type=FILE, help="table of items, with titles for the report")
@click.option("--title", help="its column of titles  [default: title]")
@click.option("--people", type=FILE, help="table of users, for attribute(column=...)")
@click.option("--seed", type=int, help="of the draws, which can be repeated")
@click.option("-o", "--out", type=NEW, default=Path("plane.html"), show_default=True,
              help="the page, or a folder; what is there is not computed again")  # fmt: skip
@click.option("--workers", type=WORKERS, help=WORKERS_HELP)
def plane(
    protection: str,
    train: Path,
    test: Path,
    sweep: str | None,
    out: Path,
    workers: int | None,
    **given: Any,  # noqa: ANN401 - as the options have them
) -> None:
    """Place PROTECTION on the risk-utility plane: protect TRAIN, attack, recommend for TEST.

    With --items the page shows lists of a few users before and after. It was made with the true
    ratings: keep it to yourself.
    """
    keys: dict[str, Any] = {
        "domain": "ratings",
        "name": out.stem,
        "train": str(train),
        "test": str(test),
        "mechanism": [_grid(protection, sweep)],
    }
    keys |= {key: value for key, value in _told(given).items() if value not in (None, (), "")}
    study = make_study(keys, "the command", Path.cwd())
    page = out if out.suffix == ".html" else None
    run_study(study, out.with_suffix("") if page else out, workers=workers, page=page)


def _grid(protection: str, sweep: str | None) -> dict[str, object]:
    """Return the curve of one protection.

    >>> _grid("kprofiles", "k=20,10")
    {'spec': 'kprofiles', 'parameter': 'k', 'values': [20.0, 10.0]}
    """
    if sweep is None:
        return group_specs([protection])[0]
    name, _, values = sweep.partition("=")
    try:
        numbers = [float(one) for one in values.split(",")]
    except ValueError:
        raise ParameterError("A sweep is a parameter and its values, as k=20,10,5,2.") from None
    return {"spec": protection, "parameter": name.strip(), "values": numbers}


def _told(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options as keys of a study."""
    keys = {key: str(value) if isinstance(value, Path) else value for key, value in given.items()}
    keys["attackers"] = list(given["attackers"]) or None
    keys["scale"] = None if given["scale"] is None else list(given["scale"])
    names = given["columns"]
    keys["columns"] = None if names is None else [one.strip() for one in names.split(",")]
    return keys
