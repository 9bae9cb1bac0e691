"""What is claimed of each configuration."""

import math
from collections.abc import Sequence

from veil.core.guarantee import KINDS
from veil.studies.report.markup import Markup, tag
from veil.studies.report.tables import head, table
from veil.studies.table import Card


def cards(found: Sequence[Card]) -> list[Markup]:
    """Return a card for each claim, with all configurations of one mechanism that share it."""
    groups: dict[tuple[str, str, str, str, str], list[Card]] = {}
    for card in found:
        name = card.spec.partition("(")[0]
        claim = (name, card.kind, card.means, card.caveat, card.unit)
        groups.setdefault(claim, []).append(card)
    return [_card(*claim, group) for claim, group in groups.items()]


def _card(
    name: str, kind: str, means: str, caveat: str, unit: str, group: Sequence[Card]
) -> Markup:
    told = [tag("h3", f"{name}: {_plain(kind)}"), tag("p", means or _inequality(kind))]
    if caveat:
        told.append(tag("p", tag("strong", "Not covered: "), caveat))
    body = [
        tag("tr", tag("th", card.spec, scope="row"), tag("td", _epsilon(card)),
            tag("td", card.total))
        for card in group
    ]  # fmt: skip
    heads = [head("configuration", f"ε per {unit}", "total for the release")]
    return tag("article", *told, table(f"Budgets of {name} ({kind})", heads, body), class_="card")


def _plain(kind: str) -> str:
    return "no formal guarantee" if kind == "none" else kind


def _inequality(kind: str) -> str:
    return next((means for known, means in KINDS.items() if known == kind), "")


def _epsilon(card: Card) -> str:
    if card.epsilon is None or math.isnan(card.epsilon):
        return "–"
    return "∞ (no bound)" if math.isinf(card.epsilon) else f"{card.epsilon:g}"
