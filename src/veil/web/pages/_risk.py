"""The risk meter: what the audit measured, and what the local attackers made of this query."""

from veil.proxy.results import Found, Group
from veil.proxy.types import Checked, Standing
from veil.web.pages import _stops
from veil.web.pages._exact import exact_bar, exact_group, few
from veil.web.pages._session import session
from veil.web.pages._words import listed, ordinal
from veil.web.pages.common import Common
from veil.web.pages.markup import Markup, join, tag


def risk(common: Common, found: Found) -> Markup:
    """Show how often an engine would have guessed such a query, and this very one."""
    if found.plain:
        return tag("p", "The engine read the query itself: there is nothing left to guess.")
    if common.own:
        return join(
            tag("p", f"No figure is shown: the stops were measured on {common.plane.collection},"
                " which says nothing of your documents and queries."),
            tag("h3", "This query, by the attackers here"), _checked(found.preflight),
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
            tag("p", _stops.guessed(stop), " ", _stops.bounded(stop)),
            tag("p", "The attacker was ", tag("code", stop.risk.attacker),
                ", which did best of those tried.", class_="hint"),
            _stops.abroad(common),
            _more(found),
            tag("p", _stops.warning(stop), class_="warning") if stop.warning else "",
        )  # fmt: skip
    return join(
        _exact(found, found.cover) if found.cover else "",
        tag("h3", "The queries of the audit, at this setting"), measured,
        tag("h3", "This query, by the attackers here"), _checked(found.preflight),
    )  # fmt: skip


def _exact(found: Found, group: Group) -> Markup:
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
