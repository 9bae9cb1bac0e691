"""Where queries leave as they are, or nearly so: a sentence for the summary of a report."""

import math
from collections.abc import Sequence

from veil.studies.plane import key, names
from veil.studies.report.markup import Markup, join, percent, tag
from veil.studies.table import PLAIN, Row

IN_CLEAR = "in clear"  # share of queries one of whose variants is the query itself
OFTEN = 0.1  # share of queries one of whose variants is the query itself
CLEAR = 0.9  # from this share of kept words, or of queries found at once, a text is all but clear


def in_clear(rows: Sequence[Row]) -> Markup:
    """Say with which mechanisms, and values of their parameters, that happens."""
    kept = [row for row in rows if row.kind == "similarity" and row.measure == IN_CLEAR]
    if kept:
        return _sent(rows, kept)
    kept = [row for row in rows if row.kind == "similarity" and row.measure == "jaccard"]
    why = f"at least {percent(CLEAR)} of the words are shared with the query (Jaccard)"
    if not kept:
        kept = [row for row in rows if row.kind == "risk" and row.measure == "lazy"]
        why = f"at least {percent(CLEAR)} of the queries are guessed at once"
    if not kept:
        return join("Whether queries go out nearly in clear was not measured.")
    told = _above(rows, kept, CLEAR)
    if not told:
        return join(f"No configuration sends queries nearly in clear ({why}).")
    return join("Queries leave ", tag("strong", "nearly in clear"), f" with {told}: {why}.")


def _sent(rows: Sequence[Row], kept: Sequence[Row]) -> Markup:
    """Say where the query itself is among its variants."""
    told = _above(rows, kept, OFTEN)
    if not told:
        return join(
            "No configuration sends the query itself among its variants for"
            f" {percent(OFTEN)} of the queries or more."
        )
    return join(
        "Queries leave ", tag("strong", "in clear"), f" with {told}: for {percent(OFTEN)} of them"
        " or more one of the variants is the query itself."
    )  # fmt: skip


def _above(rows: Sequence[Row], kept: Sequence[Row], limit: float) -> str:
    """Name the mechanisms, and the values of their parameters, that reach `limit`."""
    named = names(rows)
    values: dict[str, list[Row]] = {}
    for row in kept:
        if row.mechanism != PLAIN and row.score >= limit:
            values.setdefault(named[key(row), 0], []).append(row)
    return ", ".join(_span(name, found) for name, found in values.items())


def _span(name: str, found: Sequence[Row]) -> str:
    values = sorted({row.value for row in found})
    parameter = found[0].parameter
    if not parameter or not all(map(math.isfinite, values)):
        return name
    if len(values) == 1:
        return f"{name} ({parameter} {values[0]:g})"
    return f"{name} ({parameter} {values[0]:g} to {values[-1]:g})"
