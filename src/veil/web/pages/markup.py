"""Pieces of all pages: escaped elements, numbers and times in words, bars."""

import math
from dataclasses import dataclass
from datetime import datetime

from veil.drawing.markup import Markup as Markup
from veil.drawing.markup import join as join
from veil.drawing.markup import number, percent
from veil.drawing.markup import tag as tag
from veil.proxy.settings import Budget
from veil.proxy.slider import MeasuredPlane
from veil.search.locality import Locality

ON = ""  # value of an attribute that counts by being there


def void(name: str, **attributes: object) -> Markup:
    """Return an element that has no content, such as a field of a form.

    >>> void("input", name_="q", required=ON, value=None)
    '<input name="q" required="">'
    """
    return Markup(tag(name, **attributes).removesuffix(f"</{name}>"))


def hidden(words: str) -> Markup:
    """Say something to those who listen to the page alone."""
    return tag("span", words, class_="aside-only")


def isolated(words: str) -> Markup:
    """Show foreign words: their direction of writing is their own and touches nothing else."""
    return tag("bdi", words)


@dataclass(frozen=True, slots=True)
class Common:
    """What every page shows: the engine, the budget, and the stops of the slider.

    Attributes
    ----------
    engine, network
        Spec of the engine, and whether variants leave the machine.
    budget
        What was spent in the last 24 hours, and what may be.
    plane
        What the slider moves along.
    stop
        Where the slider stands: a place in ``plane.stops``.
    standing, collection
        What the engine is to the user, and the name of the documents that it searches here.
    """

    engine: str
    network: bool
    budget: Budget
    plane: MeasuredPlane
    stop: int
    standing: Locality = "elsewhere"
    collection: str = ""

    @property
    def own(self) -> bool:
        """Whether documents of the user's own are searched, on this machine."""
        return self.standing == "own"

    @property
    def foreign(self) -> bool:
        """Whether the figures of the plane were measured on other documents, or not here."""
        return self.collection != self.plane.collection


_SPACE = "\N{NO-BREAK SPACE}"


def amount(value: float) -> str:
    """Write what was or may be spent.

    >>> amount(720.0), amount(10000.0), amount(0.25), amount(float("inf"))
    ('720', '10,000', '0.25', 'without bound')
    """
    if not math.isfinite(value):
        return "without bound"
    text = f"{value:,.2f}".rstrip("0").rstrip(".")
    return text if text not in ("-0", "0") or not value else "less than 0.01"


def bits(value: float) -> str:
    """Write an amount of leakage.

    >>> bits(6.4919), bits(0.0), bits(300.0), bits(1.0), bits(float("inf"))
    ('6.49 bits', 'no bits', '300 bits', '1 bit', 'bits without bound')
    """
    if not math.isfinite(value):
        return "bits without bound"
    text = amount(value)
    return "no bits" if not value else f"{text} bit{'' if text == '1' else 's'}"


def count(value: int, one: str, many: str = "") -> str:
    """Write a number with its noun.

    >>> count(1, "variant"), count(12345, "query", "queries"), count(0, "word")
    ('1 variant', '12,345 queries', 'no words')
    """
    noun = one if value == 1 else many or f"{one}s"
    return f"{value:,} {noun}" if value else f"no {noun}"


def ordinal(value: int) -> str:
    """Write a place in an order.

    >>> [ordinal(one) for one in (1, 2, 3, 4, 11, 112, 1023)]
    ['1st', '2nd', '3rd', '4th', '11th', '112th', '1,023rd']
    """
    teen = value % 100 in (11, 12, 13)
    return f"{value:,}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def share(value: float) -> str:
    """Write a share so that it stays on one line.

    >>> share(0.15).replace(_SPACE, " "), share(0.0312).replace(_SPACE, " ")
    ('15 %', '3.1 %')
    """
    return percent(value).replace(" %", f"{_SPACE}%")


def share_at_most(value: float) -> str:
    """Write a bound of a share, rounded up: it must not become a lower one.

    >>> share_at_most(0.2401).replace(_SPACE, " "), share_at_most(2.0).replace(_SPACE, " ")
    ('25 %', '100 %')
    """
    if not math.isfinite(value):
        return "–"
    return f"{min(100, math.ceil(100 * value - 1e-9))}{_SPACE}%"


def shares(low: float, high: float) -> str:
    """Write an interval of shares, or nothing when it is not known.

    >>> shares(0.0812, 0.24).replace(_SPACE, " "), shares(float("nan"), 1.0)
    ('8.1–24 %', '')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{share(low).removesuffix(f'{_SPACE}%')}–{share(high)}"


def figures(low: float, high: float) -> str:
    """Write an interval of figures from 0 to 1, or nothing when it is not known.

    >>> figures(0.5, 0.625)
    '0.50–0.62'
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{number(low, 2)}–{number(high, 2)}"


def moment(when: datetime) -> str:
    """Write a time by the clock of this machine.

    >>> moment(datetime(2026, 11, 16, 9, 5))
    '2026-11-16 09:05'
    """
    return (when.astimezone() if when.tzinfo else when).strftime("%Y-%m-%d %H:%M")


def listed(names: tuple[str, ...]) -> str:
    """Name several things.

    >>> listed(("bayes",)), listed(("a", "b", "c"))
    ('bayes', 'a, b and c')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


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
