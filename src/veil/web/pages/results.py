"""The results page, with what the engine saw, the risk and the cost."""

from collections import Counter
from typing import NamedTuple
from urllib.parse import urlencode

from veil.core.formatting import printable
from veil.proxy.results import (
    MARKS,
    GroupView,
    MarkKind,
    ResultItem,
    SearchOutcome,
    SentVariant,
    VariantPiece,
    link_of,
)
from veil.search.locality import HERE, SIMULATION, stand_in_notice
from veil.web.pages.shell import Common, render
from veil.web.pages.slider import Stop, exact_group, exact_of, search_values
from veil.web.pages.words import amount, bits, count

_RESULTS_SHOWN, _VARIANTS_SHOWN, _TRACKS_SHOWN = 10, 8, 5  # the rest is folded
_OTHERS = 5  # public texts of the same group
_FAR = 0.35  # cosine below which the table fits a query badly
_SNIPPET = 300  # characters
_TITLE = 200
_ADDRESS = 90
_PATH = 30  # minimum length of a path after a long host name, which is never cut

# Sessions of five queries, walks on the public graph of related queries of icd10cm, with buckets
# of 10; the attacker knows the graph and the rule, and has ten guesses at the first query.
_WALK = 5
_ALONE, _STAYS, _STAYS_LONGER, _WITHOUT = "5 %", "45 %", "24 %", "90 %"
_MEASURED = (
    "Related queries in a row point at each other. Measured on icd10cm, with 90 groups of equal"
    f" size and all queries equally likely: after {_WALK} related queries, an engine that knows"
    f" everything guesses the first of them within ten guesses in about {_STAYS} of the cases,"
    f" after one query in {_ALONE}. This is with reusing a group for queries close to it (with"
    f" stay=0.45 it is about {_STAYS_LONGER}); without reuse it would be about {_WITHOUT}."
)


def results(common: Common, query: str, outcome: SearchOutcome) -> str:
    """Return the results, with what the engine saw."""
    notice, notice_kind = _notice(common, outcome)
    values = {
        "outcome": outcome,
        "notice": notice,
        "notice_kind": notice_kind,
        "summary": _summary(outcome),
        "results": [Item.of(result) for result in outcome.results],
        "results_shown": _RESULTS_SHOWN,
        "costs": _costs(outcome, own=common.own),
        "kept": tuple(dict.fromkeys(outcome.kept)),
        **_seen_values(outcome),
        **_group_values(outcome),
        "stop": _stop(common, outcome),
    }
    return render("results.html", values | search_values(common, query, shown=not outcome.here))


class Item(NamedTuple):
    """A displayed result; `file` opens it here, `href` leads elsewhere, or neither.

    The host comes first and is never cut, regardless of the direction of the rest of the address.
    """

    rank: int
    name: str
    file: str
    href: str
    host: str
    path: str
    text: str

    @classmethod
    def of(cls, result: ResultItem) -> "Item":
        """Shorten the texts of a result, and link it if its address is safe."""
        link = None if result.path else link_of(result.id)
        name = cut(_spaced(result.title) or printable(result.id), _TITLE)
        text = cut(_spaced(result.text[: 4 * _SNIPPET]), _SNIPPET)
        file = f"/file?{urlencode({'id': result.id})}" if result.path else ""
        if link is None:
            path = cut(printable(result.id), _ADDRESS)
            return cls(result.rank, name, file, "", "", path, text)
        path = cut(link.path.rstrip("/"), max(_PATH, _ADDRESS - len(link.host)))
        return cls(result.rank, name, "", link.href, link.host, path, text)


def cut(text: str, length: int) -> str:
    """Shorten a text at a word boundary, with an ellipsis.

    >>> cut("one two three", 9), cut("one", 9), cut("abcdefghijkl", 9)
    ('one two…', 'one', 'abcdefghi…')
    """
    if len(text) <= length:
        return text
    head = text[:length]
    at = head.rfind(" ")
    return f"{head[:at] if at > length // 2 else head}…"


def _spaced(text: str) -> str:
    return " ".join(printable(text).split())


def _notice(common: Common, outcome: SearchOutcome) -> tuple[str, str]:
    """Return a line on what the engine saw, and its style."""
    if outcome.here:
        return HERE, "note"
    if outcome.plain:
        return "The query itself was sent at your request, so the engine read it.", "warning"
    if common.own:
        return SIMULATION, "warning"
    if common.standing == "stand-in":
        return stand_in_notice(common.collection or common.engine), "hint"
    return "", ""


def _summary(outcome: SearchOutcome) -> str:
    """Count the results, and those that a plain search shows."""
    if not outcome.results:
        return ""
    if outcome.plain:
        return f"{count(len(outcome.results), 'result')}."
    if outcome.back is None:
        back = (
            " Their overlap with a plain search is unknown, because the engine would have to"
            " see your query."
        )
    elif not outcome.back[1]:
        back = " A plain search finds nothing."
    else:
        back = (
            f" They include {outcome.back[0]} of the first {outcome.back[1]} results of a plain"
            " search."
        )
        if outcome.back_deep and outcome.back_deep[1]:
            back += (
                " Compared with a plain search that ranks as many documents"
                f" ({outcome.depth:,}), it is {outcome.back_deep[0]} of {outcome.back_deep[1]}."
            )
        if not outcome.back[0]:
            back += " A more useful setting finds more, and reveals more."
    return f"{count(len(outcome.results), 'result')}, re-ranked on this machine.{back}"


