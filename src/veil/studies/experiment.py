"""What a domain offers, so that sweeps, planes, reports and choices work for it.

A domain is a subclass of `Experiment`: the nouns of its data (`Vocabulary`), the keys of its study
file, its mechanisms, and what is computed of each configuration. Everything else is the same for
all domains and is made here in `studies`.
"""

import copy
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator, stream
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.data.files import digest as file_digest
from veil.studies.results import Example, Results, Section
from veil.studies.store import Result
from veil.studies.study import Grid, Study, distinct_specs, short_spec


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
        declared = (axis for axis in self.risks if axis.name == measure)
        return next(declared, Axis(measure, "the attacker's success"))

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


def digest(parts: Iterable[str | bytes]) -> str:
    """Return the digest of texts in their order; no two lists of texts share one."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


def seed_of(rng: Randomness) -> int:
    """Return the seed of an experiment: the integer itself, else one that is drawn.

    >>> seed_of(7)
    7
    """
    draws = generator(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(draws.integers(2**63))


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


T = TypeVar("T")


@dataclass(frozen=True)
class WithObjects:
    """A registry, and components that were handed in as objects, which need no registration."""

    known: Methods
    objects: Mapping[str, Component]

    def names(self) -> tuple[str, ...]:
        """Return the names of the registry."""
        return self.known.names()

    def get(self, name: str) -> type[Any]:
        """Return the class of that name."""
        return self.known.get(name)

    def parse(self, spec: str) -> Any:  # noqa: ANN401 - of the domain's own type
        """Return the object with that spec, or build one from the registry."""
        return self.objects[spec] if spec in self.objects else self.known.parse(spec)


class Experiment(ABC):
    """A study made concrete: its material, and what is done with it; opened once per process.

    A domain declares its nouns, keys and registries. It reads its material (`read`, `use`),
    computes a step (`compute`), and says what the step measured (`figures`). Steps, keys, cells
    and the release cache are made here. Anything below can be overridden.

    Attributes
    ----------
    words, keys
        The nouns of the report; the keys of its study file.
    mechanisms, attackers
        What protects and who attacks, by name.
    listed, advice
        All mechanisms that ``mechanisms`` lists, if studies take only some, and a sentence below
        the list.
    verbs
        Commands of its own, as ``{"protect": "module:function"}``: see `veil.cli.domain`.
    source
        The key of a study that names the data, or several: the arguments of ``plane``.
    seeded
        Whether releases are drawn here, with the seed of the study.
    domain
        Its name, for experiments on material in memory.
    version
        Number of the computation, part of all keys. Raise it when a step computes something else.
    paths, digested
        Keys of the study that are paths, and those whose content changes results (by default all).
    unkeyed
        Other keys that change the report alone, and no result.
    single
        Why there is one release per subject, or "" if a study may have several `sizes`.
    release_kind
        The kind of step that makes a release.
    usual
        Attackers of a study that names none.
    attacks_plain
        Whether the data are also attacked without protection.
    report_only
        Kinds of steps that give no figure of the plane.
    plane_measure
        The measure of risk on a plane in memory; by default the first of `words`.
    kept
        How many releases a process keeps in memory: several steps work on each.
    study, data, n
        What is measured; the name of the data, and the number of subjects.
    inputs
        Everything but mechanism and attacker that changes a result; part of all keys.
    in_memory
        Whether the material was handed in, and not read from the files of the study.
    """

    words: ClassVar[Vocabulary]
    keys: ClassVar[type[Study]]
    mechanisms: ClassVar[Methods]
    attackers: ClassVar[Methods | None] = None
    listed: ClassVar[Methods | None] = None
    advice: ClassVar[str] = ""
    verbs: ClassVar[Mapping[str, str]] = {}
    source: ClassVar[str | tuple[str, ...]] = ""
    seeded: ClassVar[bool] = True
    domain: ClassVar[str] = ""
    version: ClassVar[int] = 1
    paths: ClassVar[tuple[str, ...]] = ()
    digested: ClassVar[tuple[str, ...] | None] = None
    unkeyed: ClassVar[tuple[str, ...]] = ()
    single: ClassVar[str] = ""
    release_kind: ClassVar[str] = "protect"
    usual: ClassVar[tuple[str, ...]] = ()
    attacks_plain: ClassVar[bool] = False
    report_only: ClassVar[tuple[str, ...]] = ()
    plane_measure: ClassVar[str] = ""
    kept: ClassVar[int] = 2

    study: Any  # of the class `keys`
    data: str
    n: int
    inputs: Mapping[str, object]
    in_memory: bool = False

    def __init__(self, study: Any, report: Report = no_progress) -> None:  # noqa: ANN401 - its keys
        if self.single and study.sizes != (1,):
            raise ParameterError(
                f"The 'sizes' of a study of {self.words.title} must be [1]: {self.single}."
            )
        material = self.read(study, report)
        self._open(study, material, self.inputs_of(study, material))

    @classmethod
    def of(
        cls,
        material: Any,  # noqa: ANN401 - of the domain's own type
        rng: Randomness = None,
        *,
        inputs: Mapping[str, object] | None = None,
        **keys: Any,  # noqa: ANN401 - of its own types
    ) -> Self:
        """Return an experiment on material in memory.

        Parameters
        ----------
        material
            What `read` returns for the files of a study.
        rng
            Seed, or generator to draw one from; by default a fresh one.
        inputs
            Those of a file study with the same material, to draw what it draws; by default the
            content of the material and the keys.
        keys
            Keys of a study that are not files.
        """
        seed = seed_of(rng)
        study = cls.keys.model_construct(
            name="plane", domain=cls.domain, seed=seed, mechanism=(), **keys
        )
        experiment = cls.__new__(cls)
        experiment.in_memory = True
        if inputs is None:
            own = {key: str(value) for key, value in keys.items()}
            inputs = {**own, "material": cls.content(material), "seed": str(seed)}
        experiment._open(study, material, inputs)
        return experiment

    def _open(self, study: Study, material: object, inputs: Mapping[str, object]) -> None:
        self.study, self.inputs = study, inputs
        self._releases: dict[str, Any] = {}
        self.use(material)

    @classmethod
    def read(cls, study: Any, report: Report) -> Any:  # noqa: ANN401 - of its own types
        """Return the material that the files of a study hold."""
        del study, report
        raise NotImplementedError

    def use(self, material: Any) -> None:  # noqa: ANN401 - of its own type
        """Keep the material, and set `data` and `n`."""
        raise NotImplementedError

    @classmethod
    def content(cls, material: Any) -> str:  # noqa: ANN401 - of its own type
        """Return the digest of material in memory: arrays, dataclasses, components, texts."""
        return digest(_parts_of(material))

    @classmethod
    def inputs_of(cls, study: Any, material: Any) -> dict[str, object]:  # noqa: ANN401 - its own
        """Return the keys of a study that change results: the contents of files, not names."""
        del material
        left_out = {*Study.model_fields, *cls.paths, *cls.unkeyed}
        own = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in study
            if key not in left_out
        }
        digested = cls.paths if cls.digested is None else cls.digested
        files = {key: path_digest(getattr(study, key)) for key in digested if getattr(study, key)}
        return {**own, **files, "seed": str(study.seed)}

    @classmethod
    def settle(cls, study: Any, name: str, folder: Path) -> Any:  # noqa: ANN401 - its keys
        """Return a study of the file `name` in `folder` with its paths made absolute."""
        del name
        paths = {key: getattr(study, key) for key in cls.paths}
        absolute = {key: str((folder / path).resolve()) for key, path in paths.items() if path}
        return study.model_copy(update=absolute)

    @classmethod
    def settle_grid(cls, grid: Grid, where: str, folder: Path) -> Grid:
        """Return a grid with the paths in its spec made absolute."""
        del where, folder
        return grid

    @classmethod
    def suggest(cls, keys: Mapping[str, Any]) -> Sequence[Mapping[str, object]]:
        """Return the ``[[mechanism]]`` tables to try if a study of these keys names none."""
        del keys
        return ()

    @classmethod
    def attacker_specs(cls, attackers: Sequence[str]) -> tuple[str, ...]:
        """Return the specs of attackers, written in one way; each must be a known attacker."""
        if cls.attackers is not None:
            return distinct_specs(map(cls.attackers.parse, attackers))
        if attackers:
            raise ParameterError("This domain has no attackers to choose from; leave them out.")
        return ()

    @classmethod
    def add_declared_attackers(cls, grid: Grid) -> Grid:
        """Return a grid with the attackers that its mechanism declares, if it names none.

        That is for domains whose default attackers lack some.
        """
        return grid

    def trying(
        self, mechanisms: Sequence[str | Component], attackers: Sequence[str | Component] = ()
    ) -> Self:
        """Return this experiment with other mechanisms and attackers, each a spec or an object."""
        other = copy.copy(self)
        protecting = _parsed(mechanisms, self.mechanisms, str)
        attacking = {}
        if self.attackers is not None:
            attacking = _parsed(attackers, self.attackers, short_spec)
        vars(other)["mechanisms"] = WithObjects(self.mechanisms, protecting)
        if self.attackers is not None:
            vars(other)["attackers"] = WithObjects(self.attackers, attacking)
        grids = tuple(Grid(spec=spec) for spec in protecting)
        usual = type(self.study).model_fields["attackers"].default
        update = {"mechanism": grids, "attackers": tuple(attacking) or usual}
        other.study = self.study.model_copy(update=update)
        return other

    def step(self, kind: str, spec: str = "", size: int = 0, of: str = "", by: str = "") -> Step:
        """Return a step, with a key made from everything that changes its result."""
        key = step_key(kind, self.version, self.changes(kind, spec, size, of, by))
        return Step(kind, key, spec, size, of, by, size)

    def changes(self, kind: str, spec: str, size: int, of: str, by: str) -> dict[str, object]:
        """Return everything that changes the result of a step."""
        del kind
        changes = {**self.inputs, "spec": spec, "of": of, "by": by}
        return changes if self.single else {**changes, "size": size}

    def cells(self) -> Sequence[Cell]:
        """Return all configurations: a release of each mechanism, compared and attacked."""
        return [
            self.cell(grid, mechanism, value, size)
            for size in dict.fromkeys(self.study.sizes)
            for grid in self.study.mechanism
            for mechanism, value in grid.mechanisms(self.mechanisms)
        ]

    def cell(self, grid: Grid, mechanism: Any, value: float, size: int) -> Cell:  # noqa: ANN401
        """Return one configuration."""
        spec = str(mechanism)
        attackers = self.study.against(grid) or self.usual_attackers(mechanism)
        release = self.release_step(spec, size)
        steps = [
            self.step(kind, spec, size, release.key, by)
            for kind, by in self.comparisons(mechanism)
        ]
        steps += [self.step("attack", spec, size, release.key, by) for by in attackers]
        return Cell(mechanism, grid.parameter, value, size, release, tuple(steps))

    def release_step(self, spec: str, size: int) -> Step:
        """Return the step that makes a release."""
        return self.step(self.release_kind, spec, size)

    def comparisons(self, mechanism: Any) -> Sequence[tuple[str, str]]:  # noqa: ANN401
        """Return the kinds of steps that measure a release, and who measures.

        `mechanism` is None for work without protection.
        """
        del mechanism
        return [("measure", "")]

    @classmethod
    def usual_attackers(cls, mechanism: Any) -> tuple[str, ...]:  # noqa: ANN401
        """Return who attacks a mechanism, or the plain data (None), unless a study says so."""
        del mechanism
        return cls.usual

    def plain(self) -> Sequence[Step]:
        """Return the same work without protection: what utility is measured by."""
        steps = [self.step(kind, by=by) for kind, by in self.comparisons(None)]
        if self.attacks_plain:
            attackers = self.study.all_attackers or self.usual_attackers(None)
            steps += [self.step("attack", by=by) for by in attackers]
        return steps

    def draws(self, step: Step) -> Generator:
        """Return the generator of a step: the same whoever computes it, and when."""
        return stream(self.study.seed, int(step.key[:15], 16))

    def remembered(self, key: str, make: Callable[[], T]) -> T:
        """Return what `make` returns; the last `kept` results stay in memory."""
        if key not in self._releases:
            release = make()
            for old in list(self._releases)[: 1 - self.kept]:
                del self._releases[old]
            self._releases[key] = release
        kept: T = self._releases[key]
        return kept

    def prepare(self, missing: Sequence[Step]) -> None:
        """Make once, before workers start, what all of them need."""
        del missing

    @abstractmethod
    def compute(self, step: Step, of: Result | None) -> Result:
        """Compute a step, in a worker; `of` is what ``step.of`` gave."""
        ...

    @abstractmethod
    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield what a step measured; `cell` is None for work without protection."""
        ...

    def claim(self, cell: Cell, release: Result) -> Guarantee:
        """Return what is proved for one unit and one release; it may depend on the release."""
        del release
        return cell.mechanism.guarantee

    def cost(self, cell: Cell, release: Result) -> Guarantee:
        """Return what a whole release of one subject costs."""
        return self.claim(cell, release).compose(cell.size, self.words.subject)

    def details(self, cell: Cell, release: Result, attacked: Result) -> Mapping[str, Any]:
        """Return attributes of a `PlanePoint` that only this domain knows."""
        del cell, release, attacked
        return {}

    def examples(self, cell: Cell, release: Result) -> Iterator[Example]:
        """Yield subjects and some releases of each, for the report."""
        del cell, release
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


def _parts_of(value: Any) -> Iterator[str | bytes]:  # noqa: ANN401 - of any kind
    """Yield everything that a value is made of, in a fixed order."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}"
        yield repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
    elif is_dataclass(value):
        for part in fields(value):
            yield part.name
            yield from _parts_of(getattr(value, part.name))
    elif isinstance(value, Mapping):
        yield f"{len(value)} entries"
        for key, entry in value.items():
            yield str(key)
            yield from _parts_of(entry)
    elif isinstance(value, list | tuple):
        yield f"{len(value)} items"
        for item in value:
            yield from _parts_of(item)
    else:
        yield str(value)


def _parsed(
    components: Sequence[str | Component], known: Methods, write: Callable[[Component], str]
) -> dict[str, Component]:
    """Return components by their specs, as `write` writes them."""
    objects = [known.parse(item) if isinstance(item, str) else item for item in components]
    return {write(item): item for item in objects}


def path_digest(path: str) -> str:
    """Return the digest of a file, which must be there."""
    if not Path(path).is_file():
        raise InputError(f"There is no file {path}.")
    return file_digest(Path(path), "sha256")
