"""What several related queries give away together, in plain words."""

from veil.proxy.found import Group
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


def session(group: Group) -> Markup:
    """Say what a session gives away, and what this search added to it."""
    return join(_told(group), tag("p", _MEASURED))


def _told(group: Group) -> Markup:
    if group.stayed:
        words = (
            "Nothing new: this query is close to the one before, and was answered from the group"
            " that the engine has seen already."
        )
    elif group.known:
        words = "Nothing new: the engine has seen this group before, for this or another query."
    else:
        words = "A new group: the engine can put it together with those that it saw before."
    return tag("p", words, class_="stayed" if group.known or group.stayed else None)
