"""Tables of configurations and measures."""

import math
from collections.abc import Iterable, Sequence

from veil.studies import DEFAULT
from veil.studies.curves import key
from veil.studies.domains import words_of
from veil.studies.report.markup import Markup, interval, join, number, p_value, tag
from veil.studies.table import PLAIN, Row


def scrolling(label: str, table: Markup) -> Markup:
    """Let a wide table be moved sideways, by the keyboard too."""
    return tag("div", table, class_="scroll", role="region", aria_label=label, tabindex="0")


def table(caption: str, heads: Sequence[Markup], body: Iterable[Markup]) -> Markup:
    """Put a table together from rows of its head and body."""
    return scrolling(
        caption,
        tag("table", tag("caption", caption), tag("thead", *heads), tag("tbody", *body)),
    )


def head(*names: str) -> Markup:
    """Return the single row of a simple table's head."""
    return tag("tr", *(tag("th", name, scope="col") for name in names))


def figures(
    rows: Sequence[Row], caption: str, columns: Sequence[str], why: dict[str, str] | None = None
) -> Markup:
    """Lay out rows as configurations by measures, each figure with its interval."""
    curves = list(dict.fromkeys(key(row) for row in rows))
    cells: dict[tuple[str, int], dict[str, Row]] = {}
    for row in sorted(rows, key=lambda row: (curves.index(key(row)), row.value, row.size)):
        cells.setdefault((row.spec, row.size), {})[row.measure] = row
    body = [
        tag(
            "tr",
            tag("th", spec, scope="row"),
            tag("td", str(size)),
            *(figure(found.get(column)) for column in columns),
        )
        for (spec, size), found in cells.items()
    ]
    shown = [(why or {}).get(column, column) for column in columns]
    size = words_of(rows[0].domain if rows else DEFAULT).size
    return table(caption, [head("configuration", size, *shown)], body)


def figure(row: Row | None) -> Markup:
    """Return the cell of one figure."""
    if row is None or not math.isfinite(row.score):
        return tag("td", "–")
    small = ", ".join(filter(None, (interval(row.low, row.high), p_value(row.p_value))))
    return tag("td", number(row.score), " ", tag("small", small))


def plane_figures(rows: Sequence[Row], data: str, task: str, attacker: str) -> Markup:
    """Table of the utilities and of one attacker's risks: every figure behind a row of planes."""
    here = [
        row
        for row in rows
        if row.data == data
        and (
            (row.kind == "utility" and row.task == task)
            or (
                row.kind == "risk"
                and row.attacker == attacker
                and (not task or row.task in ("", task))
            )
        )
    ]
    utilities = list(dict.fromkeys(row.measure for row in here if row.kind == "utility"))
    words = words_of(rows[0].domain)
    risks = sorted({row.measure for row in here if row.kind == "risk"}, key=words.rank)
    why = {measure: f"risk, {measure}" for measure in risks}
    caption = f"Utility and risk on {data}, attacker {attacker}"
    if any(row.p_value is not None for row in here):
        caption += f"; p: paired randomisation test of {words.utility.name} against {words.plain}"
    return figures(here, caption, [*utilities, *risks], why)


def similarities(rows: Sequence[Row]) -> list[Markup]:
    """Tables of the classical measures, one for each of the data."""
    kinds = ("similarity", "loss")
    found = [row for row in rows if row.kind in kinds and row.mechanism != PLAIN]
    columns = list(dict.fromkeys(row.measure for row in found))
    words = words_of(rows[0].domain if rows else DEFAULT)
    return [
        figures(
            [row for row in found if row.data == data],
            f"Similarity of {words.subjects} and their {words.size} on {data}, with 95 %"
            " intervals",
            columns,
        )
        for data in dict.fromkeys(row.data for row in found)
    ]


def linkages(rows: Sequence[Row]) -> list[Markup]:
    """Tables of how well releases are linked, one for each of the data and attacker."""
    found = [row for row in rows if row.kind == "linkage"]
    places = dict.fromkeys((row.data, row.attacker) for row in found)
    words = words_of(rows[0].domain if rows else DEFAULT)
    return [
        figures(
            [row for row in found if (row.data, row.attacker) == (data, attacker)],
            f"Releases of one {words.subject} found by {attacker} on {data}, with 95 % intervals",
            sorted({row.measure for row in found}, key=words.rank),
        )
        for data, attacker in places
    ]


def facts(pairs: Sequence[tuple[str, str]]) -> Markup:
    """Table of names and values; values are shown as they were typed."""
    body = [
        tag("tr", tag("th", name, scope="row"), tag("td", tag("code", value)))
        for name, value in pairs
    ]
    return table("What produced this report", [head("fact", "value")], body)


def listed(items: Iterable[str]) -> Markup:
    """Return a list of sentences."""
    return tag("ul", *(tag("li", join(item)) for item in items))
