"""Describe a table without a schema, and propose one."""

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

_TELLING = 0.9  # share of rows with a value of their own from which a column identifies
_WORDS: tuple[tuple[Role, str], ...] = (  # parts of names, in the order in which they are tried
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

    `role` and `hierarchy` (a builder such as ``intervals(width=10, steps=3)``, or nothing) are
    what the draft has, `why` is the reason, `suspicious` what to look at first, or nothing.
    """

    role: Role
    why: str
    hierarchy: str = ""
    suspicious: str = ""


def proposed(table: Table, name: str, kind: str, alone: float) -> Proposal:
    """Propose what a column is; a role that it has already stays."""
    declared = table.roles[name]
    telling = alone > _TELLING and len(table) > 1
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
        return "identifier", "nearly every row has a value of its own"
    return "qi", "may be known to an attacker; say otherwise if it is not"


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))


def _dense(table: Table, name: str) -> bool:
    """Whether whole numbers are counted up, as numbers of people are and amounts are not."""
    numbers = table.column(name).numbers
    return bool(numbers[-1] - numbers[0] < 10 * len(numbers))


def _naming(name: str) -> bool:
    """Whether the name of a column says that it names somebody."""
    return bool(_words(name) & set(dict(_WORDS)["identifier"].split())) or any(
        word.endswith(("id", "name")) for word in _words(name)
    )


def _worry(table: Table, name: str, kind: str, role: Role, *, telling: bool) -> str:
    column = table.column(name)
    if kind == "empty":
        return "it has no value at all"
    if telling and role not in ("identifier", "weight"):
        return "nearly every row has a value of its own: it identifies whoever is known by it"
    if role == "qi" and _naming(name):
        return "its name says that it names somebody: is it an identifier?"
    if len(column.categories) == 1:
        return "all rows have one value: it tells nothing"
    rare = np.bincount(column.codes[~column.missing])
    if not column.numeric and role == "qi" and (rare == 1).any():
        alone = int((rare == 1).sum())
        return f"{alone:,} of its values occur once: each singles a row out by itself"
    if float(column.missing.mean()) > 0.5:
        return "more than half of the rows have no value: who has one stands out"
    return ""


def _hierarchy(table: Table, name: str, kind: str) -> str:
    """Propose a builder, where values themselves tell how they generalise."""
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
    """Return the nearest of 1, 2 and 5 times a power of ten, from above.

    >>> _rounded(3.1, whole=True), _rounded(0.04, whole=True), _rounded(0.04, whole=False)
    (5.0, 1.0, 0.05)
    """
    if whole and width < 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


MOST = 12  # columns of which all pairs are tried
_PAIRS = 5  # pairs that are told
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class About:
    """What is seen of one column; none of it is a value.

    Attributes
    ----------
    name, kind
        Of the column; and what it looks like: numbers, whole numbers, codes, dates, texts, empty.
    distinct, missing
        How many different values, and how many rows without one.
    uniqueness
        The share of rows whose value nobody else has.
    entropy
        In bits: how much a value tells on average; log2 of the rows if all are different.
    proposal
        Its role and hierarchy, as far as they can be guessed, and why.
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
        """Why a person should look at it first, or nothing."""
        return self.proposal.suspicious


@dataclass(frozen=True)
class Description:
    """A table at first sight.

    Attributes
    ----------
    rows, columns
        How many rows; and what is seen of each column.
    together
        Pairs of columns, and the share of rows that each pair tells from all others; the worst
        first, without columns that do so by themselves.
    """

    rows: int
    columns: tuple[About, ...]
    together: tuple[tuple[str, str, float], ...]

    def __getitem__(self, name: str) -> About:
        for one in self.columns:
            if one.name == name:
                return one
        raise InputError(f"There is no column '{name}'.")

    @property
    def suspicious(self) -> tuple[str, ...]:
        """Names of the columns that a person should look at first."""
        return tuple(one.name for one in self.columns if one.suspicious)

    def to_toml(self) -> str:
        """Return a draft schema that a person edits; it holds no value."""
        lines = [
            "# A draft: every role below is a guess from names and counts. Read each line, and",
            "# change what is wrong. Roles: identifier (never released), qi (an attacker may know",
            "# it), confidential (must not be learnt), weight, other.",
            f"# {self.rows:,} rows.",
        ]
        for one in self.columns:
            lines += ["", f"[columns.{_key(one.name)}]"]
            lines.append(
                f"# {one.kind}; {one.distinct:,} different, {one.uniqueness:.1%} of the rows have"
                f" a value of their own, {one.missing:,} missing"
            )
            lines += [f"# LOOK: {one.suspicious}"] if one.suspicious else []
            lines.append(f'role = "{one.proposal.role}"  # {one.proposal.why}')
            if one.proposal.hierarchy:
                lines.append(f"hierarchy = {json.dumps(one.proposal.hierarchy)}")
            elif one.proposal.role == "qi":
                lines.append(
                    f'# hierarchy = "{_file(one.name)}"  # write rows of value;level 1;...;*'
                )
        return "\n".join(lines) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the draft schema, whole or not at all; what is there already stays."""
        target = Path(path)
        require_folder(target)
        if target.exists():
            raise InputError(f"{target.name} is there already; name another file for the draft.")
        with whole_file(target, private=True) as part:
            part.write_text(self.to_toml(), encoding="utf-8")


def describe(t: Table) -> Description:
    """Look at every column of a table, and propose roles and hierarchies.

    No column is guessed to be harmless: what is neither an identifier nor confidential by its
    looks is proposed as a quasi-identifier. The proposals are for a person to edit.
    """
    if not len(t):
        raise InputError("The table has no rows to describe.")
    columns = _one_weight([_about(t, name) for name in t.columns])
    return Description(len(t), columns, _together(t, columns))


def _one_weight(columns: list[About]) -> tuple[About, ...]:
    """Let the first column that looks like a weight be it; a table has one."""
    weights = [one.name for one in columns if one.proposal.role == "weight"]
    again = Proposal("qi", "a second weight by its name; say what it is")
    return tuple(
        replace(one, proposal=again) if one.name in weights[1:] else one for one in columns
    )


def _about(table: Table, name: str) -> About:
    column = table.column(name)
    counts = np.bincount(column.codes[~column.missing], minlength=1)
    alone = float((counts == 1).sum()) / len(table)
    shares = counts[counts > 0] / max(1, counts.sum())
    bits = float(-(shares * np.log2(shares)).sum()) if len(shares) else 0.0
    kind = kind_of(column)
    return About(
        name,
        kind,
        len(column.categories),
        int(column.missing.sum()),
        alone,
        max(0.0, bits),
        proposed(table, name, kind, alone),
    )


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_CODE = re.compile(r"(?=.*\d)[A-Z0-9][A-Z0-9 ./-]*", re.IGNORECASE)


def kind_of(column: Column) -> str:
    """Return what a column looks like.

    >>> [kind_of(Column.of(values)) for values in ([1.5, 2], ["1987-03-21"], ["A10", "B20"])]
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
    """Find the pairs that tell most rows apart, among columns that do not by themselves."""
    some = [one for one in columns if one.distinct > 1 and one.uniqueness <= 0.5]
    some = sorted(some, key=lambda one: -one.entropy)[:MOST]
    found = []
    for one, other in combinations(some, 2):
        codes = [table.column(name).codes for name in (one.name, other.name)]
        sizes = np.bincount(row_classes(codes, len(table)))
        share = float((sizes == 1).sum()) / len(table)
        if share > max(one.uniqueness, other.uniqueness) and not math.isclose(share, 0.0):
            found.append((one.name, other.name, share))
    return tuple(sorted(found, key=lambda row: (-row[2], row[0], row[1]))[:_PAIRS])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _file(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".csv"
