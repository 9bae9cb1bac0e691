"""Describe the columns of a table, and draft a schema."""

import json
import math
import re
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.data.files import require_folder, whole_file
from veil.tables.column import Column
from veil.tables.table import Role, Table, row_classes

_TELLING = 0.9  # a column identifies above this share of rows with a unique value
_WORDS: tuple[tuple[Role, str], ...] = (  # parts of names, in the order of checks
    ("weight", "weight weights wgt fnlwgt"),
    ("identifier", "id ids uid uuid name surname firstname lastname email mail phone telephone"
                   " mobile ssn passport account iban card patient person user username login"
                   " street address licence license plate"),
    ("confidential", "salary income wage pay earnings revenue profit debt credit diagnosis disease"
                     " illness icd drug drugs medication treatment hiv result test religion party"
                     " vote politics union orientation offence crime occupation score grade"
                     " savings expend expenditure asset assets tax"),
)  # fmt: skip


@dataclass(frozen=True)
class Proposal:
    """A guess that a person must check.

    `role` and `hierarchy` (a builder such as ``intervals(width=10, steps=3)``, or "") go into the
    draft. `why` is the reason for the role, `suspicious` a reason to check the column, or "".
    """

    role: Role
    why: str
    hierarchy: str = ""
    suspicious: str = ""


def proposed(table: Table, name: str, kind: str, uniqueness: float) -> Proposal:
    """Propose a role and a hierarchy for a column; a declared role stays."""
    declared = table.roles[name]
    telling = uniqueness > _TELLING and len(table) > 1
    role, why = _role(table, name, kind, telling=telling)
    if declared != "other":
        role, why = declared, "as declared"
    worry = _worry(table, name, kind, role, telling=telling)
    hierarchy = _hierarchy(table, name, kind) if role == "qi" else ""
    return Proposal(role, why, hierarchy, worry)


def _role(table: Table, name: str, kind: str, *, telling: bool) -> tuple[Role, str]:
    words = _words(name)
    for role, listed in _WORDS:
        if words & set(listed.split()) and (role != "identifier" or telling):
            return role, "by its name"
    if telling and (
        kind in ("texts", "codes") or (kind == "whole numbers" and _dense(table, name))
    ):
        return "identifier", "nearly every row has a unique value"
    return "qi", "an attacker may know it; change this if not"


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))


def _dense(table: Table, name: str) -> bool:
    """Return whether integers are consecutive, like numbers of people but unlike amounts."""
    numbers = table.column(name).numbers
    return bool(numbers[-1] - numbers[0] < 10 * len(numbers))


def _naming(name: str) -> bool:
    return bool(_words(name) & set(dict(_WORDS)["identifier"].split())) or any(
        word.endswith(("id", "name")) for word in _words(name)
    )


def _worry(table: Table, name: str, kind: str, role: Role, *, telling: bool) -> str:
    column = table.column(name)
    if kind == "empty":
        return "it has no value at all"
    if telling and role not in ("identifier", "weight"):
        return "nearly every row has a unique value, which identifies a person"
    if role == "qi" and _naming(name):
        return "its name suggests that it identifies people: is it an identifier?"
    if len(column.categories) == 1:
        return "all rows have the same value: no information"
    rare = np.bincount(column.codes[~column.missing])
    if not column.numeric and role == "qi" and (rare == 1).any():
        unique = int((rare == 1).sum())
        return f"{unique:,} of its values occur once: each of them singles out a row"
    if float(column.missing.mean()) > 0.5:
        return "more than half of the rows have no value: rows with a value stand out"
    return ""


def _hierarchy(table: Table, name: str, kind: str) -> str:
    """Return a builder for the hierarchy if the kind of values suggests one, otherwise ""."""
    if kind == "dates":
        return "dates()"
    if kind == "codes":
        return "prefix()"
    if kind not in ("numbers", "whole numbers"):
        return ""
    numbers = table.column(name).numbers
    if len(numbers) <= 2:
        return ""
    reach = float(np.quantile(numbers, 0.95) - np.quantile(numbers, 0.05))
    width = _rounded(max(reach, 1e-9) / 16, whole=kind == "whole numbers")
    wide = float(numbers[-1] - numbers[0])
    steps = int(min(10, max(1, math.ceil(math.log2(max(wide / width, 2))))))
    return f"intervals(width={width:g}, steps={steps})"


def _rounded(width: float, *, whole: bool) -> float:
    """Return the width, rounded up to 1, 2 or 5 times a power of ten.

    >>> _rounded(3.1, whole=True), _rounded(0.04, whole=True), _rounded(0.04, whole=False)
    (5.0, 1.0, 0.05)
    """
    if whole and width < 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


MOST = 12  # columns to check in pairs
_PAIRS = 5  # pairs to report
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class About:
    """A description of a column, without any of its values.

    Attributes
    ----------
    name, kind
        Name, and kind of its values: numbers, whole numbers, codes, dates, texts or empty.
    distinct, missing
        Number of distinct values, and of rows without a value.
    uniqueness
        Share of rows whose value no other row has.
    entropy
        Mean information of a value, in bits; log2 of the rows if all values differ.
    proposal
        Proposed role and hierarchy, and the reason.
    """

    name: str
    kind: str
    distinct: int
    missing: int
    uniqueness: float
    entropy: float
    proposal: Proposal

    @property
    def suspicious(self) -> str:
        """Reason to check this column first, or ""."""
        return self.proposal.suspicious


