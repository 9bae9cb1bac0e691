"""The planes of each attacker side by side, with one legend for all."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from veil.studies.curves import Panel
from veil.studies.domains import words_of
from veil.studies.report import svg as _svg
from veil.studies.report.markup import Markup, tag
from veil.studies.report.plane import Stop, plane
from veil.studies.report.tables import plane_figures
from veil.studies.table import Row


@dataclass(frozen=True, slots=True)
class Group:
    """The planes of one attacker on one data and task, and the table of their figures.

    `plots` are pairs of a measure of the attacker's success and its plane.
    """

    domain: str
    data: str
    task: str
    attacker: str
    plots: tuple[tuple[str, Markup], ...]
    figures: Markup

    @property
    def title(self) -> str:
        """Say who attacks, and where."""
        where = f"{self.data} with {self.task}" if self.task else self.data
        return f"Attacker {self.attacker} on {where}"

    @property
    def parts(self) -> tuple[Markup, Markup, Markup]:
        """The heading, the planes, and the table that opens on request."""
        return (
            tag("h3", self.title),
            tag("div", *(drawn for _, drawn in self.plots), class_="panels"),
            tag("details", tag("summary", "All figures of these planes"), self.figures),
        )


def groups(
    rows: Sequence[Row],
    found: Sequence[Panel],
    styles: Mapping[str, int],
    shown: Container[str],
    stop: Stop | None = None,
) -> list[Group]:
    """Draw the panels by attacker; see `plane` for `shown` and `stop`."""
    placed: dict[tuple[str, str, str], list[Panel]] = {}
    for panel in found:
        if words_of(panel.domain).axis(panel.measure).scored:  # others are in the table alone
            placed.setdefault((panel.data, panel.task, panel.attacker), []).append(panel)
    return [
        Group(
            inside[0].domain,
            *place,
            tuple(
                (panel.measure, plane(panel, styles, shown, f"plane-{i}-{j}", stop))
                for j, panel in enumerate(inside)
            ),
            plane_figures(rows, *place),
        )
        for i, (place, inside) in enumerate(placed.items())
    ]


def styles_of(
    found: Sequence[Panel], shown: Sequence[str], others: Sequence[str] = ()
) -> dict[str, int]:
    """Give each curve of the panels, and others by name, a number: its colour and its mark.

    Those that are shown at first have the first ones, which are the easiest to tell apart.
    """
    drawn = [curve.name for panel in found for curve in panel.curves]
    return {name: i for i, name in enumerate(dict.fromkeys([*shown, *drawn, *others]))}


def legend(styles: Mapping[str, int], drawn: Sequence[str], shown: Container[str]) -> Markup:
    """Return the names of curves, each beside its line and mark; the rest opens on request."""
    first = [_entry(name, styles[name]) for name in drawn if name in shown]
    rest = [_entry(name, styles[name], "rest") for name in drawn if name not in shown]
    parts = [tag("ul", *first)]
    if rest:
        parts.append(
            tag("details", tag("summary", f"{len(rest)} further curves"), tag("ul", *rest))
        )
    return tag("div", *parts, class_="legend")


def _entry(name: str, style: int, kind: str | None = None) -> Markup:
    dashed = " dashed" if style >= _svg.COLOURS else ""
    sample = tag(
        "svg",
        tag("path", class_="line", d="M0 7H26"),
        tag("g", _svg.shape(style), transform="translate(13 7)"),
        viewBox="0 0 26 14",
        class_=f"curve {_svg.colour(style)}{dashed}",
        aria_hidden="true",
    )
    return tag("li", sample, tag("span", name), data_curve=name, class_=kind)
