"""Shares against counts: lines on a logarithmic axis, with a label at the end of each."""

import math
from collections.abc import Sequence

from veil.drawing.axes import (
    Curve,
    LogScale,
    chart,
    draw_line,
    draw_point,
    frame,
    level,
    spread,
    text,
    unit_y,
)
from veil.drawing.markup import Markup, number, tag

_USUAL = (1, 2, 5, 10, 20, 50)


def draw_lines(
    identity: str,
    title: str,
    curves: Sequence[Curve],
    below: str,
    left: str,
    chance: float | None = None,
) -> Markup:
    """Draw lines; the label of a curve's last point is next to its end.

    Parameters
    ----------
    below, left
        Names of the axes.
    chance
        What a blind guess reaches.
    """
    scale = LogScale([point.x for curve in curves for point in curve.points])
    ends = spread([unit_y(curve.points[-1].y) for curve in curves])
    parts = [frame(scale.ticks(_USUAL), below, left)]
    if chance is not None and math.isfinite(chance):
        parts.append(level(chance, "chance"))
    for curve, end in zip(curves, ends, strict=True):
        places = [(scale.place(point.x), unit_y(point.y)) for point in curve.points]
        drawing = draw_line(places)
        mark = curve.style if curve.mark is None else curve.mark
        for point, place in zip(curve.points, places, strict=True):
            along = (unit_y(point.along[0]), unit_y(point.along[1])) if point.along else None
            drawing.append(draw_point(point, mark, place, None, along))
        if label := curve.points[-1].label:
            drawing.append(text(places[-1][0] + 8, end + 3, label, "value", "start"))
        parts.append(tag("g", *drawing, class_=curve.classes, data_curve=curve.name))
    return chart(identity, title, _describe(curves, below), *parts)


def _describe(curves: Sequence[Curve], below: str) -> str:
    """Name the ends of each line; a table next to the chart has every figure."""
    unit = below.removesuffix(" →")
    return " ".join(
        f"{curve.points[0].name or curve.name}: {number(curve.points[0].y, 2)} at"
        f" {curve.points[0].x:g} and {number(curve.points[-1].y, 2)} at {curve.points[-1].x:g}"
        f" {unit}."
        for curve in curves
    )
