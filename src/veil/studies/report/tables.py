"""Tables of configurations and measures."""

import math
from collections.abc import Iterable, Sequence

from veil.studies._curves import PLAIN, key, rank
from veil.studies.report.markup import Markup, interval, join, number, p_value, tag
from veil.studies.table import Row

SIMILARITY = ("jaccard", "cosine", "bleu", "meteor", "N_w", "S_w", "in clear")


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
    return table(caption, [head("configuration", "variants", *shown)], body)


def figure(row: Row | None) -> Markup:
    """Return the cell of one figure."""
    if row is None or not math.isfinite(row.score):
        return tag("td", "–")
    small = ", ".join(filter(None, (interval(row.low, row.high), p_value(row.p_value))))
    return tag("td", number(row.score), " ", tag("small", small))


def plane_figures(rows: Sequence[Row], collection: str, engine: str, attacker: str) -> Markup:
    """Table of the utilities and of one attacker's risks: every figure behind a row of planes."""
    here = [
        row
        for row in rows
        if row.collection == collection
        and (
            (row.kind == "utility" and row.engine == engine)
            or (
                row.kind == "risk"
                and row.attacker == attacker
                and (not engine or row.engine in ("", engine))
            )
        )
    ]
    utilities = list(dict.fromkeys(row.measure for row in here if row.kind == "utility"))
    risks = sorted({row.measure for row in here if row.kind == "risk"}, key=rank)
    why = {measure: f"risk, {measure}" for measure in risks}
    caption = f"Utility and risk on {collection}, attacker {attacker}"
    if any(row.p_value is not None for row in here):
        caption += "; p: paired randomisation test of nDCG@10 against plain search"
    return figures(here, caption, [*utilities, *risks], why)


def similarities(rows: Sequence[Row]) -> list[Markup]:
    """Tables of the classical measures, one for each collection."""
    found = [row for row in rows if row.kind == "similarity" and row.mechanism != PLAIN]
    measures = list(dict.fromkeys(row.measure for row in found))
    known = [measure for measure in SIMILARITY if measure in measures]
    columns = known + [measure for measure in measures if measure not in known]
    collections = dict.fromkeys(row.collection for row in found)
    return [
        figures(
            [row for row in found if row.collection == collection],
            f"Similarity of queries and their variants on {collection}, with 95 % intervals",
            columns,
        )
        for collection in collections
    ]


def linkages(rows: Sequence[Row]) -> list[Markup]:
    """Tables of how well releases are linked, one for each collection and attacker."""
    found = [row for row in rows if row.kind == "linkage"]
    places = dict.fromkeys((row.collection, row.attacker) for row in found)
    return [
        figures(
            [row for row in found if (row.collection, row.attacker) == (collection, attacker)],
            f"Releases of one query found by {attacker} on {collection}, with 95 % intervals",
            sorted({row.measure for row in found}, key=rank),
        )
        for collection, attacker in places
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
