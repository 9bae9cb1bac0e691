"""Print how far simple measures of risk order mechanisms as QuIPU does.

``python -m benchmarks.correlation [RESULTS]`` reads a results.csv of ``veil audit`` (without one,
the figures that are shipped with the slider). Each curve, a mechanism with the values of its
parameter, has a QuIPU score against each attacker and measure, and a mean risk over its points.
The table has Spearman's rank correlation of the mean risk by each attacker and measure with the
score by a reference attacker, over the curves that both have, with a 95 % bootstrap interval over
these curves. They are few: an interval that is wide says so. Of a mechanism that was tried with
several numbers of releases the largest counts.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.estimate import Estimate, interval, resamples
from veil.core.types import Floats
from veil.measures.quipu import quipu
from veil.proxy.slider import SHIPPED
from veil.studies.domains import vocabulary
from veil.studies.export import read_csv
from veil.studies.panels import Panel, key, panels
from veil.studies.results import Row

LEAST = 4  # curves, for a correlation to say anything
Curves = dict[str, float]  # a figure for each curve, by its name


def once(rows: Sequence[Row]) -> list[Row]:
    """Keep each mechanism once: with the most releases of each subject that it was tried with."""
    most: dict[tuple[str, str, str], int] = {}
    for row in rows:
        if row.kind == "risk":
            most[key(row)] = max(most.get(key(row), 0), row.size)
    return [row for row in rows if row.size == most.get(key(row), row.size)]


def mean_risk(panel: Panel) -> Curves:
    """Return the mean risk over the points of each curve."""
    return {
        curve.name: float(np.mean([point.risk.score for point in curve.points]))
        for curve in panel.curves
        if len(curve.points) > 1
    }


def scores(panel: Panel) -> Curves:
    """Return the QuIPU score of each curve; a risk with a lower top than 1 is stretched to it."""
    top = vocabulary(panel.domain).axis(panel.measure).top
    return {
        curve.name: quipu(
            np.clip([point.risk.score / top for point in curve.points], 0, 1),
            [point.utility.score for point in curve.points],
        )
        for curve in panel.curves
        if len(curve.points) > 1
    }


def _ranks(values: Floats) -> Floats:
    """Return ranks along the last axis; equal values share the mean of theirs."""
    below = (values[..., None, :] < values[..., :, None]).sum(axis=-1)
    level = (values[..., None, :] == values[..., :, None]).sum(axis=-1)
    ranks: Floats = below + (level + 1) / 2
    return ranks


def _correlated(one: Floats, other: Floats) -> Floats:
    """Return Spearman's correlation along the last axis, 0 where one of them does not vary."""
    x, y = (ranks - ranks.mean(axis=-1, keepdims=True) for ranks in map(_ranks, (one, other)))
    spread = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    both = (x * y).sum(axis=-1)
    found: Floats = np.divide(both, spread, out=np.zeros_like(both), where=spread > 0)
    return found


def spearman(one: Curves, other: Curves) -> Estimate | None:
    """Return the correlation over the curves that both have, None where they are too few."""
    names = [name for name in one if name in other]
    if len(names) < LEAST:
        return None
    x, y = (np.array([values[name] for name in names]) for values in (one, other))
    drawn = np.concatenate(list(resamples(len(names))))
    value = float(_correlated(x, y))
    return interval(value, _correlated(x[drawn], y[drawn]), len(names))


def correlations(rows: Sequence[Row], attacker: str = "") -> list[tuple[str, list[str]]]:
    """Return a line for each attacker and measure, under a heading that is the first of them."""
    found = panels(rows)
    if not found:
        raise InputError("The table has no curves of risk and utility; run 'veil audit' first.")
    counted = Counter(panel.attacker for panel in found for _ in panel.curves)
    chosen = attacker or counted.most_common(1)[0][0]
    task = found[0].task
    wanted = [panel for panel in found if panel.task == task]
    columns = [panel for panel in wanted if panel.attacker == chosen]
    if not columns:
        raise InputError(f"The table has no attacker {chosen}.")
    lines = [("mean risk by", [f"QuIPU ({chosen}, {panel.measure})" for panel in columns])]
    for panel in wanted:
        made = [spearman(mean_risk(panel), scores(column)) for column in columns]
        if any(made):
            lines.append((f"{panel.attacker}, {panel.measure}", [_told(one) for one in made]))
    return lines


def agreement(rows: Sequence[Row], attacker: str = "") -> list[tuple[str, list[str]]]:
    """Return how far the QuIPU score by one measure orders the curves as that by another."""
    found = panels(rows)
    counted = Counter(panel.attacker for panel in found for _ in panel.curves)
    chosen = attacker or counted.most_common(1)[0][0]
    alike = [p for p in found if (p.attacker, p.task) == (chosen, found[0].task)]
    lines = [(f"QuIPU ({chosen}) by", [panel.measure for panel in alike])]
    for panel in alike:
        made = [_told(spearman(scores(panel), scores(other))) for other in alike]
        lines.append((panel.measure, made))
    return lines


def _told(one: Estimate | None) -> str:
    return "-" if one is None else f"{float(one):+.2f} [{one.low:+.2f}, {one.high:+.2f}] ({one.n})"


def show(lines: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Print a table in Markdown."""
    for number, (name, cells) in enumerate(lines):
        print("| " + " | ".join([name, *cells]) + " |")
        if not number:
            print("|---" * (1 + len(cells)) + "|")


def main() -> None:
    """Read a table, and print both tables of correlations."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("results", nargs="?", type=Path, default=SHIPPED)
    parser.add_argument("--attacker", default="", help="whose QuIPU is the reference")
    given = parser.parse_args()
    rows = once(read_csv(given.results))
    show(correlations(rows, given.attacker))
    print()
    show(agreement(rows, given.attacker))


if __name__ == "__main__":
    main()
