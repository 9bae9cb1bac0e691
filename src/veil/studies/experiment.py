"""What a domain offers, so that sweeps, planes, reports and choices work for it.

A domain is a subclass of `Experiment`: the nouns of its data (`Vocabulary`), the keys of its study
file, its mechanisms, and what is computed of each configuration. Everything else is the same for
all domains and is made here in `studies`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent
from veil.studies.specs import once
from veil.studies.store import Result
from veil.studies.study import Grid, Study
from veil.studies.table import Example, Results, Section
from veil.studies.vocabulary import Axis as Axis
from veil.studies.vocabulary import Vocabulary as Vocabulary


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work.

    Attributes
    ----------
    kind
        What is done. Steps of the kind "attack" give risks; all other names are the domain's own.
    key
        Digest of everything that changes the result: see `veil.studies.keys`.
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
        value i is that of subject i. Values of the utility may lie outside of its range, where it
        is a ratio of means: its mean, and the mean of every resample, are cut to it.
    by, task
        Who attacked; who used the release.
    chance
        What a blind guess would reach, or None.
    plane
        Whether it may be an axis of the plane.
    """

    kind: str
    measure: str
    values: Floats
    subjects: Ids | None = None
    by: str = ""
    task: str = ""
    chance: float | None = None
    plane: bool = True


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
        The key of a study that names the data, which ``plane`` takes as its argument.
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
    source: ClassVar[str] = ""
    seeded: ClassVar[bool] = True

    study: Study
    data: str
    n: int

    @abstractmethod
    def __init__(self, study: Any, report: Report = silent) -> None: ...  # noqa: ANN401 - its keys

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
            return once(map(cls.attackers.parse, attackers))
        if attackers:
            raise ParameterError("This domain has no attackers to choose from; leave them out.")
        return ()

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

    def sections(self, results: Results) -> Sequence[Section]:
        """Return parts of the report that only this domain has."""
        del results
        return ()
