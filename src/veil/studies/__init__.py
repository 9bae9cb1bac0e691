"""The loop, once for every kind of data: sweep, measure, place on the plane, choose, report.

`DOMAINS` is the table of the kinds of data: where the experiment of each is, and what it is about
in a sentence. A new one is a row here, or an entry point of the group ``veil.domains``.
"""

from typing import NamedTuple


class DomainEntry(NamedTuple):
    """Where an experiment is, as ``module:name``, and what its domain is in a sentence."""

    place: str
    says: str


Place = DomainEntry  # former name; remove in 0.4

DEFAULT = "search"  # the domain of a study, and of a table, that names none
GROUP = "veil.domains"

DOMAINS: dict[str, DomainEntry] = {
    "dp": DomainEntry(
        "veil.dp.study:Counts",
        "Numbers and answers with exact noise: what they cost in all, and what still leaks.",
    ),
    "places": DomainEntry(
        "veil.places.study:Places",
        "Points on a map: masked, attacked by who has a register, and compared with the true map.",
    ),
    "ratings": DomainEntry(
        "veil.ratings.study:RatingsExperiment",
        "Ratings and recommendations: protected, attacked by who knows a few, and compared.",
    ),
    "search": DomainEntry(
        "veil.search.study.experiment:SearchExperiment",
        "Private search: queries become variants, and an engine answers those.",
    ),
    "sensitive": DomainEntry(
        "veil.sensitive.study:Sensitive",
        "Search among sensitive documents: what may be shown, and what can still be inferred.",
    ),
    "tables": DomainEntry(
        "veil.tables.study:Tables",
        "Tables of records and of counts: masked, made k-anonymous, attacked, and compared.",
    ),
    "task": DomainEntry(
        "veil.task.study:Tasks",
        "Labelled texts: protected, read by a classifier, and attacked.",
    ),
}
