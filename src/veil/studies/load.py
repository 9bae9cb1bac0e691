"""Read a study, of any domain, from a TOML file; mistakes are found before any work is done."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from veil.core.errors import InputError, ParameterError
from veil.studies import DEFAULT
from veil.studies.domains import Domain, domain
from veil.studies.sentences import no_such_key, sentence, told
from veil.studies.study import Grid, Study

_MAX_BYTES = 2**20  # of a study file


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
    return make_study(found, name, folder)


def make_study(keys: dict[str, Any], name: str, folder: Path) -> Study:
    """Check the keys of a study that stands in a file called `name` in `folder`."""
    kind = keys.get("domain", DEFAULT)
    if not isinstance(kind, str):
        raise ParameterError(f"The 'domain' of {name} must be a text in quotes.")
    with told(f"In {name}, 'domain'"):
        chosen = domain(kind)

    def known(place: tuple[int | str, ...]) -> tuple[str, ...]:
        return tuple((Grid if place else chosen.keys).model_fields)

    try:
        study = chosen.keys.model_validate(keys)
    except ValidationError as error:
        raise ParameterError(sentence(error.errors()[0], keys, name, known)) from None
    with told(f"In {name}, 'attackers'"):
        study = study.model_copy(update={"attackers": chosen.spelt(study.attackers)})
    study = chosen.settle(study, name, folder)
    specs: set[str] = set()
    grids = tuple(
        _settled(chosen, grid, f"[[mechanism]] {number} of {name}", folder, specs)
        for number, grid in enumerate(study.mechanism, start=1)
    )
    settled: Study = study.model_copy(update={"mechanism": grids})
    return settled


def _settled(chosen: Domain, grid: Grid, where: str, folder: Path, specs: set[str]) -> Grid:
    """Build everything that a grid names; `specs` are those that were built before."""
    if bool(grid.parameter) != bool(grid.values):
        raise ParameterError(
            f"{where} must have both a 'parameter' and its 'values', or neither of them."
        )
    with told(f"In {where}"):
        cls = chosen.mechanisms.get(grid.spec.partition("(")[0].strip())
        if grid.parameter and grid.parameter not in cls.model_fields:
            raise no_such_key(f"The {cls.name} mechanism", grid.parameter, tuple(cls.model_fields))
        next(grid.mechanisms(chosen.mechanisms))
        if grid.attackers is not None:
            grid = grid.model_copy(update={"attackers": chosen.spelt(grid.attackers)})
        grid = chosen.settle_grid(grid, where, folder)
        for each, _ in grid.mechanisms(chosen.mechanisms):
            if str(each) in specs:
                raise ParameterError(f"{each} is there twice; keep one of them.")
            specs.add(str(each))
    return grid
