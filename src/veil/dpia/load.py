"""Write the template of answers, and read answers from a TOML file."""

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
    """Write the template, with a comment for every key. Existing files are not overwritten."""
    target = Path(path)
    if target.exists():
        raise InputError(f"File {target} already exists. Choose another.")
    with whole_file(target, private=True) as part:
        part.write_text(TEMPLATE, encoding="utf-8")
    return target


_MAX_BYTES = 2**20  # of the file
_OWN = ("domain", "sizes", "name")  # keys of a study that do not apply here
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
    """An opened file of answers.

    Attributes
    ----------
    answers
        The person's answers.
    table
        Keys of a table study to run now, without its releases.
    name, folder
        Name of the file in errors, and the folder for relative paths.
    inputs
        Input files, which the output must not overwrite.
    """

    answers: Answers
    table: Mapping[str, Any] = field(default_factory=dict)
    name: str = "the study"
    folder: Path = field(default_factory=Path.cwd)
    inputs: tuple[Path, ...] = ()


def load(source: str | Path | Mapping[str, Any]) -> AnswersFile:
    """Return the answers in a TOML file, or in a mapping of its keys."""
    if isinstance(source, Mapping):
        return _parse(dict(source), "the study", Path.cwd(), ())
    path = Path(source)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is too large. Choose a TOML file of answers.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"Cannot read {path} ({error.strerror}). Write a template with 'veil dpia --new"
            f" {path}'."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text. Convert it.") from None
    try:
        keys = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path.name} is not valid TOML: {str(error).rstrip('.')}.") from None
    if not keys:
        raise InputError(
            f"{path.name} has no answers. Write a template with 'veil dpia --new FILE'."
        )
    return _parse(keys, path.name, path.resolve().parent, (path,))


def _parse(keys: dict[str, Any], name: str, folder: Path, inputs: tuple[Path, ...]) -> AnswersFile:
    if "releases" in keys and "release" not in keys:
        keys["release"] = keys.pop("releases")
    if isinstance(releases := keys.get("release"), list):
        keys["release"] = [
            {"spec": release} if isinstance(release, str) else release for release in releases
        ]
    if keys.get("domain") == "tables":
        del keys["domain"]
    table_keys = _table_keys() if "table" in keys else ()
    table = {key: keys.pop(key) for key in list(keys) if key in table_keys}
    try:
        answers = Answers.model_validate(keys)
    except ValidationError as error:
        raise ParameterError(_sentence(error.errors()[0], name, table_keys)) from None
    except RecursionError:
        raise ParameterError(
            f"{name} is nested too deeply. Follow the structure of the template."
        ) from None
    if bool(table) != bool(answers.release or table.get("mechanism")):
        raise ParameterError(f"{name} must have both a 'table' and a [[release]], or neither.")
    _refuse_claims(answers.model_dump(), name)
    files = [path for study in answers.studies for path in _results(folder / study.results)]
    files += [folder / str(table[key]) for key in _FILES if table.get(key)]
    return AnswersFile(answers, table, name, folder, (*inputs, *files))


def _results(path: Path) -> list[Path]:
    """Return the files that a study writes."""
    folder = path.parent if path.suffix.lower() == ".csv" else path
    return [folder / name for name in ("results.csv", FACTS, REPORT)]


def _table_keys() -> tuple[str, ...]:
    return tuple(key for key in domain("tables").keys.model_fields if key not in _OWN)


def _sentence(detail: ErrorDetails, name: str, more: tuple[str, ...]) -> str:
    """Return an error message with the key, its location and the expected value."""
    path = [part for part in detail["loc"] if part != "function-after"]
    if not path:
        return str(detail["ctx"]["error"])
    *outer, last = path
    kind = detail["type"]
    if isinstance(last, int) and outer:
        kind = "too_short" if kind == "missing" else kind  # an entry is missing, not the list
        *outer, last = outer
    where = f"{_written(outer)} of {name}" if outer else name
    if kind == "extra_forbidden":
        keys = tuple(_model(outer).model_fields)
        return str(no_such_key(where, str(last), keys if outer else (*keys, *more)))
    expected = _KINDS.get(kind, detail["msg"][:1].lower() + detail["msg"][1:])
    return f"The '{last}' of {where} must be {expected.format(**detail.get('ctx', {}))}."


def _model(path: list[int | str]) -> type[BaseModel]:
    if not path:
        return Answers
    if path[0] == "risks" and len(path) > 1:
        return Access if path[1] == "access" else Fear
    return _MODELS[str(path[0])]


def _written(path: list[int | str]) -> str:
    if len(path) > 1 and isinstance(path[1], int):
        return f"[[{path[0]}]] {path[1] + 1}"
    return f"[{'.'.join(map(str, path))}]"


def _refuse_claims(value: object, name: str, where: str = "") -> None:
    """Raise if an answer claims legal compliance, which no measured figure proves."""
    if isinstance(value, str) and claims(value):
        raise InputError(
            f"The '{where}' of {name} claims legal compliance, which no figure proves. Describe"
            " the measures instead."
        )
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_claims(inner, name, f"{where}.{key}".lstrip("."))
    if isinstance(value, tuple | list):
        for inner in value:
            _refuse_claims(inner, name, where)


def claims(text: str) -> bool:
    """Return whether a text claims legal compliance.

    >>> claims("GDPR-compliant"), claims("The compliance office was asked.")
    (True, False)
    """
    return _CLAIM.search(text) is not None
