"""What a report of counts shows besides planes: secrets as they were guessed, and the costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.studies.report.markup import Markup, number, tag
from veil.studies.report.svg import at
from veil.studies.report.tables import head, table
from veil.studies.table import Section

SHOWN = 200  # records of a group that are drawn
_COLUMNS, _SIDE, _GAP, _EDGE = 10, 20.0, 3.0, 4.0
_YES, _NO, _WRONG, _PAPER = "#1d5c8f", "#e3e8ee", "#c4431a", "#ffffff"

_HINT = (
    "Each square is a record of the first group, in the order of the file: dark where the secret"
    " is true, light where it is not. The first picture is the truth, the others are what the"
    " attacker {by} made of noisy counts alone; a crossed square is a wrong guess. It was made"
    " with the true secrets: keep this report to yourself."
)
_WHY = (
    "A guarantee of one answer is not that of all: the budgets of all questions are summed (basic"
    " composition; 'veil dp compose' has tighter sums). Many accurate answers about one small"
    " group are lost to privacy, whatever noise each of them has; the total says why."
)


@dataclass(frozen=True, eq=False)
class Guessed:
    """What an attacker guessed of a group (n,), by the spec of the mechanism."""

    spec: str
    by: str
    found: Floats


@dataclass(frozen=True)
class Bill:
    """What the questions of an attacker cost: each answer, and all of them; and its success.

    `size` is how many answers each question has.
    """

    spec: str
    by: str
    asked: int
    size: int
    each: Guarantee
    total: Guarantee
    advantage: float


def secrets_drawn(secret: Ids, guessed: Sequence[Guessed]) -> Section:
    """Draw a group beside what was guessed of it."""
    blind = int(max(secret.sum(), (1 - secret).sum()))
    truth = _figure(secret, None, "The truth", f"a blind guess gets {blind:,} of {len(secret):,}")
    drawn = [_figure(secret, one.found, one.spec, _right(secret, one.found)) for one in guessed]
    by = guessed[0].by
    parts = (
        tag("p", _HINT.format(by=by), class_="hint"),
        tag("div", truth, *drawn, class_="panels"),
    )
    return Section("secrets", "Secrets, and what was guessed", parts, private=True)


def costs(bills: Sequence[Bill]) -> Section:
    """Put the costs of all questions beside what they gave away."""
    body = [
        tag(
            "tr",
            tag("th", bill.spec, scope="row"),
            tag("td", bill.by),
            tag("td", f"{bill.asked:,}" + (f" × {bill.size:,}" if bill.size > 1 else "")),
            tag("td", short(bill.each)),
            tag("td", short(bill.total)),
            tag("td", number(bill.advantage, 2)),
        )
        for bill in bills
    ]
    heads = [head("configuration", "attacker", "questions", "each answer", "in all", "advantage")]
    shown = table("What all questions of an attacker cost one record", heads, body)
    return Section(
        "costs", "Why: what the answers cost in all", (tag("p", _WHY, class_="hint"), shown)
    )


def short(claim: Guarantee) -> str:
    """Say a guarantee in its numbers alone.

    >>> short(Guarantee("dp", 0.5, unit="record")), short(Guarantee("none", unit="record"))
    ('epsilon 0.5', 'no formal guarantee')
    """
    return str(claim).removesuffix(f", per {claim.unit}").removeprefix(f"{claim.kind}: ")


def _right(secret: Ids, found: Floats) -> str:
    return f"{int((bits_of(found) == secret).sum()):,} of {len(secret):,} right"


def bits_of(found: Floats) -> Ids:
    """Return guesses as bits, rounded at 1/2; -1 where there is none."""
    return np.where(np.isfinite(found), (np.nan_to_num(found) >= 0.5).astype(np.int64), -1)


def _figure(secret: Ids, found: Floats | None, title: str, said: str) -> Markup:
    """Draw a group as squares; wrong guesses are crossed."""
    shown = secret[:SHOWN] if found is None else bits_of(found)[:SHOWN]
    step = _SIDE + _GAP
    width = 2 * _EDGE + _COLUMNS * step - _GAP
    height = 2 * _EDGE + -(-len(shown) // _COLUMNS) * step - _GAP
    parts = [tag("rect", width=at(width), height=at(height), fill=_PAPER)]
    for place, bit in enumerate(shown.tolist()):
        x, y = _EDGE + place % _COLUMNS * step, _EDGE + place // _COLUMNS * step
        colour = {1: _YES, 0: _NO}.get(bit, _PAPER)
        parts.append(
            tag("rect", x=at(x), y=at(y), width=at(_SIDE), height=at(_SIDE), rx="3", fill=colour,
                stroke="#b9c2cc" if bit < 1 else _YES)
        )  # fmt: skip
        if bit != secret[place]:
            cross = f"M{at(x + 4)} {at(y + 4)}l12 12M{at(x + 16)} {at(y + 4)}l-12 12"
            parts.append(tag("path", d=cross, stroke=_PAPER, stroke_width="6", class_="halo"))
            parts.append(tag("path", d=cross, stroke=_WRONG, stroke_width="3.5", class_="wrong"))
    more = "" if len(secret) <= SHOWN else f"; the first {SHOWN} are drawn"
    svg = tag(
        "svg", tag("title", title), tag("desc", f"{title}: {said}."), *parts, role="img",
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {at(width)} {at(height)}",
        width=at(width), height=at(height), class_="secrets",
    )  # fmt: skip
    caption = tag("figcaption", tag("strong", title), tag("br"), f"{said}{more}")
    return tag("figure", caption, svg, class_="secret")
