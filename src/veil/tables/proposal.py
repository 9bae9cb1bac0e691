"""Propose the role and the hierarchy of a column from its name and its counts."""

import math
import re
from dataclasses import dataclass

import numpy as np

from veil.tables.table import Role, Table

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
