"""The nouns of a report and its axes: all that the loop says of a domain is said in these."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Axis:
    """One measure that a plane can show.

    Attributes
    ----------
    says
        What it counts, in a few words.
    top
        Its highest value.
    binary
        Whether it is 0 or 1 for each subject.
    scored
        Whether it has a plane and a QuIPU score: it goes from 0 to 1 as utility does.
    """

    name: str
    says: str
    top: float = 1.0
    binary: bool = False
    scored: bool = True


RISKS = (  # of every attack that ranks the truth among candidates; see `veil.measures.risk`
    Axis("lazy", "the first guess is right (P@1)", binary=True),
    Axis("active", "the truth is among ten guesses (R@10)", binary=True),
    Axis("motivated", "one divided by the rank of the truth (MRR)"),
    Axis(
        "persistent",
        "rank-biased precision of the rank of the truth, at most 1 − p",
        top=1 - 0.8,
        scored=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The nouns of the report, and its axes.

    Attributes
    ----------
    title
        What is reported on: "places", "database answers".
    subject, subjects
        What is protected, one and many: "household", "households".
    size
        What there are several of for each subject: "releases".
    plain
        The same work without protection: "true places", "exact answers".
    utility, risks
        The axes of the plane, risks from the least to the most able attacker.
    better
        What is better when the utility is higher, after "upwards".
    data, task
        What the data and the user of a release are called, in files and in the report.
    families
        Families of mechanisms in the order of the report; others follow.
    elsewhere
        Names that tables of others give to our mechanisms.
    apart
        Attackers that are asked something else, and that no choice counts.
    """

    title: str
    subject: str
    subjects: str
    size: str
    plain: str
    utility: Axis
    risks: tuple[Axis, ...] = RISKS
    better: str = "the utility is higher"
    data: str = "data"
    task: str = "task"
    families: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()

    def axis(self, measure: str) -> Axis:
        """Return the axis of a measure of risk, also of one that is not declared."""
        found = (one for one in self.risks if one.name == measure)
        return next(found, Axis(measure, "the attacker's success"))

    def rank(self, measure: str) -> tuple[int, str]:
        """Order measures of risk from the least to the most able attacker, others last."""
        names = [axis.name for axis in self.risks]
        return (names.index(measure) if measure in names else len(names), measure)

    def sizes(self, count: int) -> str:
        """Say how many releases there are: "1 release", "20 releases"."""
        return f"{count} {self.size.removesuffix('s') if count == 1 else self.size}"
