"""What `evaluate` gives: values by measure and query, never without the empty list beside."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats
from veil.measures.estimate import Estimate, bootstrap, interval, resamples


@dataclass(frozen=True, slots=True)
class Summary:
    """The mean of a measure over topics, the same of the empty list, and the skill.

    skill = (value - empty)/(1 - empty): 0 is as good as showing nothing, below 0 is worse. It is
    nan of CS-DCG, which has no common highest value.
    """

    value: Estimate
    empty: Estimate
    skill: Estimate


class Scores(dict[str, dict[str, float]]):
    """Values as ``{measure: {query: value}}``.

    Attributes
    ----------
    empty
        The same for empty lists: what showing nothing is worth.
    counts
        How many queries were left out or changed, and why.
    says
        Cost, gain, base and pool of the values: without them they cannot be compared.
    """

    def __init__(
        self,
        values: Mapping[str, dict[str, float]],
        empty: Mapping[str, dict[str, float]],
        counts: Mapping[str, int],
        says: str,
    ) -> None:
        super().__init__(values)
        self.empty, self.counts, self.says = dict(empty), dict(counts), says

    def summary(self, measure: str, topics: Mapping[str, str] | None = None) -> Summary:
        """Return means over topics: the queries of one are averaged first.

        The interval is the bootstrap's over topics; without `topics` each query is one.
        """
        values, empty = (by_topic(one[measure], topics) for one in (self, self.empty))
        return Summary(bootstrap(values), bootstrap(empty), _skill(measure, values, empty))


def by_topic(values: Mapping[str, float], topics: Mapping[str, str] | None) -> Floats:
    """Return the mean of each topic, in the order of topics; queries that cannot count are out."""
    means: dict[str, list[float]] = {}
    for query, value in values.items():
        if not np.isnan(value):
            means.setdefault(query if topics is None else topics.get(query, query), []).append(
                value
            )
    return np.array([np.mean(own) for own in means.values()])


def _skill(measure: str, values: Floats, empty: Floats) -> Estimate:
    if measure.upper().startswith("CS") or empty.mean() >= 1:
        return Estimate(np.nan, np.nan, np.nan, len(values))
    drawn = np.concatenate(list(resamples(len(values))))
    means, nothing = values[drawn].mean(axis=1), empty[drawn].mean(axis=1)
    resampled = (means - nothing) / np.maximum(1 - nothing, 1e-12)
    value = float((values.mean() - empty.mean()) / (1 - empty.mean()))
    return interval(value, resampled, len(values))
