"""How to read each part of a report, in the words of its domain."""

from veil.studies.experiment import Vocabulary

UNFINISHED = " ‡ marks curves of which points are missing."


def plane(words: Vocabulary) -> str:
    """Say what a plane shows."""
    return (
        "Each point is one configuration: to the right the attacker succeeds more often, upwards"
        f" {words.better}. Above the dashed diagonal the user gains more utility than the attacker"
        f" gains success. Bars are 95 % intervals over the {words.subjects}, small numbers are"
        " values of the parameter; point at a mark for its figures."
    )


def scores(words: Vocabulary) -> str:
    """Say what the QuIPU score is."""
    return (
        "The QuIPU score is twice the signed area between a mechanism's curve and the diagonal,"
        " measured along the diagonal towards the more useful end: 1 is best, 0 means that utility"
        " was paid for with as much risk, a negative score means that the attacker gained more"
        f" than the user. Below each score is its 95 % interval over the {words.subjects}."
    )


def marks(words: Vocabulary) -> str:
    """Say what the marks in the table of scores are."""
    return (
        "The best of each column is in bold. ≈ marks those that the data cannot tell from it: the"
        f" 95 % interval of the difference, with the same {words.subjects} drawn for both, holds"
        " 0. † marks mechanisms with one value, whose score is 0 by definition."
    )


def unscored(measures: list[str]) -> str:
    """Say which measures have no score."""
    return (
        f" No score by the measure {', '.join(measures)}: it cannot reach 1, so that its area is"
        " on another scale than utility."
    )


def recovery(words: Vocabulary) -> str:
    """Say what is recovered."""
    return (
        f"Many {words.size} of one {words.subject} average the noise away: the lines show the"
        " share that an attacker restores at the first guess, by their number. With fresh noise,"
        f" releasing a {words.subject} again gives away as many more; the same {words.size} again"
        " give away nothing new. The axis is logarithmic."
    )


def linkage(words: Vocabulary) -> str:
    """Say what is linked."""
    return (
        f"The {words.size} of each {words.subject} were cut into two halves, as if it had been"
        " released twice with fresh noise: how often the second half is found among those of all"
        f" other {words.subjects}. It tells who comes again, not with what."
    )


def utility(words: Vocabulary) -> str:
    """Say what is measured without any attacker."""
    return f"What the {words.size} are still worth, by every measure; it says nothing of risk."


def similarity(words: Vocabulary) -> str:
    """Say what the classical measures are worth."""
    return (
        f"Mean similarity of a {words.subject} and its {words.size}: 1 means equal, 0 nothing in"
        f" common. A low similarity does not mean that the {words.subject} cannot be inferred; the"
        " planes show that."
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
