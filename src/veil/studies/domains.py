"""Load a domain by name, and read a study of any domain from a TOML file."""

import time
import tomllib
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from veil.core.component import Component
from veil.core.errors import (
    InputError,
    ParameterError,
    StepError,
    UnknownNameError,
    VeilError,
    error_location,
)
from veil.core.registry import unknown_name
from veil.studies import DEFAULT, DOMAINS, GROUP
from veil.studies.experiment import Experiment, Step, Vocabulary
from veil.studies.store import Result
from veil.studies.study import Grid, Study, error_sentence, locate_errors, no_such_key

OTHER = "Other"  # the family of an unknown mechanism

Domain = type[Experiment]


def domains() -> dict[str, str]:
    """Return the summary of each domain, by name."""
    return {name: row.says for name, row in DOMAINS.items()} | {
        name: f"Domain from {place.partition(':')[0]}." for name, place in _plugins().items()
    }


@lru_cache
def domain(name: str) -> Domain:
    """Return the experiment class of a domain."""
    place = DOMAINS[name].place if name in DOMAINS else _plugins().get(name, "")
    if not place:
        raise unknown_name("domain", name, sorted(domains()))
    module, _, attribute = place.partition(":")
    return cast(Domain, getattr(import_module(module), attribute))


def _plugins() -> dict[str, str]:
    places: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        other = DOMAINS[point.name].place if point.name in DOMAINS else places.get(point.name, "")
        if other not in ("", point.value):
            raise UnknownNameError(
                f"Two domains are called '{point.name}': {other} and {point.value}. Rename an"
                " entry point or uninstall one."
            )
        places[point.name] = point.value
    return places


def vocabulary(name: str) -> Vocabulary:
    """Return the nouns of a domain."""
    return domain(name or DEFAULT).words


def mechanism_class(name: str, mechanism: str) -> type[Component] | None:
    """Return the class of a mechanism by its name, or None if it is not installed."""
    kind = domain(name or DEFAULT)
    try:
        current = kind.words.elsewhere.get(mechanism, mechanism)
        return cast(type[Component], kind.mechanisms.get(current))
    except VeilError:
        return None


@lru_cache(maxsize=2)
def open_experiment(study: Study) -> Experiment:
    """Return the experiment of a study, shared by all steps in this process."""
    return domain(study.domain)(study)


def compute(study: Study, step: Step, of: Result | None) -> Result:
    """Return the result of a step of a study, with its computing time."""
    return compute_step(open_experiment(study), step, of)


def compute_step(experiment: Experiment, step: Step, of: Result | None) -> Result:
    """Return the result of a step of an open experiment, with its computing time."""
    started = time.perf_counter()
    try:
        result = experiment.compute(step, of)
    except (VeilError, OSError):  # their messages are safe, such as a full disk or missing file
        raise
    except Exception as error:  # noqa: BLE001 - its message could quote protected data
        by = f" by {step.by}" if step.by else ""
        raise StepError(
            f"The step '{step.kind}' of {step.spec or 'the data'}{by} failed:"
            f" {error_location(error)}. Finished results are kept."
        ) from None
    return Result(result.arrays, result.data, time.perf_counter() - started)


_MAX_BYTES = 2**20  # of a study file


def load_study(path: Path) -> Study:
    """Read a study from a TOML file; relative paths in it start from the file's folder."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is too large for a study file. Choose a study in TOML.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot read the study {path} ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InputError(f"The study {path} is not UTF-8. Convert it.") from None
    return parse_study(text, path.name, path.resolve().parent)


def parse_study(text: str, name: str, folder: Path) -> Study:
    """Return the study in the text of the TOML file `name` in `folder`."""
    try:
        keys = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not a TOML file: {str(error).rstrip('.')}.") from None
    keys.setdefault("name", Path(name).stem)
    return make_study(keys, name, folder)


def make_study(keys: dict[str, Any], name: str, folder: Path) -> Study:
    """Return the study with the given keys, read from the file `name` in `folder`."""
    kind = keys.get("domain", DEFAULT)
    if not isinstance(kind, str):
        raise ParameterError(f"The 'domain' of {name} must be a text in quotes.")
    with locate_errors(f"In {name}, 'domain'"):
        experiment = domain(kind)

    def keys_at(place: tuple[int | str, ...]) -> tuple[str, ...]:
        return tuple((Grid if place else experiment.keys).model_fields)

    try:
        study = experiment.keys.model_validate(keys)
    except ValidationError as error:
        raise ParameterError(error_sentence(error.errors()[0], keys, name, keys_at)) from None
    with locate_errors(f"In {name}, 'attackers'"):
        study = study.model_copy(update={"attackers": experiment.attacker_specs(study.attackers)})
    study = experiment.settle(study, name, folder)
    specs: set[str] = set()
    grids = tuple(
        _settled(
            experiment,
            grid,
            f"[[mechanism]] {number} of {name}",
            folder,
            specs,
            "attackers" not in keys,
        )
        for number, grid in enumerate(study.mechanism, start=1)
    )
    settled: Study = study.model_copy(update={"mechanism": grids})
    return settled


def _settled(
    experiment: Domain, grid: Grid, where: str, folder: Path, specs: set[str], usual: bool
) -> Grid:
    """Return a grid after checking its mechanisms and attacks.

    `specs` collects the mechanisms of all grids; `usual` is whether the study names no attacks.
    """
    if bool(grid.parameter) != bool(grid.values):
        raise ParameterError(f"{where} must have both 'parameter' and 'values', or neither.")
    with locate_errors(f"In {where}"):
        cls = experiment.mechanisms.get(grid.spec.partition("(")[0].strip())
        if grid.parameter and grid.parameter not in cls.model_fields:
            raise no_such_key(f"The {cls.name} mechanism", grid.parameter, tuple(cls.model_fields))
        next(grid.mechanisms(experiment.mechanisms))
        if usual:
            grid = experiment.add_declared_attackers(grid)
        if grid.attackers is not None:
            grid = grid.model_copy(update={"attackers": experiment.attacker_specs(grid.attackers)})
        grid = experiment.settle_grid(grid, where, folder)
        for mechanism, _ in grid.mechanisms(experiment.mechanisms):
            if str(mechanism) in specs:
                raise ParameterError(f"{mechanism} occurs twice. Remove one.")
            specs.add(str(mechanism))
    return grid
