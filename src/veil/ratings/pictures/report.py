"""Lists before and after, and who could be found, for the report of a study."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.ratings.pictures.shares import KNOWN as KNOWN
from veil.ratings.pictures.shares import found_by, told_shares
from veil.ratings.protections import PROTECTIONS
from veil.studies.plane import is_utility
from veil.studies.report.markup import Markup, tag
from veil.studies.report.tables import head, table
from veil.studies.table import PLAIN, Results, Section

_LISTS = (
    "What somebody would be recommended, before and after, for a few users: ✓ marks an item that"
    " she liked and that was held out. The lists are of real people in the ratings, whose ids are"
    " not shown: keep this report to yourself."
)
_FOUND = (
    "How many users could be found again among all released profiles, by somebody who knows a few"
    " items that they rated, and about how. Counted are first guesses that are right; profiles"
    " that look the same share them."
)


@dataclass(eq=False)
class Shown:
    """What there is to show of one configuration: lists (users, k), and shares found."""

    lists: Ids | None = None
    shares: Floats | None = None


def pictured(
    shown: Mapping[str, Shown],
    results: Results,
    titles: Sequence[str],
    people: Sequence[Ids],
    wanted: Sequence[Set[int]],
) -> list[Section]:
    """Return a section of lists, and one of users who could be found."""
    sections = []
    before = shown.get(PLAIN, Shown()).lists
    utilities = {row.spec: row.score for row in filter(is_utility, results.rows)}
    after = [
        (spec, one.lists)
        for spec, one in shown.items()
        if spec != PLAIN and one.lists is not None and spec in chosen(utilities)
    ]
    if before is not None and after:
        parts = [tag("p", _LISTS, class_="hint")]
        for place, liked in enumerate(people):
            columns = [("before", before[place])]
            columns += [(title_of(spec), lists[place]) for spec, lists in after]
            parts += _lists(columns, [titles[item] for item in liked], titles, wanted[place])
        sections.append(Section("lists", "Lists before and after", tuple(parts), private=True))
    found = {title_of(spec): one.shares for spec, one in shown.items() if one.shares is not None}
    if found:
        parts = [tag("p", _FOUND, class_="hint"), found_by(found), told_shares(found)]
        sections.append(Section("found", "Who could be found", tuple(parts)))
    return sections


def chosen(utilities: Mapping[str, float]) -> set[str]:
    """Return the configurations whose lists are shown: the least, the middle, the most useful.

    >>> sorted(chosen({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}))
    ['a', 'c', 'd']
    """
    ranked = sorted((spec for spec in utilities if spec != PLAIN), key=lambda one: utilities[one])
    return {ranked[place] for place in (0, len(ranked) // 2, -1)} if ranked else set()


def title_of(spec: str) -> str:
    """Return a spec without the parameters that have their default."""
    return "no protection" if spec == PLAIN else PROTECTIONS.parse(spec).brief


def _lists(
    columns: Sequence[tuple[str, Ids]],
    liked: Sequence[str],
    titles: Sequence[str],
    wanted: Set[int],
) -> list[Markup]:
    depth = max(len(index) for _, index in columns)
    body = [
        tag(
            "tr",
            tag("td", str(row + 1)),
            *(tag("td", _cell(index, row, titles, wanted)) for _, index in columns),
        )
        for row in range(depth)
    ]
    kept = [
        f"{len(np.intersect1d(columns[0][1], index))} of {depth} kept" for _, index in columns[1:]
    ]
    names = [name for name, _ in columns]
    heads = [head("", names[0], *(f"{n} ({k})" for n, k in zip(names[1:], kept, strict=True)))]
    likes = ", ".join(liked)
    shown = table("Lists of one user, before and after", heads, body)
    return [tag("h3", f"Somebody who likes {likes}"), tag("div", shown, class_="card")]


def _cell(index: Ids, row: int, titles: Sequence[str], wanted: Set[int]) -> str:
    item = int(index[row]) if row < len(index) else -1
    if item < 0:
        return ""
    return f"{titles[item]} ✓" if item in wanted else titles[item]
