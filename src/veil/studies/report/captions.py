"""How to read each part of a report, in the words of its domain."""

from veil.studies.experiment import Vocabulary

UNFINISHED = " ‡ marks curves with missing points."


def plane(words: Vocabulary) -> str:
    """Return how to read a plane."""
    return (
        "Each point is one configuration. Further right, the attacker succeeds more often; further"
        f" up, {words.better}. Above the dashed diagonal, the user gains more utility than the"
        f" attacker gains success. Bars are 95 % intervals over the {words.subjects}, and small"
        " numbers are values of the parameter. Point at a mark for its figures."
    )


def scores(words: Vocabulary) -> str:
    """Return the definition of the QuIPU score."""
    return (
        "The QuIPU score is twice the signed area between a mechanism's curve and the diagonal,"
        " measured along the diagonal towards the more useful end. 1 is best. 0 means as much risk"
        " as utility. A negative score means that the attacker gains more than the user. Below"
        f" each score is its 95 % interval over the {words.subjects}."
    )


def marks(words: Vocabulary) -> str:
    """Return the meaning of the marks in the table of scores."""
    return (
        "The best score of each column is in bold. ≈ marks scores that the data cannot distinguish"
        f" from it: the 95 % interval of the difference (the same {words.subjects} are resampled"
        " for both) contains 0. † marks mechanisms with one value, whose score is 0 by definition."
    )


def unscored(measures: list[str]) -> str:
    """Return which measures have no score, and why."""
    return (
        f" {', '.join(measures)} has no score: it cannot reach 1, so its scale differs from that"
        " of utility."
    )


def recovery(words: Vocabulary) -> str:
    """Return how to read the curves of recovery."""
    return (
        f"Many {words.size} of one {words.subject} average the noise away. The lines show the"
        f" share that an attacker restores with the first guess, by the number of {words.size}."
        f" Releasing a {words.subject} again with fresh noise adds to that number; the same"
        f" {words.size} again reveal nothing new. The axis is logarithmic."
    )


def linkage(words: Vocabulary) -> str:
    """Return how to read the table of linkage."""
    return (
        f"The {words.size} of each {words.subject} were split in half, as if it had been released"
        " twice with fresh noise. The figures show how often the attacker finds the matching"
        f" second half among those of all {words.subjects}. Linkage reveals that a"
        f" {words.subject} was released again, not its content."
    )


def utility(words: Vocabulary) -> str:
    """Return how to read the table of utility."""
    return f"The utility of the {words.size} by every measure. It does not show the risk."


def similarity(words: Vocabulary) -> str:
    """Return how to read the classical measures."""
    return (
        f"Mean similarity of a {words.subject} and its {words.size}: 1 means equal, 0 nothing in"
        f" common. A low similarity does not mean that the {words.subject} cannot be inferred; for"
        " that, see the planes."
    )


def few(shown: int, curves: int, *, stops: bool = False) -> str:
    """Return which curves are shown at first, or an empty string if all are.

    >>> few(5, 5), few(5, 18)
    ('', ' 5 of 18 curves are shown at first: those with the most points that no other one beats.')
    """
    if shown == curves:
        return ""
    most = "settings of the slider" if stops else "points that no other one beats"
    return f" {shown} of {curves} curves are shown at first: those with the most {most}."
