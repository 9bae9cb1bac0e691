"""Bars: a share of the whole, its interval, and a level to compare it with."""

import math

from veil.web.pages.markup import Markup, join, tag


def bar(
    value: float,
    label: str,
    *,
    within: tuple[float, float] | None = None,
    level: float | None = None,
    labelled: str | None = None,
) -> Markup:
    """Draw a bar from 0 to 1.

    The drawing is for the eye; a meter tells the same to those who listen.

    Parameters
    ----------
    within
        The interval of the value, drawn as a whisker.
    level
        Something to compare with, drawn as a dashed line.
    labelled
        Identity of the element that says what is shown; else `label` does.
    """
    full = _inside(value)
    meter = tag(
        "meter", label, min=0, max=1, value=f"{full:.4g}", class_="aside-only",
        aria_label=None if labelled else label, aria_labelledby=labelled,
    )  # fmt: skip
    parts = [tag("rect", class_="full", width=f"{100 * full:.4g}%", height="100%")]
    if within and all(map(math.isfinite, within)):
        low, high = (100 * _inside(end) for end in within)
        parts += [_line("whisker", low, 50, high, 50), _line("whisker", low, 25, low, 75),
                  _line("whisker", high, 25, high, 75)]  # fmt: skip
    if level is not None and math.isfinite(level):
        at = 100 * _inside(level)
        parts.append(_line("level", at, 0, at, 100))
    return join(meter, tag("svg", *parts, class_="track", aria_hidden="true"))


def _inside(value: float) -> float:
    return min(1.0, max(0.0, value)) if math.isfinite(value) else 1.0


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return tag("line", class_=kind, **{name: f"{at:.4g}%" for name, at in ends.items()})
