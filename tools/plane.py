"""Draw the plane of the README: a development-time script.

    veil audit
    python tools/plane.py veil-report

takes the rows of the default audit, of twenty variants, and draws risk and utility under the
strongest attacker that knows the mechanism: `bayes` where there is a law, `rerun` where nothing is
drawn, with all queries of the log equally likely. It writes ``docs/plane.svg``.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from veil.drawing.axes import colour, shape
from veil.drawing.markup import Markup, join, tag
from veil.drawing.page import PICTURES
from veil.drawing.plane import draw
from veil.studies.export import read_csv
from veil.studies.panels import Panel, panels
from veil.studies.report.drawing import plane_of, styles_of
from veil.studies.results import PLAIN, Row

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "plane.svg"
SIZE, MEASURE, KNOWING = 20, "active", ("bayes", "rerun")
PRIOR = "all queries of the log equally likely"
_WIDTH, _LINE = 640, 21


def chosen(rows: Sequence[Row]) -> list[Row]:
    """Return utility and risk of twenty variants, by whoever knows the mechanism best."""
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        wanted = row.mechanism == PLAIN or row.size == SIZE
        if not wanted or "table='icd10cm'" in row.spec:
            continue
        if row.kind == "utility" and row.measure == "nDCG@10":
            found[row.spec, row.kind] = row
        elif row.kind == "risk" and row.measure == MEASURE and row.attacker in KNOWING:
            found[row.spec, row.kind] = replace(row, attacker=KNOWING[0])
    return list(found.values())


def drawn(panel: Panel) -> str:
    """Return the drawing with a legend beside it, as one file."""
    names = [curve.name for curve in panel.curves]
    first = sorted(names, key=lambda name: (name != "cover", name != "blind", name))
    styles = styles_of([panel], first)
    picture = draw(plane_of(panel, styles), "plane")
    inner = Markup(picture.replace("<svg", '<svg x="0" y="0" width="420" height="400"', 1))
    legend = [
        tag(
            "g",
            tag("g", shape(styles[name]), transform="translate(0 -4)"),
            tag("text", name, x=14, y=0, class_="name"),
            class_=f"curve {colour(styles[name])}",
            transform=f"translate(445 {50 + i * _LINE})",
        )
        for i, name in enumerate(first)
    ]
    prior = tag("text", PRIOR, x=430, y=388, class_="name", style="font-size:10px")
    style = PICTURES + "svg .name{font-size:13px;fill:var(--ink)}"
    return join(
        Markup(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} 400" class="chart">'
        ),
        Markup(f"<style>{style}</style>"),
        Markup('<rect width="100%" height="100%" fill="var(--ground)"/>'),
        inner,
        *legend,
        prior,
        Markup("</svg>\n"),
    )


def main(*folders: str) -> None:
    """Write the drawing."""
    rows = [row for folder in folders for row in read_csv(Path(folder) / "results.csv")]
    TARGET.write_text(drawn(panels(chosen(rows))[0]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
