"""The planes of a table as pieces of a page that allows no style and no script within it."""

from collections.abc import Sequence
from dataclasses import dataclass

from veil.studies import DEFAULT
from veil.studies.curves import panels
from veil.studies.domains import words_of
from veil.studies.report import hints
from veil.studies.report.best import best
from veil.studies.report.groups import Group, groups, legend, styles_of
from veil.studies.report.look import PLANES
from veil.studies.report.look import SCRIPT as _SCRIPT
from veil.studies.report.markup import join, tag
from veil.studies.table import Row

_OURS = """\
caption,figcaption,.hint{color:var(--soft);font-size:.85rem}
.ring{fill:transparent;stroke:currentColor;stroke-width:1;stroke-dasharray:2 2}
.point[data-stop]{cursor:pointer}
.point[data-stop]:hover .ring,.chosen .ring{stroke-width:2;stroke-dasharray:none}
.chosen .ring{fill:var(--mark)}
"""
STYLE = PLANES + _OURS
SCRIPT = f"(() => {{{_SCRIPT}}})();\n"  # its names are its own


@dataclass(frozen=True, slots=True)
class Plot:
    """One plane: the risk by one attacker and measure against the utility, as HTML."""

    data: str
    task: str
    attacker: str
    measure: str
    title: str
    html: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """All planes of a table, as HTML in pieces and as a whole.

    Attributes
    ----------
    hint
        How to read a plane, as text.
    legend
        The names of the curves; the script makes each a button that hides or shows its curve. Of
        many, a few are shown at first.
    plots
        One for each attacker and measure.
    html
        Everything: the hint, the legend, and for each attacker a heading of the third level, its
        planes, and a table of all figures.
    """

    hint: str
    legend: str
    plots: tuple[Plot, ...]
    html: str


def draw(rows: Sequence[Row], stops: Sequence[tuple[str, int]] = ()) -> Drawing:
    """Draw the planes of a table.

    Parameters
    ----------
    stops
        Configurations that can be chosen, by their spec and number of releases.

    Notes
    -----
    `STYLE` and `SCRIPT` are served as files of their own; without them the tables still say
    everything. Each point carries ``data-spec`` and ``data-size``, and if it is one of the
    `stops` a ring and its place among them as ``data-stop``; a script may give it the class
    ``chosen``. A drawing is one image to a screen reader: what can be chosen must be offered
    elsewhere too, for the keyboard.
    """
    places = {one: str(i) for i, one in enumerate(stops)}
    found = panels(rows)

    def stop(row: Row) -> str | None:
        return places.get((row.spec, row.size))

    shown = best(found, stop if stops else None)
    styles = styles_of(found, shown)
    drawn = groups(rows, found, styles, shown, stop)
    names = legend(styles, list(styles), shown)
    words = words_of(rows[0].domain if rows else DEFAULT)
    hint = hints.plane(words) + (" Points with a ring are stops of the slider." if stops else "")
    hint += hints.few(len(shown), len(styles), stops=bool(stops))
    whole = join(
        tag("p", hint, class_="hint"), names, *(part for one in drawn for part in one.parts)
    )
    return Drawing(hint, names, tuple(plot for one in drawn for plot in _plots(one)), whole)


def _plots(group: Group) -> list[Plot]:
    where, words = (group.data, group.task, group.attacker), words_of(group.domain)
    return [
        Plot(*where, measure, f"{group.title}, {measure}: {words.axis(measure).says}", html)
        for measure, html in group.plots
    ]
