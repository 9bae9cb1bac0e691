"""How to read each part of a report."""

PLANE = (
    "Each point is one configuration: to the right the attacker succeeds more often, upwards the"
    " search results are better. Above the dashed diagonal the user gains more utility than the"
    " attacker gains success. Bars are 95 % intervals over the queries, small numbers are values"
    " of the parameter; point at a mark for its figures."
)
SCORES = (
    "The QuIPU score is twice the signed area between a mechanism's curve and the diagonal,"
    " measured along the diagonal: 1 is best, 0 means that utility was paid for with as much risk,"
    " a negative score means that the attacker gained more than the user. Below each score is its"
    " 95 % interval over the queries."
)
MARKS = (
    "The best of each column is in bold. ≈ marks those that the data cannot tell from it: the 95 %"
    " interval of the difference, with the same queries drawn for both, holds 0. † marks"
    " mechanisms with one value, whose score is 0 by definition."
)
UNFINISHED = " ‡ marks curves of which points are missing."
NO_PERSISTENT = (
    " The persistent measure has no score: it cannot exceed 1 − p, so that its area is on another"
    " scale than utility."
)
RECOVERY = (
    "Many variants of one query average the noise away: the lines show the share that an attacker"
    " restores at the first guess, by the number of variants. A query that is asked again with"
    " fresh noise gives away as many more; the same variants again give away nothing new. The axis"
    " is logarithmic."
)
LINKAGE = (
    "The variants of each query were cut into two halves, as if it had been asked twice with fresh"
    " noise: how often the second half is found among those of all other queries. It tells who"
    " asks again, not what is asked."
)
SIMILARITY = (
    "Mean similarity of a query and its variants: 1 means equal, 0 nothing in common. A low"
    " similarity does not mean that the query cannot be inferred; the planes show that."
)


def few(shown: int, curves: int, *, stops: bool = False) -> str:
    """Say which curves are drawn at first, where it is not all of them.

    >>> few(5, 5), few(5, 18)
    ('', ' Of 18 curves 5 are drawn at first: those with the most points that no other one beats.')
    """
    if shown == curves:
        return ""
    most = "stops of the slider" if stops else "points that no other one beats"
    return f" Of {curves} curves {shown} are drawn at first: those with the most {most}."
