"""What several related queries give away together, in plain words."""

from veil.proxy.results import Found, Group
from veil.web.pages.markup import Markup, join, tag

# Walks of five on the public graph of related queries of icd10cm, cells of 10, mirrored tracks;
# an attacker who knows the graph and the rule: within ten guesses, the first query.
_WALK = 5
_ALONE, _STAYS, _STAYS_LONGER, _WITHOUT = "5 %", "45 %", "24 %", "90 %"
_MEASURED = (
    f"Related queries one after the other point at each other. Measured on icd10cm: after {_WALK}"
    " related queries an engine that knows everything has the first of them within ten guesses in"
    f" about {_STAYS} of the cases, after one query in {_ALONE}. Staying with a group where a"
    f" query is close to it does that (with stay=0.45 it is about {_STAYS_LONGER}); without"
    f" staying it would be about {_WITHOUT}."
)


def session(found: Found, group: Group) -> Markup:
    """Say what a session gives away, and what this search added to it."""
    return join(_told(found, group), tag("p", _MEASURED))


def _told(found: Found, group: Group) -> Markup:
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
