"""The results, and next to them what the engine saw, the risk and the cost."""

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
from veil.search.locality import DEMONSTRATION, HERE, stand_in_notice
from veil.web.pages.shell import Common, render
from veil.web.pages.slider import Stop, exact_group, exact_of, search_values
from veil.web.pages.words import amount, bits, count

_RESULTS_SHOWN, _VARIANTS_SHOWN, _TRACKS_SHOWN = 10, 8, 5  # at once; the rest is folded
_OTHERS = 5  # public texts of the same group
_FAR = 0.35  # cosine below which the table knows little of a query
_SNIPPET = 300  # characters
_TITLE = 200
_ADDRESS = 90
_PATH = 30  # of it at least, after a long name of a host, which is never cut

# Walks of five on the public graph of related queries of icd10cm, cells of 10, mirrored tracks;
# an attacker who knows the graph and the rule: within ten guesses, the first query.
_WALK = 5
_ALONE, _STAYS, _STAYS_LONGER, _WITHOUT = "5 %", "45 %", "24 %", "90 %"
_MEASURED = (
    "Related queries one after the other point at each other. Measured on icd10cm, with 90 groups"
    f" of one size and all queries equally likely: after {_WALK} related queries an engine that"
    f" knows everything has the first of them within ten guesses in about {_STAYS} of the cases,"
    f" after one query in {_ALONE}. Staying with a group where a query is close to it does that"
    f" (with stay=0.45 it is about {_STAYS_LONGER}); without staying it would be about {_WITHOUT}."
)


def results(common: Common, query: str, outcome: SearchOutcome) -> str:
    """Return the results, and next to them what the engine saw."""
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
    """A result as it is shown; `file` opens it here, `href` leads elsewhere, or neither.

    The host comes first and whole, whatever the direction of the rest of the address.
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
        """Cut the texts of a result, and make a link of what is one."""
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
    """Shorten a text at a word, and say so by an ellipsis.

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
    """Say in one line from whom the query was hidden, if from anybody, and how it is shown."""
    if outcome.here:
        return HERE, "note"
    if outcome.plain:
        return "Sent in clear, at your request: the engine read the query itself.", "warning"
    if common.own:
        return DEMONSTRATION, "warning"
    if common.standing == "stand-in":
        return stand_in_notice(common.collection or common.engine), "hint"
    return "", ""


def _summary(outcome: SearchOutcome) -> str:
    """Count the results, and those of them that plain search has."""
    if not outcome.results:
        return ""
    if outcome.plain:
        return f"{count(len(outcome.results), 'result')}."
    if outcome.back is None:
        back = " How many of them plain search has is not known: the engine would have to see it."
    elif not outcome.back[1]:
        back = " Plain search finds nothing."
    else:
        back = f" {outcome.back[0]} of the first {outcome.back[1]} of plain search are among them."
        if outcome.back_deep and outcome.back_deep[1]:
            back += (
                f" Of plain search that puts as many documents in order ({outcome.depth:,}), it is"
                f" {outcome.back_deep[0]} of {outcome.back_deep[1]}."
            )
        if not outcome.back[0]:
            back += " Nearer to useful it finds more, and gives more away."
    return f"{count(len(outcome.results), 'result')}, put in order on this machine.{back}"


class VariantRow(NamedTuple):
    """Equal variants, shown once."""

    text: str
    marks: tuple[VariantPiece, ...]
    gap: str
    times: int


_OWN: tuple[MarkKind, ...] = ("same", "kept", "layout")
_SAMPLES: dict[MarkKind, str] = {
    "changed": "changed",
    "same": "drawn again",
    "unknown": "unknown",
    "kept": "kept",
}


def _seen_values(outcome: SearchOutcome) -> dict[str, object]:
    """Return the variants, equal ones once, and what the marks in them mean.

    `clear` counts variants that hold words of the query and no others: they give it away.
    """
    rows: dict[tuple[str, str], list[SentVariant]] = {}
    for sent in outcome.seen:
        rows.setdefault((sent.text, sent.gap), []).append(sent)
    counts = Counter(mark.kind for sent in outcome.seen for mark in sent.marks)
    return {
        "variants": [
            VariantRow(text, same[0].marks, gap, len(same)) for (text, gap), same in rows.items()
        ],
        "variants_shown": _VARIANTS_SHOWN,
        "different": _kinds(len(rows), len(outcome.seen)),
        "clear": sum(all(mark.kind in _OWN for mark in sent.marks) for sent in outcome.seen),
        "legend": [
            (kind, sample, counts[kind]) for kind, sample in _SAMPLES.items() if counts[kind]
        ],
        "meanings": MARKS,
    }


def _kinds(different: int, of: int) -> str:
    if of == 1:
        return "."
    if different == of:
        return "; all different."
    alike = f"{different:,} different" if different > 1 else "all alike"
    return f"; {alike}. Equal ones are sent once."


def _group_values(outcome: SearchOutcome) -> dict[str, object]:
    """Return what is shown of a group of fixed texts, if one was sent."""
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
    """Say which searches the engine can link, going by what was really sent."""
    if not outcome.sent:
        return "Nothing new: nothing was sent, the answers were remembered here."
    if group.stayed:
        return (
            "This query is close to an earlier one, and its group was sent again: the engine sees"
            " that something near it was asked, and no other group."
        )
    if outcome.reused:
        return "Nothing new: the same group as for this query before."
    if group.session:
        return (
            "Another group than shortly before: the engine can put the two together. Texts near"
            " the one before would have stayed with it, and are not counted in the risk above."
        )
    return "The engine can put this group together with those that it saw before."


def _stop(common: Common, outcome: SearchOutcome) -> Stop | None:
    """Return the stop that was searched with, or None if the setting is no stop."""
    place = None if outcome.plain else common.plane.place(outcome.setting)
    if place is None:
        return None
    stop = common.plane.stops[place]
    return Stop(place, len(common.plane.stops) - 1, stop, exact_of(stop))


def _costs(outcome: SearchOutcome, *, own: bool) -> list[tuple[str, str]]:
    """List what was spent now and all in all, and what went to the engine.

    `own` marks a demonstration on the user's own documents, in which nothing is sent.
    """
    spent = amount(outcome.spent) if outcome.cover is None else bits(outcome.bits)
    pairs = [("Searched with" if own else "Sent now", _sent(outcome)), ("Newly spent", spent)]
    if not outcome.plain:
        pairs.append(("This query in all", str(outcome.cost)))
    if not outcome.plain and outcome.cover is None:
        shared = f", {outcome.shared:,} of them drawn for related queries before"
        words = f"{outcome.words:,}{shared if outcome.shared else ''}"
        pairs.append(("Words replaced", words))
    if outcome.earlier:
        pairs.append(("By other settings", f"{amount(outcome.earlier)}, on top of this"))
    if outcome.earlier_bits:
        pairs.append(("By other settings", f"{bits(outcome.earlier_bits)}, on top of this"))
    return pairs


def _sent(outcome: SearchOutcome) -> str:
    if outcome.plain:
        return "the query, in clear" if outcome.sent else "nothing: its answer was remembered"
    different = len({sent.text for sent in outcome.seen})
    noun = "variant" if outcome.cover is None else "text"
    if outcome.sent >= different:
        return count(outcome.sent, noun)
    if not outcome.sent:
        return f"none of {different:,} {noun}s: the answers were remembered"
    return f"{outcome.sent:,} of {different:,} {noun}s: other answers were remembered"
