"""What a domain offers, so that sweeps, planes, reports and choices work for it.

A domain is a subclass of `Experiment`: the nouns of its data (`Vocabulary`), the keys of its study
file, its mechanisms, and what is computed of each configuration. Everything else is the same for
all domains and is made here in `studies`.
"""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.measures.estimate import Estimate
from veil.studies.results import Example, Results, Section
from veil.studies.store import Result
from veil.studies.study import Grid, Study, distinct_specs


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


def step_key(kind: str, version: int, made_from: Mapping[str, object]) -> str:
    """Return the digest of a canonical form: the order in which things were named is no part.

    `version` is the domain's number for what a step of that kind computes; a change of that needs
    a new number.
    """
    whole = {"kind": kind, "version": version, **made_from}
    try:
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(
            "A step of a study has a parameter that has no written form."
        ) from None
    return hashlib.sha256(text.encode()).hexdigest()


def digest(parts: Iterable[str]) -> str:
    """Return the digest of texts in their order, told apart whatever they hold."""
    made = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "little") + data)
    return made.hexdigest()


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work.

    Attributes
    ----------
    kind
        What is done. Steps of the kind "attack" give risks; all other names are the domain's own.
    key
        Digest of everything that changes the result: see `veil.studies.experiment`.
    spec, size
        The mechanism and its number of releases; "" and 0 for work without protection.
    of
        Key of the step whose result it works on, or "".
    by
        Who does it: spec of an attacker or of what uses the release; else "".
    count
        Number of releases of each subject that are looked at.
    """

    kind: str
    key: str
    spec: str = ""
    size: int = 0
    of: str = ""
    by: str = ""
    count: int = 0


class Mechanism(Protocol):
    """What a study asks of a mechanism; a frozen `Component` with a `guarantee` has it all."""

    @property
    def name(self) -> str:
        """Name in specs."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What is proved for one unit and one release."""
        ...


class Methods(Protocol):
    """The mechanisms, or attackers, of a domain by name; a `Registry` is one."""

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        ...

    def get(self, name: str) -> type[Any]:
        """Return the class of that name."""
        ...

    def parse(self, spec: str) -> Any:  # noqa: ANN401 - of the domain's own type
        """Build one from its spec."""
        ...


@dataclass(frozen=True, slots=True)
class Cell:
    """One configuration: a release, and what is done with it."""

    mechanism: Mechanism
    parameter: str
    value: float
    size: int
    release: Step
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Figure:
    """One figure before its mean is taken.

    Attributes
    ----------
    kind, measure
        As in the rows of the table: ``risk``, ``utility``, ``similarity``, ``loss``, ``recovery``,
        ``linkage``; and what was measured.
    values, subjects
        (m,) the values, nan where there is none, and (m,) which subject each belongs to, None if
        value i is that of subject i. Values of utility and risk may lie outside their range, as
        those of a ratio of means or of a risk that subtracts a baseline: their mean and the ends
        of its interval are cut to the range.
    by, task
        Who attacked; who used the release.
    chance
        What a blind guess would reach, or None.
    plane
        Whether it may be an axis of the plane.
    mean
        The mean with its interval where it is not that of `values`: as an attack reports it that
        also compares with controls.
    upper
        What the mean is at most with 97.5 % confidence, where values lie outside 0 to the top of
        the axis, for which the bound of a mean does not hold; else None.
    """

    kind: str
    measure: str
    values: Floats
    subjects: Ids | None = None
    by: str = ""
    task: str = ""
    chance: float | None = None
    plane: bool = True
    mean: Estimate | None = None
    upper: float | None = None


class Experiment(Protocol):
    """A study made concrete: its material, and what is done with it; opened once per process.

    Subclass it; what is not abstract below may be left as it is.

    Attributes
    ----------
    words, keys
        The nouns of the report; the keys of its study file.
    mechanisms, attackers
        What protects and who attacks, by name.
    verbs
        Commands of its own, as ``{"protect": "module:function"}``: see `veil.cli.domain`.
    source
        The key of a study that names the data, or several: the arguments of ``plane``.
    seeded
        Whether releases are drawn here, with the seed of the study.
    study, data, n
        What is measured; the name of the data, and the number of subjects.
    """

    words: ClassVar[Vocabulary]
    keys: ClassVar[type[Study]]
    mechanisms: ClassVar[Methods]
    attackers: ClassVar[Methods | None] = None
    verbs: ClassVar[Mapping[str, str]] = {}
    source: ClassVar[str | tuple[str, ...]] = ""
    seeded: ClassVar[bool] = True

    study: Study
    data: str
    n: int

    @abstractmethod
    def __init__(self, study: Any, report: Report = no_progress) -> None: ...  # noqa: ANN401 - its keys

    @classmethod
    def settle(cls, study: Any, name: str, folder: Path) -> Any:  # noqa: ANN401 - its keys
        """Return a study of the file `name` in `folder` with its paths made absolute."""
        del name, folder
        return study

    @classmethod
    def settle_grid(cls, grid: Grid, where: str, folder: Path) -> Grid:
        """Return a grid with the paths in its spec made absolute."""
        del where, folder
        return grid

    @classmethod
    def spelt(cls, attackers: Sequence[str]) -> tuple[str, ...]:
        """Return the specs of attackers, written in one way; each must be one that there is."""
        if cls.attackers is not None:
            return distinct_specs(map(cls.attackers.parse, attackers))
        if attackers:
            raise ParameterError("This domain has no attackers to choose from; leave them out.")
        return ()

    @classmethod
    def with_foes(cls, grid: Grid) -> Grid:
        """Return a grid with the attackers that know how its mechanism works, if none are named.

        That is for domains whose default attackers lack some.
        """
        return grid

    @abstractmethod
    def cells(self) -> Sequence[Cell]:
        """Return all configurations."""
        ...

    @abstractmethod
    def plain(self) -> Sequence[Step]:
        """Return the same work without protection: what utility is measured by."""
        ...

    def prepare(self, missing: Sequence[Step]) -> None:
        """Make once, before workers start, what all of them need."""
        del missing

    @abstractmethod
    def compute(self, step: Step, of: Result | None) -> Result:
        """Compute a step, in a worker; `of` is what ``step.of`` gave."""
        ...

    @abstractmethod
    def figures(self, cell: Cell | None, step: Step, found: Result) -> Iterator[Figure]:
        """Yield what a step measured; `cell` is None for work without protection."""
        ...

    def claim(self, cell: Cell, made: Result) -> Guarantee:
        """Return what is proved for one unit and one release; it may depend on what was made."""
        del made
        return cell.mechanism.guarantee

    def cost(self, cell: Cell, made: Result) -> Guarantee:
        """Return what a whole release of one subject costs."""
        return self.claim(cell, made).compose(cell.size, self.words.subject)

    def examples(self, cell: Cell, made: Result) -> Iterator[Example]:
        """Yield subjects and some releases of each, for the report."""
        del cell, made
        yield from ()

    def facts(self) -> Sequence[tuple[str, str]]:
        """Return what must be known to repeat it, as pairs of a name and a value."""
        return ()

    def notes(self) -> Sequence[str]:
        """Return sentences that a reader of the figures must know."""
        return ()

    def remarks(self, results: Results) -> Sequence[str]:
        """Return sentences for the summary that only this domain can say."""
        del results
        return ()

    def warnings(self, results: Results) -> Sequence[str]:
        """Return what a reader must know before the figures, and only this domain can say."""
        del results
        return ()

    def sections(self, results: Results) -> Sequence[Section]:
        """Return parts of the report that only this domain has."""
        del results
        return ()
