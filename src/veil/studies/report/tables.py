"""Tables of a report: configurations, measures, scores, claims and examples."""

import math
from collections.abc import Sequence
from difflib import SequenceMatcher

from veil.core.guarantee import KINDS
from veil.drawing.markup import Markup, interval, join, number, p_value, tag
from veil.drawing.page import head, table
from veil.studies import DEFAULT
from veil.studies.domains import OTHER, mechanism_class, vocabulary
from veil.studies.experiment import Vocabulary
from veil.studies.panels import key
from veil.studies.results import PLAIN, Card, Example, Row, Score


def figures(
    rows: Sequence[Row], caption: str, columns: Sequence[str], why: dict[str, str] | None = None
) -> Markup:
    """Return a table of configurations by measures, with the interval of each figure."""
    curves = list(dict.fromkeys(key(row) for row in rows))
    cells: dict[tuple[str, int], dict[str, Row]] = {}
    for row in sorted(rows, key=lambda row: (curves.index(key(row)), row.value, row.size)):
        cells.setdefault((row.spec, row.size), {})[row.measure] = row
    body = [
        tag(
            "tr",
            tag("th", spec, scope="row"),
            tag("td", str(size)),
            *(figure(by_measure.get(column)) for column in columns),
        )
        for (spec, size), by_measure in cells.items()
    ]
    shown = [(why or {}).get(column, column) for column in columns]
    size = vocabulary(rows[0].domain if rows else DEFAULT).size
    return table(caption, [head("configuration", size, *shown)], body)


def figure(row: Row | None) -> Markup:
    """Return the cell of one figure."""
    if row is None or not math.isfinite(row.score):
        return tag("td", "–")
    small = ", ".join(filter(None, (interval(row.low, row.high), p_value(row.p_value))))
    return tag("td", number(row.score), " ", tag("small", small))


def plane_figures(rows: Sequence[Row], data: str, task: str, attacker: str) -> Markup:
    """Return the table of the utilities and of one attack's risks: all figures of its planes."""
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
    words = vocabulary(rows[0].domain)
    risks = sorted({row.measure for row in here if row.kind == "risk"}, key=words.rank)
    why = {measure: f"risk, {measure}" for measure in risks}
    caption = f"Utility and risk on {data}, attacker {attacker}"
    if any(row.p_value is not None for row in here):
        caption += f"; p: paired randomisation test of {words.utility.name} against {words.plain}"
    return figures(here, caption, [*utilities, *risks], why)


def similarities(rows: Sequence[Row]) -> list[Markup]:
    """Return a table of the classical measures for each data."""
    kinds = ("similarity", "loss")
    selection = [row for row in rows if row.kind in kinds and row.mechanism != PLAIN]
    columns = list(dict.fromkeys(row.measure for row in selection))
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    return [
        figures(
            [row for row in selection if row.data == data],
            f"Similarity of {words.subjects} and their {words.size} on {data}, with 95 %"
            " intervals",
            columns,
        )
        for data in dict.fromkeys(row.data for row in selection)
    ]


def utilities(rows: Sequence[Row]) -> list[Markup]:
    """Return a table of all measures of utility for each data and task."""
    selection = [row for row in rows if row.kind == "utility"]
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    return [
        figures(
            inside,
            f"Utility on {data}{f' with {task}' if task else ''}, with 95 % intervals",
            sorted(dict.fromkeys(row.measure for row in inside),
                   key=lambda name: name.casefold() != words.utility.name.casefold()),
        )
        for data, task in dict.fromkeys((row.data, row.task) for row in selection)
        if (inside := [row for row in selection if (row.data, row.task) == (data, task)])
    ]  # fmt: skip


def linkages(rows: Sequence[Row]) -> list[Markup]:
    """Return a table of linkage for each data and attack."""
    selection = [row for row in rows if row.kind == "linkage"]
    places = dict.fromkeys((row.data, row.attacker) for row in selection)
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    return [
        figures(
            [row for row in selection if (row.data, row.attacker) == (data, attacker)],
            f"Releases of one {words.subject} linked by {attacker} on {data}, with 95 % intervals",
            sorted({row.measure for row in selection}, key=words.rank),
        )
        for data, attacker in places
    ]


def facts(pairs: Sequence[tuple[str, str]]) -> Markup:
    """Return a table of names and values, with the values in a code font."""
    body = [
        tag("tr", tag("th", name, scope="row"), tag("td", tag("code", value)))
        for name, value in pairs
    ]
    return table("How this report was computed", [head("fact", "value")], body)


_Column = tuple[str, str]  # measure, data and task


def score_tables(scores: Sequence[Score]) -> list[Markup]:
    """Return a table for each attack: mechanisms by measures of success and data."""
    return [
        _table(attacker, [score for score in scores if score.attacker == attacker])
        for attacker in dict.fromkeys(score.attacker for score in scores)
    ]


def strategy(mechanism: str, domain: str = DEFAULT) -> str:
    """Return the declared family of a mechanism, or `OTHER` for an unknown one."""
    return str(getattr(mechanism_class(domain, mechanism.casefold()), "family", OTHER))


def _order(family: str, words: Vocabulary) -> tuple[int, str]:
    families = words.families
    place = families.index(family) if family in families else len(families) + (family == OTHER)
    return place, family


