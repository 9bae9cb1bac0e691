"""What a domain offers, so that sweeps, planes, reports and choices work for it.

A domain is a subclass of `Experiment`: the nouns of its data (`Vocabulary`), the keys of its study
file, its mechanisms, and what is computed of each configuration. Everything else is the same for
all domains and is made here in `studies`.
"""

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast

from veil.core.component import Component
from veil.core.errors import ParameterError, StepError, UnknownNameError, VeilError, place
from veil.core.guarantee import Guarantee
from veil.core.registry import unknown_name
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent
from veil.studies import DEFAULT, DOMAINS, GROUP
from veil.studies.specs import once
from veil.studies.store import Result
from veil.studies.study import Grid, Study
from veil.studies.table import Example, Results, Section

OTHER = "Other"  # the family of a mechanism that is not known here


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
        value i is that of subject i.
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
    study, data, n
        What is measured; the name of the data, and the number of subjects.
    """

    words: ClassVar[Vocabulary]
    keys: ClassVar[type[Study]]
    mechanisms: ClassVar[Methods]
    attackers: ClassVar[Methods | None] = None
    verbs: ClassVar[Mapping[str, str]] = {}
    source: ClassVar[str] = ""

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

    def cost(self, cell: Cell, made: Result) -> Guarantee:
        """Return what a whole release of one subject costs."""
        del made
        return cell.mechanism.guarantee.compose(cell.size, self.words.subject)

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


Domain = type[Experiment]


def domains() -> dict[str, str]:
    """Return the names of all domains, and the sentence of each."""
    return {name: row.says for name, row in DOMAINS.items()} | {
        name: f"A domain of {place.partition(':')[0]}." for name, place in _plugins().items()
    }


@lru_cache
def domain(name: str) -> Domain:
    """Return the experiments of that domain."""
    place = DOMAINS[name].place if name in DOMAINS else _plugins().get(name, "")
    if not place:
        raise unknown_name("domain", name, sorted(domains()))
    module, _, attribute = place.partition(":")
    return cast(Domain, getattr(import_module(module), attribute))


def _plugins() -> dict[str, str]:
    found: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        other = DOMAINS[point.name].place if point.name in DOMAINS else found.get(point.name, "")
        if other not in ("", point.value):
            raise UnknownNameError(
                f"There are two domains called '{point.name}': {other} and {point.value}; rename"
                " an entry point, or uninstall one."
            )
        found[point.name] = point.value
    return found


def words_of(name: str) -> Vocabulary:
    """Return the nouns of a domain."""
    return domain(name or DEFAULT).words


def method(name: str, mechanism: str) -> type[Component] | None:
    """Return a mechanism of a domain by its name, None for one that is not installed here."""
    found = domain(name or DEFAULT)
    try:
        named = found.words.elsewhere.get(mechanism, mechanism)
        return cast(type[Component], found.mechanisms.get(named))
    except VeilError:
        return None


@lru_cache(maxsize=2)
def opened(study: Study) -> Experiment:
    """Return the experiment of a study: the same for every step that this process computes."""
    return domain(study.domain)(study)


def compute(study: Study, step: Step, of: Result | None) -> Result:
    """Compute a step in this process, and say how long it took."""
    started = time.perf_counter()
    try:
        made = opened(study).compute(step, of)
    except VeilError:
        raise
    except Exception as error:  # noqa: BLE001 - its own message could quote what is protected
        by = f" by {step.by}" if step.by else ""
        raise StepError(
            f"The step '{step.kind}' of {step.spec or 'the data'}{by} failed:"
            f" {place(error)}; what is done is kept."
        ) from None
    return Result(made.arrays, made.data, time.perf_counter() - started)
