"""One point of the plane: variants, the run that answers them, and what both were made with."""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

from veil.core.errors import InputError, VeilError
from veil.data.lines import suffix_of
from veil.text.mechanisms.find import names as known_names
from veil.text.mechanisms.find import read
from veil.text.variants import VariantTable

_SWEPT = ("epsilon", "level", "window", "cell")  # what a spec is swept by, the first that it has
_AS_HERE = {("fea", "level"): "window"}  # what the papers' files call otherwise
_NAMED = re.compile(r"(?:^|[^A-Za-z0-9])([A-Za-z]+)[^A-Za-z0-9]*([0-9]+(?:\.[0-9]+)?)$")
_ENDINGS = (".run", ".res", ".trec", ".txt", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True)
class Point:
    """Variants of one mechanism with one value of its parameter.

    Attributes
    ----------
    name, parameter, value
        The mechanism, what is swept of it, and to what; a mechanism that Veil has is called as
        Veil calls it.
    spec
        All that is known of it, written as a spec.
    file
        Where the variants stand.
    run
        The file of the ranked lists, one for each query.
    """

    name: str
    parameter: str
    value: float
    spec: str
    table: VariantTable
    file: Path
    run: Path | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.parameter}={self.value:g}" if self.parameter else self.name


def stem(path: Path) -> str:
    """Return the name of a file without what tells its format."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    return name[: -len(suffix_of(path))] if suffix_of(path) in _ENDINGS else name


def point_of(table: VariantTable, file: Path) -> Point:
    """Name what a table of variants was made with: as its columns say, else the file's name."""
    if not table.mechanism:
        table = _by_file_name(table, file)
    name, parameter, told, spec = _named(table)
    try:
        value = float(told or 0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{file.name} gives a {parameter} of {name[:40]} that is no number; the values of a"
            " parameter are numbers, the larger the more useful."
        )
    return Point(name, parameter, value, spec, table, file)


def _by_file_name(table: VariantTable, file: Path) -> VariantTable:
    found = _NAMED.search(stem(file))
    if found is None:
        raise InputError(
            f"{file.name} does not say how its variants were made; add the columns mechanism and"
            " epsilon, or call the file by them, as in CMP_10.csv."
        )
    parameter = table.parameter or "parameter"
    return replace(table, mechanism=found[1], parameter=parameter, value=table.value or found[2])


def _named(table: VariantTable) -> tuple[str, str, str, str]:
    """Return name, parameter, value and spec of the mechanism that a table names."""
    name = table.mechanism
    if "(" in name:
        try:
            cls, fields = read(name)
        except VeilError:
            return name, table.parameter, table.value, _spec(name, table.parameter, table.value)
        swept = next((each for each in _SWEPT if each in fields), table.parameter)
        return cls.name, swept, str(fields.get(swept, table.value)), name
    known = name.casefold() if name.casefold() in known_names() else name
    parameter = _AS_HERE.get((known, table.parameter), table.parameter)
    return known, parameter, table.value, _spec(known, parameter, table.value)


def _spec(name: str, parameter: str, value: str) -> str:
    return f"{name}({parameter}={value})" if parameter else name
