"""Answers in a TOML file: a template, and reading it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from veil.core.errors import InputError, ParameterError
from veil.data.files import whole_file
from veil.dpia.answers import Access, Answers, Fear, Measure, Measurement, People, Planned, Risks
from veil.studies.domains import domain
from veil.studies.export import FILE as FACTS
from veil.studies.report.report import FILE as REPORT
from veil.studies.study import no_such_key

TEMPLATE = (files("veil.dpia") / "template.toml").read_text(encoding="utf-8")


def write_template(path: str | Path) -> Path:
    """Write the template, with a comment for every key; a file that is there stays."""
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} is there already; name a new file.")
    with whole_file(target, private=True) as part:
        part.write_text(TEMPLATE, encoding="utf-8")
    return target


_MAX_BYTES = 2**20  # of the file
_OWN = ("domain", "sizes", "name")  # keys of a study that are not those of a table
_FILES = ("table", "population", "control", "schema")
_MODELS: dict[str, type[BaseModel]] = {
    "people": People,
    "risks": Risks,
    "measures": Measure,
    "studies": Measurement,
    "release": Planned,
}
_KINDS = {
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "date_type": "a day, as 2025-01-31",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "greater_than": "above {gt}",
    "less_than": "below {lt}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of three numbers",
    "missing": "there",
    "literal_error": "of {expected}",
    "model_type": "a table of keys",
    "tuple_type": "a list",
    "value_error": "{error}",
}
_CLAIM = re.compile(r"compliant|\bin compliance\b|\b(?:comply|complies) with\b", re.IGNORECASE)


@dataclass(frozen=True)
class AnswersFile:
    """A file of answers, opened.

    Attributes
    ----------
    answers
        What the person says.
    table
        The keys of a study of a table that is to be measured at once, without its releases.
    name, folder
        How messages call the file, and where the paths in it start.
    inputs
        Files that are read, and that no output may replace.
    """

    answers: Answers
    table: Mapping[str, Any] = field(default_factory=dict)
    name: str = "the study"
    folder: Path = field(default_factory=Path.cwd)
    inputs: tuple[Path, ...] = ()


def load(source: str | Path | Mapping[str, Any]) -> AnswersFile:
    """Read the answers from a file, or take its keys."""
    if isinstance(source, Mapping):
        return _asked(dict(source), "the study", Path.cwd(), ())
    path = Path(source)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is larger than answers can be; name a TOML file of them.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); 'veil dpia --new {path}' writes one to"
            " fill in."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; convert it.") from None
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path.name} is not a TOML file: {str(error).rstrip('.')}.") from None
    if not found:
        raise InputError(
            f"{path.name} has no answers; 'veil dpia --new FILE' writes a file to fill in."
        )
    return _asked(found, path.name, path.resolve().parent, (path,))


def _asked(
    found: dict[str, Any], name: str, folder: Path, inputs: tuple[Path, ...]
) -> AnswersFile:
    if "releases" in found and "release" not in found:
        found["release"] = found.pop("releases")
    if isinstance(given := found.get("release"), list):
        found["release"] = [{"spec": one} if isinstance(one, str) else one for one in given]
    if found.get("domain") == "tables":
        del found["domain"]
    known = _table_keys() if "table" in found else ()
    table = {key: found.pop(key) for key in list(found) if key in known}
    try:
        answers = Answers.model_validate(found)
    except ValidationError as error:
        raise ParameterError(_sentence(error.errors()[0], name, known)) from None
    except RecursionError:
        raise ParameterError(
            f"{name} is nested too deeply; write it as the template does."
        ) from None
    if bool(table) != bool(answers.release or table.get("mechanism")):
        raise ParameterError(
            f"{name} must have both a 'table' and a [[release]] of it, or neither of them."
        )
    _refuse_claims(answers.model_dump(), name)
    files = [path for one in answers.studies for path in _results(folder / one.results)]
    files += [folder / str(table[key]) for key in _FILES if table.get(key)]
    return AnswersFile(answers, table, name, folder, (*inputs, *files))


def _results(path: Path) -> list[Path]:
    """Return what a study wrote."""
    folder = path.parent if path.suffix.lower() == ".csv" else path
    return [folder / name for name in ("results.csv", FACTS, REPORT)]


def _table_keys() -> tuple[str, ...]:
    return tuple(key for key in domain("tables").keys.model_fields if key not in _OWN)


def _sentence(detail: ErrorDetails, name: str, more: tuple[str, ...]) -> str:
    """Say what is wrong, where, and what must be there instead."""
    place = [part for part in detail["loc"] if part != "function-after"]
    if not place:
        return str(detail["ctx"]["error"])
    *outer, last = place
    kind = detail["type"]
    if isinstance(last, int) and outer:
        kind = "too_short" if kind == "missing" else kind  # an entry is, not the list
        *outer, last = outer
    where = f"{_written(outer)} of {name}" if outer else name
    if kind == "extra_forbidden":
        keys = tuple(_model(outer).model_fields)
        return str(no_such_key(where, str(last), keys if outer else (*keys, *more)))
    wanted = _KINDS.get(kind, detail["msg"][:1].lower() + detail["msg"][1:])
    return f"The '{last}' of {where} must be {wanted.format(**detail.get('ctx', {}))}."


def _model(place: list[int | str]) -> type[BaseModel]:
    if not place:
        return Answers
    if place[0] == "risks" and len(place) > 1:
        return Access if place[1] == "access" else Fear
    return _MODELS[str(place[0])]


def _written(place: list[int | str]) -> str:
    if len(place) > 1 and isinstance(place[1], int):
        return f"[[{place[0]}]] {place[1] + 1}"
    return f"[{'.'.join(map(str, place))}]"


def _refuse_claims(value: object, name: str, where: str = "") -> None:
    """Refuse answers that pass a verdict: a measured figure does not give one."""
    if isinstance(value, str) and claims(value):
        raise InputError(
            f"The '{where}' of {name} says that something complies with the law, which no figure"
            " shows; say what is done instead."
        )
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_claims(inner, name, f"{where}.{key}".lstrip("."))
    if isinstance(value, tuple | list):
        for inner in value:
            _refuse_claims(inner, name, where)


def claims(text: str) -> bool:
    """Tell whether a text says that something complies with the law.

    >>> claims("GDPR-compliant"), claims("The compliance office was asked.")
    (True, False)
    """
    return _CLAIM.search(text) is not None
