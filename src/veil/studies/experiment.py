"""The contract of a domain, so that sweeps, planes, reports and choices work for it.

A domain is a subclass of `Experiment`: the nouns of its data (`Vocabulary`), the keys of its study
file, its mechanisms, and the computation for each configuration. `veil.studies` does the rest.
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
    """A measure that a plane can show.

    Attributes
    ----------
    says
        Short description.
    top
        Its highest value.
    binary
        Whether it is 0 or 1 for each subject.
    scored
        Whether it has a plane and a QuIPU score: its range is 0 to 1, like that of utility.
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
        Noun for the subject of the report: "places", "database answers".
    subject, subjects
        Noun for the privacy unit, singular and plural: "household", "households".
    size
        Noun for the releases of a subject, such as "releases".
    plain
        Noun for the unprotected data: "true places", "exact answers".
    utility, risks
        The axes of the plane, with risks from the weakest to the strongest attacker.
    better
        Meaning of a higher utility, after "upwards".
    data, task
        Nouns for the data and for the user of a release, in files and in the report.
    families
        Families of mechanisms in the order of the report; others follow.
    elsewhere
        Our mechanisms by their names in other people's tables.
    apart
        Attacks with another goal, which no choice counts.
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
        """Return the axis of a measure of risk; an undeclared one gets a default axis."""
        declared = (axis for axis in self.risks if axis.name == measure)
        return next(declared, Axis(measure, "the attacker's success"))

    def rank(self, measure: str) -> tuple[int, str]:
        """Return a sort key: measures from the weakest to the strongest attacker, others last."""
        names = [axis.name for axis in self.risks]
        return (names.index(measure) if measure in names else len(names), measure)

    def sizes(self, count: int) -> str:
        """Return the number of releases with its noun: "1 release", "20 releases"."""
        return f"{count} {self.size.removesuffix('s') if count == 1 else self.size}"


def step_key(kind: str, version: int, made_from: Mapping[str, object]) -> str:
    """Return the digest of the inputs of a step, which does not depend on their order.

    `version` is the domain's number for the computation. Raise it when a step computes something
    else.
    """
    whole = {"kind": kind, "version": version, **made_from}
    try:
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError("The parameters of a step of a study must be JSON values.") from None
    return hashlib.sha256(text.encode()).hexdigest()


def digest(parts: Iterable[str | bytes]) -> str:
    """Return the digest of a list of texts; the lengths are included, so lists do not collide."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


def seed_of(rng: Randomness) -> int:
    """Return the seed of an experiment: `rng` if it is an integer, else a random one.

    >>> seed_of(7)
    7
    """
    draws = generator(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(draws.integers(2**63))


@dataclass(frozen=True, slots=True)
class Step:
    """One computation of a study, whose result is stored.

    Attributes
    ----------
    kind
        The kind of computation. Steps of the kind "attack" give risks; a domain chooses all other
        names.
    key
        Digest of everything that changes the result.
    spec, size
        The mechanism and its number of releases; "" and 0 for the unprotected data.
    of
        Key of the step whose result it uses, or "".
    by
        Spec of the attack, or of the user of the release; otherwise "".
    count
        Number of releases of each subject that it uses.
    """

    kind: str
    key: str
    spec: str = ""
    size: int = 0
    of: str = ""
    by: str = ""
    count: int = 0


class Mechanism(Protocol):
    """A mechanism of a study; a frozen `Component` with a `guarantee` is one."""

    @property
    def name(self) -> str:
        """Name in specs."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee for one unit and one release."""
        ...


