"""The risk meter: what the audit measured, and what the local attackers made of this query."""

from veil.proxy.plane import Plane
from veil.proxy.types import Checked, Found, Standing
from veil.web.pages import _stops
from veil.web.pages._words import listed, ordinal
from veil.web.pages.markup import Markup, join, tag


def risk(plane: Plane, found: Found) -> Markup:
    """Show how often an engine would have guessed such a query, and this very one."""
    if found.plain:
        return tag("p", "The engine read the query itself: there is nothing left to guess.")
    place = plane.place(found.setting)
    if place is None:
        measured = tag("p", "This setting is no stop of the audit: its risk is not known.")
    else:
        stop = plane.stops[place]
        measured = join(
            tag("div", _stops.risk_bar(stop), class_="bars"),
            tag("p", _stops.guessed(stop), " ", _stops.bounded(stop)),
            tag("p", "The attacker was ", tag("code", stop.risk.attacker),
                ", which did best of those tried.", class_="hint"),
            _more(found),
            tag("p", _stops.warning(stop), class_="warning") if stop.warning else "",
        )  # fmt: skip
    return join(
        tag("h3", "The queries of the audit, at this setting"), measured,
        tag("h3", "This query, by the attackers here"), _checked(found.preflight),
    )  # fmt: skip


def _more(found: Found) -> Markup | str:
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


def _checked(checked: Checked | None) -> Markup:
    if checked is None:
        return tag("p", "Not checked before sending: there is no log of queries on this machine.")
    told: list[Markup] = []
    if checked.standings:
        told.append(tag("ul", *(_standing(one) for one in checked.standings), class_="standings"))
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


def _standing(one: Standing) -> Markup:
    of = f" of {one.candidates:,} candidates"
    if one.ties > 1:
        of += f", level with {one.ties - 1:,} others, which it cannot tell from it"
    if one.rank == 1 and one.ties == 1:
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
