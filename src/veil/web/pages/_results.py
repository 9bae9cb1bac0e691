"""The results, and beside them what the engine saw, what it cost and what it told."""

from collections import Counter
from urllib.parse import urlencode

from veil.core.formatting import printable
from veil.proxy.results import (
    MARKS,
    GroupView,
    Link,
    MarkKind,
    ResultItem,
    SearchOutcome,
    SentVariant,
    VariantPiece,
    link_of,
)
from veil.proxy.settings import TruthRank, brief
from veil.proxy.slider import SliderStop
from veil.search.locality import DEMONSTRATION, HERE, stand_in_notice
from veil.web.pages import slider as _stops
from veil.web.pages.markup import (
    Common,
    Markup,
    amount,
    bits,
    count,
    hidden,
    isolated,
    join,
    listed,
    ordinal,
    tag,
)
from veil.web.pages.shell import document
from veil.web.pages.slider import exact_bar, exact_group, few, form, in_clear


def cost(found: SearchOutcome, *, own: bool = False) -> Markup:
    """Say what was spent now and all in all, and what went to the engine.

    `own` of a demonstration with documents of the user's own, in which nothing is sent.
    """
    spent = amount(found.spent) if found.cover is None else bits(found.bits)
    pairs: list[tuple[str, tuple[str, ...]]] = [
        ("Searched with" if own else "Sent now", (_sent(found),)),
        ("Newly spent", (spent,)),
    ]
    if not found.plain:
        pairs.append(("This query in all", (str(found.cost),)))
    if not found.plain and found.cover is None:
        pairs.append(("Words replaced", (_replaced(found),)))
    if found.earlier:
        pairs.append(("By other settings", (f"{amount(found.earlier)}, on top of this",)))
    if found.earlier_bits:
        pairs.append(("By other settings", (f"{bits(found.earlier_bits)}, on top of this",)))
    pairs.append(("In the ledger", (_entry(found.release),)))
    return join(
        tag("p", found.news, class_="told"),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", *says)) for name, says in pairs),
            class_="facts"),
        tag("p", found.cost.caveat, class_="hint") if found.cost.caveat else "",
        _kept(found.kept),
    )  # fmt: skip


def _sent(found: SearchOutcome) -> str:
    if found.plain:
        return "the query, in clear" if found.sent else "nothing: its answer was remembered"
    different = len({one.text for one in found.seen})
    noun = "variant" if found.cover is None else "text"
    if found.sent >= different:
        return count(found.sent, noun)
    if not found.sent:
        return f"none of {different:,} {noun}s: the answers were remembered"
    return f"{found.sent:,} of {different:,} {noun}s: other answers were remembered"


def _replaced(found: SearchOutcome) -> str:
    if not found.shared:
        return f"{found.words:,}"
    return f"{found.words:,}, {found.shared:,} of them drawn for related queries before"


def _entry(number: int) -> Markup:
    return tag("a", f"entry {number}", href=f"/ledger?before={number + 1}#entry-{number}")


def _kept(kept: tuple[str, ...]) -> Markup:
    if not kept:
        return Markup("")
    words = join(*(tag("li", isolated(word)) for word in dict.fromkeys(kept)))
    return tag(
        "div",
        tag("p", "Sent as they are, by a policy: the guarantee says nothing of them."),
        tag("ul", words, class_="words"),
        class_="warning",
    )


_FIRST = 5  # tracks that are shown at once
_OTHERS = 5  # public texts of the same group
_FAR = 0.35  # cosine below which the table knows little of a query


