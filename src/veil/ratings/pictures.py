"""Sections of the report for ratings only: lists before and after, and re-identified users."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.drawing.axes import Curve, Point, legend
from veil.drawing.lines import draw_lines
from veil.drawing.markup import Markup, join, percent, tag
from veil.drawing.page import figure, head, row, table
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.ratings import Ratings, id_hashes, mix
from veil.studies.panels import is_utility
from veil.studies.results import PLAIN, Results, Section

KNOWN = (1, 2, 4, 8)


def draw_found_users(shares: Mapping[str, Floats]) -> Markup:
    """Draw the share of users found (4,) by each configuration against the known items."""
    rows = {name: row for name, row in shares.items() if np.isfinite(row).any()}
    if not rows:
        return Markup("")
    ordered = sorted(rows, key=lambda name: -float(np.nanmax(rows[name])))
    curves = [Curve(name, _points(name, rows[name]), style) for style, name in enumerate(ordered)]
    title = "Users found, by number of known items"
    drawing = draw_lines("found-users", title, curves, "items known →", "share of users found →")
    names = legend({curve.name: curve.style for curve in curves})
    return join(names, tag("div", figure([], drawing), class_="panels"))


def _points(name: str, row: Floats) -> tuple[Point, ...]:
    return tuple(
        Point(count, float(share), name=name, tip=f"{name}\n{percent(share)} with {count}")
        for count, share in zip(KNOWN, row, strict=True)
        if np.isfinite(share)
    )


def shares_table(shares: Mapping[str, Floats]) -> Markup:
    """Return a table with a row for each configuration."""
    body = [row(name, *map(percent, figures.tolist())) for name, figures in shares.items()]
    heads = [head("configuration", *(f"{figures} known" for figures in KNOWN))]
    return table("Users who could be found", heads, body)


_LISTS = (
    "Recommendations for a few users, before and after: ✓ marks a held-out item that the user"
    " liked. The lists belong to real people in the ratings, whose ids are not shown. Keep this"
    " report private."
)
_FOUND = (
    "Share of users found among all released profiles by an attacker who knows a few of their"
    " items and approximate ratings. Correct first guesses count; equal profiles share them."
)


@dataclass(eq=False)
class Shown:
    """Lists (users, k) and shares of users found, for one configuration."""

    lists: Ids | None = None
    shares: Floats | None = None


def picture_sections(
    shown: Mapping[str, Shown],
    results: Results,
    titles: Sequence[str],
    people: Sequence[Ids],
    held_out: Sequence[Set[int]],
) -> list[Section]:
    """Return a section of lists, and one of users found."""
    sections = []
    before = shown.get(PLAIN, Shown()).lists
    utilities = {row.spec: row.score for row in filter(is_utility, results.rows)}
    after = [
        (spec, record.lists)
        for spec, record in shown.items()
        if spec != PLAIN and record.lists is not None and spec in choose_lists(utilities)
    ]
    if before is not None and after:
        parts = [tag("p", _LISTS, class_="hint")]
        for place, liked in enumerate(people):
            columns = [("before", before[place])]
            columns += [(title_of(spec), lists[place]) for spec, lists in after]
            parts += _lists(columns, [titles[item] for item in liked], titles, held_out[place])
        sections.append(Section("lists", "Lists before and after", tuple(parts), private=True))
    curves = {
        title_of(spec): record.shares
        for spec, record in shown.items()
        if record.shares is not None
    }
    if curves:
        parts = [tag("p", _FOUND, class_="hint"), draw_found_users(curves), shares_table(curves)]
        sections.append(Section("found", "Who could be found", tuple(parts)))
    return sections


def choose_lists(utilities: Mapping[str, float]) -> set[str]:
    """Return the least useful, the median and the most useful configuration.

    >>> sorted(choose_lists({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}))
    ['a', 'c', 'd']
    """
    ranked = sorted((spec for spec in utilities if spec != PLAIN), key=lambda one: utilities[one])
    return {ranked[place] for place in (0, len(ranked) // 2, -1)} if ranked else set()


def title_of(spec: str) -> str:
    """Return a spec without default parameters."""
    return "no protection" if spec == PLAIN else MECHANISMS.parse(spec).brief


def _lists(
    columns: Sequence[tuple[str, Ids]],
    liked: Sequence[str],
    titles: Sequence[str],
    held_out: Set[int],
) -> list[Markup]:
    depth = max(len(index) for _, index in columns)
    body = [
        tag(
            "tr",
            tag("td", str(row + 1)),
            *(tag("td", _cell(index, row, titles, held_out)) for _, index in columns),
        )
        for row in range(depth)
    ]
    overlaps = [
        f"{len(np.intersect1d(columns[0][1], index))} of {depth} kept" for _, index in columns[1:]
    ]
    names = [name for name, _ in columns]
    heads = [head("", names[0], *(f"{n} ({k})" for n, k in zip(names[1:], overlaps, strict=True)))]
    likes = ", ".join(liked)
    shown = table("Lists of one user, before and after", heads, body)
    return [tag("h3", f"Somebody who likes {likes}"), tag("div", shown, class_="card")]


def _cell(index: Ids, row: int, titles: Sequence[str], held_out: Set[int]) -> str:
    item = int(index[row]) if row < len(index) else -1
    if item < 0:
        return ""
    return f"{titles[item]} ✓" if item in held_out else titles[item]


_SHOWN, _TOLD, _LIKES = 3, 4, 5


def example_users(train: Ratings, test: Ratings, positive: float) -> Ids:
    """Return the positions of users with enough likes to show and a held-out like to find."""
    likes = np.bincount(train.user[train.value >= positive], minlength=train.n)
    targets = np.bincount(test.user[test.value >= positive], minlength=test.n)
    order = np.argsort(mix(id_hashes(train.users)), kind="stable")
    for least in (_LIKES, 1, 0):
        able = order[(likes[order] >= least) & (targets[order] >= min(least, 1))]
        if len(able):
            break
    return np.asarray(able[:_SHOWN], dtype=np.int64)


def favourites(train: Ratings, user: int, positive: float) -> Ids:
    """Return some likes of a user, from popular to rare."""
    rows = train.rows(int(user))
    items, values = train.item[rows], train.value[rows]
    order = np.lexsort((items, -train.per_item[items], values < positive))
    liked = order[: max(1, int((values >= positive).sum()))]
    places = np.unique(np.arange(_TOLD) * len(liked) // _TOLD)
    return np.asarray(items[liked[places]], dtype=np.int64)