class VariantRow(NamedTuple):
    """Equal variants, shown once."""

    text: str
    marks: tuple[VariantPiece, ...]
    gap: str
    times: int


_OWN: tuple[MarkKind, ...] = ("same", "kept", "layout")
_SAMPLES: dict[MarkKind, str] = {
    "changed": "changed",
    "same": "sampled again",
    "unknown": "unknown",
    "kept": "kept",
}


def _seen_values(outcome: SearchOutcome) -> dict[str, object]:
    """Return the template values for the variants: distinct ones, and the meaning of their marks.

    `clear` counts variants that give the query away, because all their words are from it.
    """
    rows: dict[tuple[str, str], list[SentVariant]] = {}
    for variant in outcome.seen:
        rows.setdefault((variant.text, variant.gap), []).append(variant)
    counts = Counter(mark.kind for variant in outcome.seen for mark in variant.marks)
    return {
        "variants": [
            VariantRow(text, same[0].marks, gap, len(same)) for (text, gap), same in rows.items()
        ],
        "variants_shown": _VARIANTS_SHOWN,
        "different": _distinct_note(len(rows), len(outcome.seen)),
        "clear": sum(all(mark.kind in _OWN for mark in variant.marks) for variant in outcome.seen),
        "legend": [
            (kind, sample, counts[kind]) for kind, sample in _SAMPLES.items() if counts[kind]
        ],
        "meanings": MARKS,
    }


def _distinct_note(different: int, of: int) -> str:
    if of == 1:
        return "."
    if different == of:
        return "; all different."
    alike = f"{different:,} different" if different > 1 else "all equal"
    return f"; {alike}. Equal ones are sent once."


def _group_values(outcome: SearchOutcome) -> dict[str, object]:
    """Return the template values for a cover group; without a group, only the defaults."""
    group = outcome.cover
    if group is None:
        return {"exact": None, "tracks_shown": _TRACKS_SHOWN}
    step = max(1, len(group.others) // _OTHERS)
    return {
        "tracks_shown": _TRACKS_SHOWN,
        "far": not group.cosine >= _FAR,
        "others": group.others[::step][:_OTHERS],
        "exact": exact_group(group),
        "session": _session(outcome, group),
        "session_measured": _MEASURED,
        "quiet": group.stayed or outcome.reused or not outcome.sent,
    }


def _session(outcome: SearchOutcome, group: GroupView) -> str:
    """Return which searches the engine can link, based on what was really sent."""
    if not outcome.sent:
        return (
            "Nothing new: nothing was sent, because the answers were remembered on this machine."
        )
    if group.stayed:
        return (
            "This query is close to an earlier one, and its group was sent again: the engine"
            " learns that something similar was searched, but sees no other group."
        )
    if outcome.reused:
        return "Nothing new: the same group as for this query before."
    if group.session:
        return (
            "A different group than shortly before: the engine can link the two. Texts close to"
            " the previous group would have reused it, and are not counted in the risk above."
        )
    return "The engine can link this group with those that it saw before."


def _stop(common: Common, outcome: SearchOutcome) -> Stop | None:
    """Return the slider setting of the search, or None if it is not on the slider."""
    place = None if outcome.plain else common.plane.place(outcome.setting)
    if place is None:
        return None
    stop = common.plane.stops[place]
    return Stop(place, len(common.plane.stops) - 1, stop, exact_of(stop))


def _costs(outcome: SearchOutcome, *, own: bool) -> list[tuple[str, str]]:
    """Return what was spent now and in total, and what was sent to the engine.

    `own` marks a simulation on the user's own documents, where nothing is sent.
    """
    spent = amount(outcome.spent) if outcome.cover is None else bits(outcome.bits)
    pairs = [("Searched with" if own else "Sent now", _sent_text(outcome)), ("Newly spent", spent)]
    if not outcome.plain:
        pairs.append(("This query in total", str(outcome.cost)))
    if not outcome.plain and outcome.cover is None:
        shared = f", {outcome.shared:,} of them sampled for related queries before"
        words = f"{outcome.words:,}{shared if outcome.shared else ''}"
        pairs.append(("Words replaced", words))
    if outcome.earlier:
        pairs.append(("By other settings", f"{amount(outcome.earlier)}, on top of this"))
    if outcome.earlier_bits:
        pairs.append(("By other settings", f"{bits(outcome.earlier_bits)}, on top of this"))
    return pairs


def _sent_text(outcome: SearchOutcome) -> str:
    if outcome.plain:
        return "the query itself" if outcome.sent else "nothing: its answer was remembered"
    different = len({sent.text for sent in outcome.seen})
    noun = "variant" if outcome.cover is None else "text"
    if outcome.sent >= different:
        return count(outcome.sent, noun)
    if not outcome.sent:
        return f"none of {different:,} {noun}s: the answers were remembered"
    return f"{outcome.sent:,} of {different:,} {noun}s: other answers were remembered"