class Methods(Protocol):
    """The mechanisms, or attacks, of a domain by name; a `Registry` is one."""

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
    """One configuration: the step of its release, and the steps that use the release."""

    mechanism: Mechanism
    parameter: str
    value: float
    size: int
    release: Step
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Figure:
    """The values of one figure, before averaging.

    Attributes
    ----------
    kind, measure
        Kind of the row (``risk``, ``utility``, ``similarity``, ``loss``, ``recovery`` or
        ``linkage``), and the name of the measure.
    values, subjects
        (m,) values, nan if missing, and (m,) the subject of each value; None if value i belongs to
        subject i. Values of utility and risk may be out of range, such as a ratio of means or a
        risk minus a baseline: their mean and its interval are clipped to the range.
    by, task
        The attack, and the user of the release.
    chance
        Success of a blind guess, or None.
    plane
        Whether it may be an axis of the plane.
    mean
        The mean with its interval, if it is not that of `values`, such as that of an attack that
        also compares with controls.
    upper
        Upper bound of the mean with 97.5 % confidence, if values are outside the range of the
        axis, where the usual bound of a mean does not hold; otherwise None.
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
    """A registry, extended by components passed as objects, which need no registration."""

    registry: Methods
    objects: Mapping[str, Component]

    def names(self) -> tuple[str, ...]:
        """Return the names of the registry."""
        return self.registry.names()

    def get(self, name: str) -> type[Any]:
        """Return the class of that name."""
        return self.registry.get(name)

    def parse(self, spec: str) -> Any:  # noqa: ANN401 - of the domain's own type
        """Return the object with that spec, or build one from the registry."""
        return self.objects[spec] if spec in self.objects else self.registry.parse(spec)


class Experiment(ABC):
    """A study with its data, opened once per process.

    A domain declares its nouns, keys and registries. It reads its data (`read`, `use`), computes a
    step (`compute`), and yields the figures of the step (`figures`). This class derives the steps,
    keys and cells, and caches releases. Everything can be overridden.

    Attributes
    ----------
    words, keys
        The nouns of the report, and the keys of the study file.
    mechanisms, attackers
        The registries of mechanisms and attacks.
    listed, advice
        Mechanisms for the command ``mechanisms``, if studies accept only some, and a sentence
        below the list.
    verbs
        Further commands, as ``{"protect": "module:function"}``: see `veil.cli.domain`.
    source
        The key or keys of a study that name the data: the arguments of ``plane``.
    seeded
        Whether releases are drawn here, with the seed of the study.
    domain
        Name of the domain, for experiments on data in memory.
    version
        Number of the computation, part of all keys. Raise it when a step computes something else.
    paths, digested
        Keys of the study that are paths, and those whose content changes results (default: all).
    unkeyed
        Other keys that change only the report.
    single
        Reason for only one release per subject, or "" if a study may have several `sizes`.
    release_kind
        The kind of step that computes a release.
    usual
        Attacks of a study without its own list.
    attacks_plain
        Whether the unprotected data is also attacked.
    report_only
        Kinds of steps without a figure on the plane.
    plane_measure
        The measure of risk on a plane in memory; by default the first of `words`.
    kept
        Number of releases that a process keeps in memory, because several steps use each.
    study, data, n
        The study, the name of the data, and the number of subjects.
    inputs
        Everything that changes a result, except mechanism and attack; part of all keys.
    in_memory
        Whether the data was passed as an object instead of read from files.
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
        """Return an experiment on data in memory.

        Parameters
        ----------
        material
            The data, as `read` returns it for the files of a study.
        rng
            Seed, or a generator to draw one from; by default a fresh one.
        inputs
            `inputs` of a study of files with the same data, to repeat its draws; by default
            derived from the content of the data and the keys.
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
        """Return the data in the files of a study."""
        del study, report
        raise NotImplementedError

    def use(self, material: Any) -> None:  # noqa: ANN401 - of its own type
        """Store the data, and set `data` and `n`."""
        raise NotImplementedError

    @classmethod
    def content(cls, material: Any) -> str:  # noqa: ANN401 - of its own type
        """Return the digest of data in memory: arrays, dataclasses, components, texts."""
        return digest(_parts_of(material))

    @classmethod
    def inputs_of(cls, study: Any, material: Any) -> dict[str, object]:  # noqa: ANN401 - its own
        """Return the keys of a study that change results, with digests instead of file names."""
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
        """Return the study in the file `name` in `folder` with absolute paths."""
        del name
        paths = {key: getattr(study, key) for key in cls.paths}
        absolute = {key: str((folder / path).resolve()) for key, path in paths.items() if path}
        return study.model_copy(update=absolute)

    @classmethod
    def settle_grid(cls, grid: Grid, where: str, folder: Path) -> Grid:
        """Return a grid with absolute paths in its spec."""
        del where, folder
        return grid

    @classmethod
    def suggest(cls, keys: Mapping[str, Any]) -> Sequence[Mapping[str, object]]:
        """Return the ``[[mechanism]]`` tables for a study with these keys but no mechanism."""
        del keys
        return ()

    @classmethod
    def attacker_specs(cls, attackers: Sequence[str]) -> tuple[str, ...]:
        """Return the specs of attacks in canonical form; each must be in the registry."""
        if cls.attackers is not None:
            return distinct_specs(map(cls.attackers.parse, attackers))
        if attackers:
            raise ParameterError("This domain has no attacks. Remove 'attackers'.")
        return ()

    @classmethod
    def add_declared_attackers(cls, grid: Grid) -> Grid:
        """Return a grid, with the attacks that its mechanism declares if it names none.

        Override it if the default attacks lack some of them.
        """
        return grid

    def trying(
        self, mechanisms: Sequence[str | Component], attackers: Sequence[str | Component] = ()
    ) -> Self:
        """Return this experiment with other mechanisms and attacks, given as specs or objects."""
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
        """Return a step, with a key derived from everything that changes its result."""
        key = step_key(kind, self.version, self.changes(kind, spec, size, of, by))
        return Step(kind, key, spec, size, of, by, size)

    def changes(self, kind: str, spec: str, size: int, of: str, by: str) -> dict[str, object]:
        """Return everything that changes the result of a step."""
        del kind
        changes = {**self.inputs, "spec": spec, "of": of, "by": by}
        return changes if self.single else {**changes, "size": size}

    def cells(self) -> Sequence[Cell]:
        """Return all configurations of the study."""
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
        """Return the kind and the `by` of each step that measures a release.

        `mechanism` is None for the unprotected data.
        """
        del mechanism
        return [("measure", "")]

    @classmethod
    def usual_attackers(cls, mechanism: Any) -> tuple[str, ...]:  # noqa: ANN401
        """Return the default attacks on a mechanism, or on the unprotected data (None)."""
        del mechanism
        return cls.usual

    def plain(self) -> Sequence[Step]:
        """Return the steps on the unprotected data, the reference for utility."""
        steps = [self.step(kind, by=by) for kind, by in self.comparisons(None)]
        if self.attacks_plain:
            attackers = self.study.all_attackers or self.usual_attackers(None)
            steps += [self.step("attack", by=by) for by in attackers]
        return steps

    def draws(self, step: Step) -> Generator:
        """Return the generator of a step, which depends only on the seed and the key."""
        return stream(self.study.seed, int(step.key[:15], 16))

    def remembered(self, key: str, make: Callable[[], T]) -> T:
        """Return the cached result for a key, or make it; the last `kept` results stay cached."""
        if key not in self._releases:
            release = make()
            for old in list(self._releases)[: 1 - self.kept]:
                del self._releases[old]
            self._releases[key] = release
        result: T = self._releases[key]
        return result

    def prepare(self, missing: Sequence[Step]) -> None:
        """Prepare what all workers need, before they start."""
        del missing

    @abstractmethod
    def compute(self, step: Step, of: Result | None) -> Result:
        """Return the result of a step, in a worker; `of` is the result of ``step.of``."""
        ...

    @abstractmethod
    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the figures of a step; `cell` is None for the unprotected data."""
        ...

    def claim(self, cell: Cell, release: Result) -> Guarantee:
        """Return the guarantee for one unit and one release; it may depend on the release."""
        del release
        return cell.mechanism.guarantee

    def cost(self, cell: Cell, release: Result) -> Guarantee:
        """Return the cost of all releases of one subject."""
        return self.claim(cell, release).compose(cell.size, self.words.subject)

    def details(self, cell: Cell, release: Result, attacked: Result) -> Mapping[str, Any]:
        """Return attributes of a `PlanePoint` that are specific to the domain."""
        del cell, release, attacked
        return {}

    def examples(self, cell: Cell, release: Result) -> Iterator[Example]:
        """Yield subjects and some releases of each, for the report."""
        del cell, release
        yield from ()

    def facts(self) -> Sequence[tuple[str, str]]:
        """Return the facts needed to repeat the study, as pairs of a name and a value."""
        return ()

    def notes(self) -> Sequence[str]:
        """Return remarks for readers of the figures."""
        return ()

    def remarks(self, results: Results) -> Sequence[str]:
        """Return sentences for the summary that are specific to the domain."""
        del results
        return ()

    def warnings(self, results: Results) -> Sequence[str]:
        """Return warnings before the figures that are specific to the domain."""
        del results
        return ()

    def sections(self, results: Results) -> Sequence[Section]:
        """Return sections of the report that are specific to the domain."""
        del results
        return ()


def _parts_of(value: Any) -> Iterator[str | bytes]:  # noqa: ANN401 - of any kind
    """Yield the parts of a value in a fixed order, for a digest."""
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
    components: Sequence[str | Component], registry: Methods, write: Callable[[Component], str]
) -> dict[str, Component]:
    """Return components by their specs, as formatted by `write`."""
    objects = [registry.parse(item) if isinstance(item, str) else item for item in components]
    return {write(item): item for item in objects}


def path_digest(path: str) -> str:
    """Return the digest of an existing file."""
    if not Path(path).is_file():
        raise InputError(f"File {path} does not exist. Check the path.")
    return file_digest(Path(path), "sha256")