@dataclass(frozen=True)
class Description:
    """A description of a table.

    Attributes
    ----------
    rows, columns
        Number of rows, and a description of each column.
    together
        Pairs of columns, and the share of rows that each pair singles out; the worst first,
        without columns that single out most rows on their own.
    """

    rows: int
    columns: tuple[About, ...]
    together: tuple[tuple[str, str, float], ...]

    def __getitem__(self, name: str) -> About:
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(f"There is no column '{name}'.")

    @property
    def suspicious(self) -> tuple[str, ...]:
        """Names of the columns to check first."""
        return tuple(column.name for column in self.columns if column.suspicious)

    def to_toml(self) -> str:
        """Return a draft schema to edit, without any value."""
        lines = [
            "# A draft: every role below is a guess from names and counts. Read each line, and",
            "# change what is wrong. Roles: identifier (never released), qi (an attacker may know",
            "# it), confidential (an attacker must not learn it), weight, other.",
            f"# {self.rows:,} rows.",
        ]
        for column in self.columns:
            lines += ["", f"[columns.{_key(column.name)}]"]
            lines.append(
                f"# {column.kind}; {column.distinct:,} distinct values,"
                f" {column.uniqueness:.1%} of the rows have a unique one, {column.missing:,}"
                " missing"
            )
            lines += [f"# LOOK: {column.suspicious}"] if column.suspicious else []
            lines.append(f'role = "{column.proposal.role}"  # {column.proposal.why}')
            if column.proposal.hierarchy:
                lines.append(f"hierarchy = {json.dumps(column.proposal.hierarchy)}")
            elif column.proposal.role == "qi":
                lines.append(
                    f'# hierarchy = "{_file(column.name)}"  # write rows of value;level 1;...;*'
                )
        return "\n".join(lines) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the draft schema atomically; existing files are not overwritten."""
        target = Path(path)
        require_folder(target)
        if target.exists():
            raise InputError(f"{target.name} exists already. Name another file for the draft.")
        with whole_file(target, private=True) as part:
            part.write_text(self.to_toml(), encoding="utf-8")


def describe(t: Table) -> Description:
    """Describe every column of a table, and propose roles and hierarchies.

    No column is guessed to be harmless: a column that looks neither like an identifier nor
    confidential is proposed as a quasi-identifier. Check and edit the proposals.
    """
    if not len(t):
        raise InputError("The table has no rows to describe.")
    columns = _one_weight([_about(t, name) for name in t.columns])
    return Description(len(t), columns, _together(t, columns))


def _one_weight(columns: list[About]) -> tuple[About, ...]:
    """Keep only the first proposed weight, because a table has at most one."""
    weights = [column.name for column in columns if column.proposal.role == "weight"]
    again = Proposal("qi", "a second weight by its name; choose its role")
    return tuple(
        replace(column, proposal=again) if column.name in weights[1:] else column
        for column in columns
    )


def _about(table: Table, name: str) -> About:
    column = table.column(name)
    counts = np.bincount(column.codes[~column.missing], minlength=1)
    uniqueness = float((counts == 1).sum()) / len(table)
    shares = counts[counts > 0] / max(1, counts.sum())
    bits = float(-(shares * np.log2(shares)).sum()) if len(shares) else 0.0
    kind = infer_kind(column)
    return About(
        name,
        kind,
        len(column.categories),
        int(column.missing.sum()),
        uniqueness,
        max(0.0, bits),
        proposed(table, name, kind, uniqueness),
    )


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_CODE = re.compile(r"(?=.*\d)[A-Z0-9][A-Z0-9 ./-]*", re.IGNORECASE)


def infer_kind(column: Column) -> str:
    """Return the kind of a column's values.

    >>> [infer_kind(Column.of(values)) for values in ([1.5, 2], ["1987-03-21"], ["A10", "B20"])]
    ['numbers', 'dates', 'codes']
    """
    labels = column.categories
    if not labels:
        return "empty"
    if column.numeric:
        same = len({len(label) for label in labels}) == 1 and len(labels[0]) >= 4
        if same and all(label.isdecimal() for label in labels):
            return "codes"
        return "whole numbers" if (column.numbers == column.numbers.round()).all() else "numbers"
    if all(_DATE.fullmatch(label) for label in labels):
        return "dates"
    if all(_CODE.fullmatch(label) for label in labels) and max(map(len, labels)) <= 20:
        return "codes"
    return "texts"


def _together(table: Table, columns: tuple[About, ...]) -> tuple[tuple[str, str, float], ...]:
    """Return the pairs that single out most rows, without columns that do so on their own."""
    candidates = [column for column in columns if column.distinct > 1 and column.uniqueness <= 0.5]
    candidates = sorted(candidates, key=lambda column: -column.entropy)[:MOST]
    pairs = []
    for first, second in combinations(candidates, 2):
        codes = [table.column(name).codes for name in (first.name, second.name)]
        sizes = np.bincount(row_classes(codes, len(table)))
        share = float((sizes == 1).sum()) / len(table)
        if share > max(first.uniqueness, second.uniqueness) and not math.isclose(share, 0.0):
            pairs.append((first.name, second.name, share))
    return tuple(sorted(pairs, key=lambda row: (-row[2], row[0], row[1]))[:_PAIRS])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _file(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".csv"