def _table(attacker: str, scores: Sequence[Score]) -> Markup:
    several = len({score.task for score in scores}) > 1
    words = vocabulary(scores[0].domain)
    cells: dict[tuple[str, str], dict[_Column, Score]] = {}
    columns: dict[_Column, None] = {}
    for score in scores:
        place = f"{score.data}, {score.task}" if several else score.data
        row = cells.setdefault((strategy(score.mechanism, score.domain), score.curve), {})
        row[score.measure, place] = score
        columns[score.measure, place] = None
    measures = dict.fromkeys(measure for measure, _ in columns)
    ordered = [column for measure in measures for column in columns if column[0] == measure]
    body = []
    for group in sorted({of for of, _ in cells}, key=lambda of: _order(of, words)):
        inside = [(name, row) for (of, name), row in cells.items() if of == group]
        for i, (name, row) in enumerate(inside):
            first = tag("th", group, scope="rowgroup", rowspan=len(inside)) if not i else ""
            shown = (_cell(row.get(column)) for column in ordered)
            body.append(tag("tr", first, tag("th", name, scope="row"), *shown))
    return table(f"QuIPU scores against {attacker}", _heads(ordered), body)


def _cell(score: Score | None) -> Markup:
    if score is None or not math.isfinite(score.score):
        return tag("td", "–")
    value = number(score.score)
    shown = tag("strong", value) if score.best else join(value)
    marks = (" ≈" if score.alike else "") + ("†" if score.points == 1 else "")
    marks += "‡" if score.missing else ""
    small = interval(score.low, score.high, 3) if score.points > 1 else ""
    return tag("td", shown, marks, tag("small", small) if small else "", class_="score")


def _heads(columns: Sequence[_Column]) -> list[Markup]:
    measures = dict.fromkeys(measure for measure, _ in columns)
    upper = [
        tag("th", f"{measure} attacker", scope="colgroup",
            colspan=sum(column[0] == measure for column in columns))
        for measure in measures
    ]  # fmt: skip
    sides = [tag("th", name, scope="col", rowspan=2) for name in ("strategy", "mechanism")]
    lower = [tag("th", place, scope="col") for _, place in columns]
    return [tag("tr", *sides, *upper), tag("tr", *lower)]


def cards(claims: Sequence[Card]) -> list[Markup]:
    """Return a card for each guarantee, with all configurations of a mechanism that share it."""
    groups: dict[tuple[str, str, str, str, str], list[Card]] = {}
    for card in claims:
        name = card.spec.partition("(")[0]
        claim = (name, card.kind, card.means, card.caveat, card.unit)
        groups.setdefault(claim, []).append(card)
    return [_card(*claim, group) for claim, group in groups.items()]


def _card(
    name: str, kind: str, means: str, caveat: str, unit: str, group: Sequence[Card]
) -> Markup:
    parts = [tag("h3", f"{name}: {_kind_title(kind)}"), tag("p", means or _inequality(kind))]
    if caveat:
        parts.append(tag("p", tag("strong", "Not covered: "), caveat))
    body = [
        tag("tr", tag("th", card.spec, scope="row"), tag("td", _epsilon(card)),
            tag("td", card.total))
        for card in group
    ]  # fmt: skip
    heads = [head("configuration", f"ε per {unit}", "total for the release")]
    return tag("article", *parts, table(f"Budgets of {name} ({kind})", heads, body), class_="card")


def _kind_title(kind: str) -> str:
    return "no formal guarantee" if kind == "none" else kind


def _inequality(kind: str) -> str:
    return next((means for name, means in KINDS.items() if name == kind), "")


def _epsilon(card: Card) -> str:
    if card.epsilon is None or math.isnan(card.epsilon):
        return "–"
    return "∞ (no bound)" if math.isinf(card.epsilon) else f"{card.epsilon:g}"


SHOWN = 3  # releases of each example


def examples(samples: Sequence[Example], words: Vocabulary) -> list[Markup]:
    """Return a block for each subject: its configurations and some releases of each."""
    blocks = []
    for i, subject in enumerate(dict.fromkeys(example.subject for example in samples)):
        body = [
            tag(
                "tr",
                tag("th", example.spec, scope="row"),
                tag("td", *_releases(subject, example.releases)),
            )
            for example in samples
            if example.subject == subject
        ]
        caption = f"{words.size.capitalize()} of “{subject}”"
        shown = table(caption, [head("configuration", words.size)], body)
        opened = {"open": ""} if i == 0 else {}
        summary = tag("summary", f"{words.subject.capitalize()}: ", tag("q", subject))
        blocks.append(tag("details", summary, shown, **opened))
    return blocks


def changed(subject: str, release: str) -> list[tuple[str, bool]]:
    """Return the words of a release, each with whether it differs from the original.

    Words are compared by position if both texts have as many, else along their longest common
    subsequence. Case is ignored.

    >>> changed("heart attack signs", "Heart attempt signs")
    [('Heart', False), ('attempt', True), ('signs', False)]
    """
    before, words = subject.casefold().split(), release.split()
    after = [word.casefold() for word in words]
    if len(before) == len(after):
        unchanged = {i for i, word in enumerate(after) if word == before[i]}
    else:
        blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        unchanged = {block.b + i for block in blocks for i in range(block.size)}
    return [(word, i not in unchanged) for i, word in enumerate(words)]


def _releases(subject: str, releases: Sequence[str]) -> list[Markup]:
    lines = []
    for release in releases[:SHOWN]:
        marked = changed(subject, release)
        words = [join(tag("mark", word) if new else word, " ") for word, new in marked]
        if not any(new for _, new in marked):
            words.append(tag("small", "(no new word)" if marked else "(empty)"))
        lines.append(tag("div", *words))
    if len(releases) > SHOWN:
        lines.append(tag("small", f"and {len(releases) - SHOWN} more"))
    return lines
