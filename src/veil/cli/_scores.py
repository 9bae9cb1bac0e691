"""The QuIPU scores of an audit on the screen."""

import math
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import stdout
from veil.studies.table import Results, Score


def show_scores(found: Results) -> None:
    """Print the QuIPU scores: a table per attacker, one row per mechanism."""
    console = stdout()
    same = "~" if console.options.ascii_only else "≈"
    console.print(
        f"QuIPU on {escape(found.name)}: 1 is useful and private, 0 no better than the diagonal,"
        f" below it worse. * is the best of its column, {same} cannot be told from it."
    )
    groups: dict[tuple[str, str, str], list[Score]] = {}
    for score in found.scores:
        place = (score.attacker, score.task, score.data)
        groups.setdefault(place, []).append(score)
    for (attacker, *where), scores in groups.items():
        title = ", ".join(filter(None, (f"Against {attacker}", *where)))
        console.print(f"\n[italic]{escape(title)}[/italic]")
        console.print(_table(scores, same))


def _table(scores: Sequence[Score], same: str) -> Table:
    measures = dict.fromkeys(score.measure for score in scores)
    table = Table("mechanism")
    for measure in measures:
        table.add_column(measure, no_wrap=True)
    rows: dict[str, dict[str, str]] = {}
    for score in scores:
        rows.setdefault(score.curve, {})[score.measure] = _cell(score, same)
    for curve, cells in rows.items():
        table.add_row(escape(curve), *(cells.get(measure, "") for measure in measures))
    return table


def _cell(score: Score, same: str) -> str:
    shown = f"{score.score:+.3f}" if math.isfinite(score.score) else "-"
    if score.best:
        return f"[bold]{shown} *[/bold]"
    return f"{shown} {same}" if score.alike else shown