def group(found: SearchOutcome, sent: GroupView) -> Markup:
    """Show the texts of a group, one for each track."""
    lines = [
        tag("li", hidden(f"Track {i}: "), tag("bdi", one.text),
            tag("p", "No answer: ", tag("bdi", one.gap), class_="gap") if one.gap else "")
        for i, one in enumerate(found.seen, start=1)
    ]  # fmt: skip
    first, more = lines[:_FIRST], lines[_FIRST:]
    rest = tag(
        "details", tag("summary", count(len(more), "more track")),
        tag("ol", *more, class_="variants tracks", start=_FIRST + 1),
    ) if more else ""  # fmt: skip
    return join(
        tag("p", f"{_named(sent)}: ", count(len(found.seen), "fixed public text"),
            ", one for each track (a topic of its own), by ",
            tag("code", brief(found.setting.mechanism)),
            ". One of the tracks is that of your query; the texts are the same for every query of"
            " the group."),
        tag("ol", *first, class_="variants tracks"),
        rest,
        _far(sent),
        _others(sent),
    )  # fmt: skip


def _named(sent: GroupView) -> str:
    if sent.address < 0:
        return "A group of an earlier table, as this query was asked before"
    return f"Group {sent.address + 1:,} of {sent.groups:,}"


def _others(sent: GroupView) -> Markup:
    """Name some public texts that would have been sent for in the same way."""
    if not sent.others:
        return Markup("")
    step = max(1, len(sent.others) // _OTHERS)
    some = [tag("li", isolated(text)) for text in sent.others[::step][:_OTHERS]]
    return join(
        tag("h3", "Who else would send the same"),
        tag("p", "Whoever asks for one of these, or for anything near to them:", class_="hint"),
        tag("ul", *some, class_="others"),
    )


def _far(sent: GroupView) -> Markup | str:
    if sent.cosine >= _FAR:
        return ""
    return tag(
        "p",
        "The table has no text that is near to your query (it may be in another language), so that"
        " the results may be poor; what the engine learns is bounded all the same.",
        class_="warning",
    )


_RESULTS_SHOWN = 10  # results that are shown at once
_SNIPPET = 300  # characters
_TITLE = 200
_ADDRESS = 90
_PATH = 30  # of it at least, after a long name of a host, which is never cut


def items(found: tuple[ResultItem, ...], *, here: bool = False) -> Markup:
    """List the results, best first; `here` of a search that no slider is for."""
    if not found:
        stop = "" if here else ", or a stop nearer to useful,"
        words = f"No results. Other words{stop} may help."
        return tag("p", words, class_="empty")
    first, more = (
        [_item(one) for one in part] for part in (found[:_RESULTS_SHOWN], found[_RESULTS_SHOWN:])
    )
    rest = (
        tag(
            "details",
            tag("summary", count(len(more), "more result")),
            tag("ol", *more, class_="results", start=_RESULTS_SHOWN + 1),
        )
        if more
        else ""
    )
    return join(tag("ol", *first, class_="results"), rest)


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


def _item(one: ResultItem) -> Markup:
    found = link_of(one.id)
    name = isolated(cut(_words(one.title) or printable(one.id), _TITLE))
    text = _words(one.text[: 4 * _SNIPPET])
    return tag(
        "li",
        tag(
            "h2",
            _own(one, name) if one.path else name if found is None else _linked(found.href, name),
        ),
        tag("p", *_where(one.id, None if one.path else found), class_="id"),
        tag("p", cut(text, _SNIPPET), class_="text", dir="auto") if text else "",
        data_rank=one.rank,
    )


def _words(text: str) -> str:
    return " ".join(printable(text).split())


def _own(one: ResultItem, name: Markup) -> Markup:
    """Link to the file that a result is of, which this server opens."""
    return tag(
        "a", name, href=f"/file?{urlencode({'id': one.id})}", target="_blank", rel="noopener"
    )


def _linked(address: str, name: Markup) -> Markup:
    return tag(
        "a", name, href=address, rel="noreferrer noopener nofollow", referrerpolicy="no-referrer"
    )


def _where(name: str, found: Link | None) -> tuple[Markup, ...]:
    """Show where a link leads: its host first and whole, whatever the direction of the rest."""
    if found is None:
        return (isolated(cut(printable(name), _ADDRESS)),)
    path = cut(found.path.rstrip("/"), max(_PATH, _ADDRESS - len(found.host)))
    return tag("bdi", found.host, class_="host"), isolated(path) if path else Markup("")


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


def session(found: SearchOutcome, group: GroupView) -> Markup:
    """Say what a session gives away, and what this search added to it."""
    return join(_told(found, group), tag("p", _MEASURED))


def _told(found: SearchOutcome, group: GroupView) -> Markup:
    """Say what the engine can put together; it goes by what was really sent."""
    if not found.sent:
        words = "Nothing new: nothing was sent, the answers were remembered here."
    elif group.stayed:
        words = (
            "This query is close to an earlier one, and its group was sent again: the engine sees"
            " that something near it was asked, and no other group."
        )
    elif found.reused:
        words = "Nothing new: the same group as for this query before."
    elif group.session:
        words = (
            "Another group than shortly before: the engine can put the two together. Texts near"
            " the one before would have stayed with it, and are not counted in the risk above."
        )
    else:
        words = "The engine can put this group together with those that it saw before."
    quiet = group.stayed or found.reused or not found.sent
    return tag("p", words, class_="stayed" if quiet else None)


def risk(common: Common, found: SearchOutcome) -> Markup:
    """Show how often an engine would have guessed such a query, and this very one."""
    if found.plain:
        return tag("p", "The engine read the query itself: there is nothing left to guess.")
    if common.own:
        return join(
            tag("p", f"No figure is shown: the stops were measured on {common.plane.collection},"
                " which says nothing of your documents and queries."),
            tag("h3", "This query, by the attackers here"), _checked(found),
        )  # fmt: skip
    plane = common.plane
    place = plane.place(found.setting)
    if place is None:
        measured = tag("p", "This setting is no stop of the audit: its risk is not known.")
    elif not plane.stops[place].measured:
        measured = tag("p", "The audit did not measure this setting.")
    else:
        stop = plane.stops[place]
        measured = join(
            tag("div", _stops.risk_bar(stop), class_="bars"),
            tag("p", _stops.guessed(stop, sized=found.cover is None), " ", _stops.bounded(stop)),
            tag("p", "The attacker was ", tag("code", stop.risk.attacker),
                f", which did best of those tried{_believed(stop)}.", class_="hint"),
            _stops.abroad(common),
            _more(found),
            tag("p", _stops.warning(stop), class_="warning") if stop.warning else "",
        )  # fmt: skip
    return join(
        _exact(found, found.cover) if found.cover else "",
        tag("h3", "The queries of the audit, at this setting"), measured,
        tag("h3", "This query, by the attackers here"), _checked(found),
    )  # fmt: skip


def _believed(stop: SliderStop) -> str:
    """Name what an attacker believes before it sees anything, where it believes anything."""
    return ", with every query of its log equally likely" if stop.risk.attacker == "bayes" else ""


def _exact(found: SearchOutcome, group: GroupView) -> Markup:
    """Show what is exact, and what it does not cover."""
    exact = exact_group(group)
    return join(
        tag("h3", "An engine that knows everything"),
        tag("div", exact_bar(exact), class_="bars"),
        tag("p", str(exact)),
        tag("p", few(exact), class_="hint"),
        tag("h3", "Several queries"),
        session(found, group),
    )


def _more(found: SearchOutcome) -> Markup | str:
    """Say where more is out than the audit had: its risk is then too low."""
    more = len(found.seen) > found.setting.size
    if not more and not found.earlier:
        return ""
    why = "more variants" if more else "variants by other settings, too"
    return tag(
        "p",
        f"Of this query {why} were released before: an engine that puts them together guesses"
        " better than in the audit.",
        class_="warning",
    )


def _checked(found: SearchOutcome) -> Markup:
    checked = found.preflight
    if checked is None:
        return tag("p", "Not checked before sending: there is no log of queries on this machine.")
    told: list[Markup] = []
    if checked.standings:
        told.append(
            tag(
                "ul",
                *(_standing(one, cover=found.cover is not None) for one in checked.standings),
                class_="standings",
            )
        )
    if checked.waiting:
        verb = "is" if len(checked.waiting) == 1 else "are"
        told.append(_hint(f"{listed(checked.waiting)} {verb} still being prepared, and not run."))
    if checked.unable:
        told.append(_hint(f"Cannot be used against this mechanism: {listed(checked.unable)}."))
    if checked.draws > 1:
        told.append(
            tag("p", f"{checked.draws} draws were looked at and one was chosen: choosing among"
                " draws is outside of the formal guarantee.", class_="warning")
        )  # fmt: skip
    if checked.standings:
        told.append(_hint("An engine may have a better log, and better attackers."))
    return join(*told)


def _standing(one: TruthRank, *, cover: bool) -> Markup:
    """Say in which places a query may be; of cover, one size is told, that of the table."""
    of = " of its log" if cover else f" of {one.candidates:,} candidates"
    if one.ties > 1:
        words = join(
            f"cannot tell your query from {count(one.ties - 1, 'other')}{of}: it is anywhere from",
            " ", tag("strong", f"{ordinal(one.rank)} to {ordinal(one.last)}"),
            f", {one.mean:,.5g} on average.",
        )  # fmt: skip
    elif one.rank == 1:
        words = join("puts your query ", tag("strong", "first"), f"{of}: it guesses it at once.")
    else:
        words = join("puts your query ", tag("strong", ordinal(one.rank)), f"{of}.")
    return tag(
        "li",
        tag("code", one.attacker),
        " ",
        words,
        class_="first" if one.rank == one.ties == 1 else "",
    )


def _hint(words: str) -> Markup:
    return tag("p", words, class_="hint")


_VARIANTS_SHOWN = 8  # variants that are shown at once
_OWN: tuple[MarkKind, ...] = ("same", "kept", "layout")
_SAMPLES: dict[MarkKind, str] = {
    "changed": "changed",
    "same": "drawn again",
    "unknown": "unknown",
    "kept": "kept",
}


def seen(found: SearchOutcome) -> Markup:
    """Show the variants, the ones that are alike once, and say what the marks mean."""
    alike: dict[tuple[str, str], list[SentVariant]] = {}
    for one in found.seen:
        alike.setdefault((one.text, one.gap), []).append(one)
    lines = [_variant(same[0], len(same)) for same in alike.values()]
    first, more = lines[:_VARIANTS_SHOWN], lines[_VARIANTS_SHOWN:]
    rest = (
        tag("details", tag("summary", f"{count(len(more), 'more variant')}"),
            tag("ol", *more, class_="variants", start=_VARIANTS_SHOWN + 1))
        if more
        else ""
    )  # fmt: skip
    return join(
        tag("p", count(len(found.seen), "variant"), " of your query by ",
            tag("code", brief(found.setting.mechanism)), _kinds(len(lines), len(found.seen))),
        _in_clear(found.seen),
        tag("ol", *first, class_="variants"),
        rest,
        _legend(found.seen),
    )  # fmt: skip


def _in_clear(variants: tuple[SentVariant, ...]) -> Markup | str:
    """Warn of variants that hold words of the query and no others: they give it away."""
    clear = sum(all(mark.kind in _OWN for mark in one.marks) for one in variants)
    if not clear:
        return ""
    hold = "holds" if clear == 1 else "hold"
    return tag(
        "p",
        f"{clear:,} of them {hold} your words and no others: by chance the mechanism drew them"
        " all again. A more private stop makes that rarer.",
        class_="warning",
    )


def _kinds(different: int, of: int) -> str:
    if of == 1:
        return "."
    if different == of:
        return "; all different."
    alike = f"{different:,} different" if different > 1 else "all alike"
    return f"; {alike}. Equal ones are sent once."


def _variant(one: SentVariant, times: int) -> Markup:
    pieces = [_piece(mark) for mark in one.marks] or [one.text]
    repeated = tag("span", f" ×{times}", class_="times", title=f"drawn {times} times")
    return tag(
        "li",
        tag("bdi", *pieces),
        repeated if times > 1 else "",
        tag("p", "No answer: ", tag("bdi", one.gap), class_="gap") if one.gap else "",
    )


def _piece(mark: VariantPiece) -> str:
    if mark.kind == "layout":
        return mark.text
    return tag("mark", mark.text, class_=mark.kind, title=MARKS[mark.kind])


def _legend(variants: tuple[SentVariant, ...]) -> Markup:
    """Say what each kind of mark means, and how many words have it."""
    counts = Counter(mark.kind for one in variants for mark in one.marks)
    known = [
        tag("div", tag("dt", tag("mark", sample, class_=kind)),
            tag("dd", f"{counts[kind]:,} ×", class_="times"), tag("dd", MARKS[kind]))
        for kind, sample in _SAMPLES.items()
        if counts[kind]
    ]  # fmt: skip
    return tag("dl", *known, class_="marks") if known else Markup("")


_NOTHING = (
    "Nothing: no engine elsewhere was asked, nothing was spent of the budget, and the query was"
    " not written to the ledger. The demonstration shows what an engine elsewhere would see."
)


def results(common: Common, query: str, found: SearchOutcome) -> str:
    """Return the results, and beside them what the engine saw."""
    left = tag(
        "section",
        tag("h1", "Results", id="results"),
        _place(common, found),
        tag("p", *_notes(found), class_="hint"),
        items(found.results, here=found.here),
        Markup("") if found.plain else in_clear(common, query, found.gate),
        aria_labelledby="results",
        class_="found",
    )
    right = tag("aside", *_beside(common, found), aria_label="What this search gave away")
    return document(
        "Results",
        form(common, query, shown=not found.here),
        tag("div", left, right, class_="columns"),
        common=common,
        kind="answer",
    )


def _place(common: Common, found: SearchOutcome) -> Markup:
    """Say in one line whom the query was kept from, if from anybody, and why."""
    if found.here:
        return tag("p", HERE, class_="note")
    if found.plain:
        return tag("p", "Sent in clear, at your request: the engine read the query itself.",
                   class_="warning")  # fmt: skip
    if common.own:
        return tag("p", DEMONSTRATION, class_="warning")
    if common.standing == "stand-in":
        return tag("p", stand_in_notice(common.collection or common.engine), class_="hint")
    return Markup("")


def _notes(found: SearchOutcome) -> tuple[str, ...]:
    if not found.results:
        return ()
    shown = f"{count(len(found.results), 'result')}, put in order on this machine."
    jump = (" ", tag("a", "What the engine saw", href="#seen", class_="jump"))
    if found.plain:
        return (f"{count(len(found.results), 'result')}.",)
    if found.back is None:
        back = " How many of them plain search has is not known: the engine would have to see it."
    elif not found.back[1]:
        back = " Plain search finds nothing."
    else:
        back = f" {found.back[0]} of the first {found.back[1]} of plain search are among them."
        if found.back_deep and found.back_deep[1]:
            back += (
                f" Of plain search that puts as many documents in order ({found.depth:,}), it is"
                f" {found.back_deep[0]} of {found.back_deep[1]}."
            )
        if not found.back[0]:
            back += " Nearer to useful it finds more, and gives more away."
    return (shown, back, *jump)


def _beside(common: Common, found: SearchOutcome) -> list[Markup]:
    saw = "What an engine elsewhere would see" if common.own else "What the engine saw"
    parts = (
        (("seen", "What left this machine", tag("p", _NOTHING)),)
        if found.here
        else (
            ("seen", saw, _saw(found)),
            ("risk", "Risk", risk(common, found)),
            ("cost", "Cost", join(cost(found, own=common.own), _gate(found))),
        )
    )
    return [
        tag("section", tag("h2", head, id=name), inside, aria_labelledby=name)
        for name, head, inside in parts
    ]


def _saw(found: SearchOutcome) -> Markup:
    if found.plain:
        return tag("p", "Your query, word by word.")
    return seen(found) if found.cover is None else group(found, found.cover)


def _gate(found: SearchOutcome) -> Markup:
    """Say which rules kept the query from being sent plainly, if any did."""
    if found.gate.action != "obfuscate" or not found.gate.rules:
        return Markup("")
    return tag("p", isolated(found.gate.reason), class_="hint")
