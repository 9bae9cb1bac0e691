"""One TOML file is a study: a collection, a log, mechanisms with their parameters, attackers."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from veil.core.errors import InputError, ParameterError
from veil.search.engines.engine import MAX_K
from veil.studies._sentences import no_such_key, sentence
from veil.studies._specs import attacker_specs, encoder_spec, engine_specs, written
from veil.studies._where import absolute, told
from veil.text.mechanisms.find import mechanism, mechanism_class
from veil.text.mechanisms.mechanism import TextMechanism

COUNTS = (1, 2, 5, 10, 20, 50)  # variants after which recovery is looked at
MAX_SIZE = 1_000  # variants of a query
_MAX_BYTES = 2**20  # of a study file


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Specs = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Grid(BaseModel):
    """One ``[[mechanism]]``: its fixed parameters, and the one whose values are tried.

    `attackers` are tried on this mechanism instead of those of the study.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    spec: str
    parameter: str = ""
    values: Annotated[tuple[float, ...], Field(strict=False)] = ()
    attackers: Annotated[Specs | None, Field(strict=False)] = None

    def mechanisms(self) -> Iterator[tuple[TextMechanism, float]]:
        """Build the mechanism for each value; without a parameter there is one, of value 0."""
        if not self.parameter:
            yield mechanism(self.spec), 0.0
            return
        if re.search(rf"[(,]\s*{re.escape(self.parameter)}\s*=", self.spec):
            raise ParameterError(
                f"'{self.parameter}' is given in the spec and as the parameter whose values are"
                " tried; leave it out of the spec."
            )
        head, _, rest = self.spec.strip().partition("(")
        fixed = rest.rstrip().removesuffix(")").strip()
        both = ", ".join(filter(None, (fixed, f"{self.parameter}={self.values[0]!r}")))
        first = mechanism(f"{head}({both})")
        for value in self.values:
            yield type(first).load({**dict(first), self.parameter: value}), value


class Study(BaseModel):
    """What is measured.

    Everything that is a path is absolute, so that workers find it wherever they run, and every
    spec is written in one way. Two studies that are equal measure the same.

    Attributes
    ----------
    collection
        A name, ``irds:ID``, or a path.
    queries
        At most so many, taken evenly among those with judgements; 0 for all.
    log, log_size
        ``collection`` (its own log), ``irds:ID``, or a file of one query per line; at most so many
        distinct queries of it, taken evenly, 0 for all.
    engine, encoder
        What is asked, one or several; what re-ranks, or ``none``.
    sizes, k
        Numbers of variants, and results of each.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    name: Annotated[str, Field(min_length=1, max_length=100)]
    collection: str = "icd10cm"
    queries: Annotated[int, Field(ge=0)] = 50
    log: str = "collection"
    log_size: Annotated[int, Field(ge=0)] = 0
    add_queries_to_log: bool = True
    vectors: str = "glove-100d"
    engine: Annotated[Specs, Field(min_length=1, strict=False)] = ("bm25",)
    encoder: str = "minilm"
    sizes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_SIZE)], ...], Field(min_length=1, strict=False)
    ] = (20,)
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 100
    seed: Annotated[int, Field(ge=0)] = 1
    attackers: Annotated[Specs, Field(strict=False)] = ("inference",)
    mechanism: Annotated[tuple[Grid, ...], Field(min_length=1, strict=False)]

    @property
    def all_attackers(self) -> tuple[str, ...]:
        """The attackers that are tried on any mechanism."""
        own = (each for grid in self.mechanism for each in self.against(grid))
        return tuple(dict.fromkeys(own))

    def against(self, grid: Grid) -> tuple[str, ...]:
        """Return the attackers that are tried on a mechanism."""
        return self.attackers if grid.attackers is None else grid.attackers

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of variants after which recovery is looked at."""
        largest = max(self.sizes)
        return tuple(sorted({count for count in COUNTS if count < largest} | {largest}))


def load_study(path: Path) -> Study:
    """Read a study from a TOML file; relative paths in it start from the file's folder."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is larger than a study can be; name a TOML file of one.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"The study {path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InputError(f"The study {path} is not UTF-8; convert it.") from None
    return parse_study(text, path.name, path.resolve().parent)


def parse_study(text: str, name: str, folder: Path) -> Study:
    """Read a study from the text of a TOML file called `name` that lies in `folder`."""
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not a TOML file: {str(error).rstrip('.')}.") from None
    found.setdefault("name", Path(name).stem)
    try:
        study = Study.model_validate(found)
    except ValidationError as error:
        raise ParameterError(sentence(error.errors()[0], found, name, _keys)) from None
    return _settled(study, name, folder)


def _keys(place: tuple[int | str, ...]) -> tuple[str, ...]:
    return tuple((Grid if place else Study).model_fields)


def _settled(study: Study, name: str, folder: Path) -> Study:
    """Make paths absolute and write specs in one way.

    Everything that is named is built, so that a mistake is found before any work is done.
    """
    settled: dict[str, Any] = {
        key: absolute(getattr(study, key), key, name, folder)
        for key in ("collection", "vectors", "log")
    }
    with told(f"In {name}, 'engine'"):
        settled["engine"] = engine_specs(study.engine)
    with told(f"In {name}, 'attackers'"):
        settled["attackers"] = attacker_specs(study.attackers)
    if study.encoder != "none":
        with told(f"In {name}, 'encoder'"):
            settled["encoder"] = encoder_spec(study.encoder)
    specs: set[str] = set()
    settled["mechanism"] = tuple(
        _settled_grid(grid, f"[[mechanism]] {number} of {name}", folder, specs)
        for number, grid in enumerate(study.mechanism, start=1)
    )
    return study.model_copy(update=settled)


def _settled_grid(grid: Grid, where: str, folder: Path, specs: set[str]) -> Grid:
    if bool(grid.parameter) != bool(grid.values):
        raise ParameterError(
            f"{where} must have both a 'parameter' and its 'values', or neither of them."
        )
    settled: dict[str, Any] = {}
    with told(f"In {where}"):
        cls = mechanism_class(grid.spec.partition("(")[0].strip())
        if grid.parameter and grid.parameter not in cls.model_fields:
            raise no_such_key(f"The {cls.name} mechanism", grid.parameter, tuple(cls.model_fields))
        first, _ = next(grid.mechanisms())
        if grid.attackers is not None:
            settled["attackers"] = attacker_specs(grid.attackers)
    if index := getattr(first, "index", ""):
        placed = first.model_copy(update={"index": absolute(index, "index", where, folder)})
        settled["spec"] = written(placed, leave=grid.parameter)
    grid = grid.model_copy(update=settled)
    with told(f"In {where}"):
        for each, _ in grid.mechanisms():
            if str(each) in specs:
                raise ParameterError(f"{each} is there twice; keep one of them.")
            specs.add(str(each))
    return grid
