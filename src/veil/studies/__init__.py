"""The loop shared by all domains: sweep, measure, place on the plane, choose, report.

`DOMAINS` lists the experiment and summary of each domain. A new domain is a row here, or an entry
point of the group ``veil.domains``.
"""

from typing import TYPE_CHECKING, NamedTuple

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.studies.plane import plane as plane


class DomainEntry(NamedTuple):
    """The target ``module:name`` of an experiment, and a summary of its domain."""

    place: str
    says: str


Place = DomainEntry  # former name; remove in 0.4

DEFAULT = "search"  # the domain of a study or table without one
GROUP = "veil.domains"

DOMAINS: dict[str, DomainEntry] = {
    "dp": DomainEntry(
        "veil.dp.study:Counts",
        "Counts, sums and SQL answers with differential privacy.",
    ),
    "places": DomainEntry(
        "veil.places.study:Places",
        "Points on a map: mask, attack and compare them.",
    ),
    "ratings": DomainEntry(
        "veil.ratings.study:RatingsExperiment",
        "Ratings and recommenders: protect, attack and compare them.",
    ),
    "search": DomainEntry(
        "veil.search.study.experiment:SearchExperiment",
        "Private search: queries become variants, and an engine answers those.",
    ),
    "sensitive": DomainEntry(
        "veil.sensitive.study:Sensitive",
        "Search where some documents must stay hidden.",
    ),
    "tables": DomainEntry(
        "veil.tables.study:Tables",
        "Tables of records or counts: mask, attack and measure them.",
    ),
    "task": DomainEntry(
        "veil.task.study:Tasks",
        "Classifiers on protected texts: train, attack and compare.",
    ),
}

facade(
    __name__,
    {
        "veil.studies.plane": "plane",
        "veil.studies": "DEFAULT DOMAINS DomainEntry GROUP Place",
    },
)
