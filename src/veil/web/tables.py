"""The tables page: a file that the user opens is measured, protected and drawn on this machine.

The table is in memory during a request, and never in a file. Its values are only in the released
file and in the drawings of before and after, which carry a warning; no message contains them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.component import summary
from veil.core.errors import InputError
from veil.core.registry import read_spec
from veil.core.rng import generator
from veil.data.files import scratch_folder
from veil.data.lines import HeldFile
from veil.drawing.plane import Figure as Interval
from veil.drawing.plane import draw_stops
from veil.proxy.answers import Answer, CostAnswer, Figure, Text
from veil.tables.attack import attack
from veil.tables.column import Column
from veil.tables.describe import describe
from veil.tables.files import card_content, check_claim
from veil.tables.hierarchy import TOP, Hierarchy, builder
from veil.tables.measures.anonymity import anonymity
from veil.tables.measures.pair import Pair
from veil.tables.measures.utility import utility
from veil.tables.mechanism import Release, protect
from veil.tables.mechanisms import MECHANISMS
from veil.tables.pictures import compare_shares, compare_sizes
from veil.tables.presets import strengths, unfit
from veil.tables.schema import load, telling
from veil.tables.table import Role, Table
from veil.web.asks import Ask, offered, require_offered
from veil.web.messages import Request, Response, StatusError, page
from veil.web.operation import Operation, without_service
from veil.web.pages import render
from veil.web.service import Service


async def show(service: Service, request: Request) -> Response:
    """Show the page where a table is opened, measured and protected."""
    classes = await service.looks.run(request, partial(offered, MECHANISMS, DEFAULT))
    mechanisms = [(name, summary(cls).rstrip(".")) for name, cls in classes.items()]
    values = {"common": await service.common(request), "mechanisms": mechanisms}
    return page(render("tables.html", values))


class ColumnAnswer(Answer):
    """A column and its proposed role."""

    name: Text
    kind: str = Field(description="numbers or texts")
    different: int = Field(description="number of distinct values")
    missing: int
    role: str
    says: str = Field(description="a question to consider, or empty")


class StandAnswer(Answer):
    """How exposed the records of a table are; null if no column is a quasi-identifier."""

    rows: int
    classes: int | None = Field(description="number of equivalence classes")
    uniques: int | None = Field(description="records that are alone in their class")
    k: int | None = Field(description="size of the smallest class")
    k_any: int | None = Field(
        description="the same if a missing value may be any value; null if none is missing"
    )
    largest: Figure = Field(description="largest risk of a class, 1/k")
    risk: Figure = Field(description="share of records that the linkage attacker finds")
    low: Figure = Field(description="lower bound of its 95 % interval")
    high: Figure
    worst: Figure = Field(description="the risk of the most exposed record")


class MethodAnswer(Answer):
    """A mechanism, and whether its presets fit this table."""

    name: str
    says: str
    unfit: str = Field(description="why it does not fit these columns, or empty")


class TablesOpenAnswer(Answer):
    """A table: its columns, and how exposed its unprotected records are."""

    columns: list[ColumnAnswer]
    stand: StandAnswer
    methods: list[MethodAnswer]
    note: str = Field(description="why nothing is measured with these roles, or empty")
    svg: str = Field(description="class sizes, as a drawing, or empty")


class StepAnswer(Answer):
    """One strength of a mechanism, and its risk and utility, measured once."""

    spec: str
    stand: StandAnswer
    utility: float = Field(description="similarity of the marginals, from 0 to 1")


class LeftAnswer(Answer):
    """A strength that is impossible for this table."""

    spec: str
    why: str


class TablesPlaneAnswer(Answer):
    """The strengths of a mechanism on the plane, weakest first."""

    stops: list[StepAnswer]
    left_out: list[LeftAnswer]
    hierarchies: dict[Text, str] = Field(description="how the hierarchy of each column was built")
    svg: str = Field(description="the plane, as a drawing")


class TablesProtectAnswer(Answer):
    """A release: its file, its card, what is proved, and how exposed it is."""

    method: str
    file: Text = Field(description="the released table as CSV, in a random order")
    card: Text = Field(
        description=("the release card as JSON: what was done, what is proved and what is not")
    )
    stand: StandAnswer
    utility: float
    suppressed: int = Field(description="suppressed rows")
    blanked: int = Field(description="newly suppressed cells")
    changed: list[Text] = Field(description="columns with changed values")
    kept: list[Text] = Field(description="columns released unchanged")
    svg: list[str] = Field(description="sizes and columns before and after: not for release")
    seeded: bool
    cost: CostAnswer


DEFAULT = "mondrian"
_STRENGTHS = 7  # of one mechanism
MOST = 3_000  # rows of one request
COLUMNS = 60
KNOWN = 12  # maximum number of quasi-identifiers
ALL_OR_NOTHING = "the value or nothing"
_NODES = 20_000  # maximum number of combinations of levels to search
_ELSE = "or use 'veil tables' on the command line"
NOBODY = "Choose the columns that an attacker may know, to see who could be found."
TOO_MANY = f"At most {KNOWN} columns can be known on this page. Choose fewer, {_ELSE}."


def check_size(table: Table) -> None:
    """Reject a table that is too large for the page, or has infinite numbers."""
    if len(table) > MOST or len(table.columns) > COLUMNS:
        raise StatusError(
            422,
            f"The file must have at most {MOST:,} rows and {COLUMNS} columns on this page. Try"
            " 'veil tables' on the command line.",
        )
    for name in table.columns:
        if table.column(name).numeric and np.isinf(table[name]).any():
            raise StatusError(
                422, (f"The column '{name}' must have finite numbers. Some are too large.")
            )


def unmeasured(table: Table) -> str:
    """Return why nothing can be measured with these roles, or ""."""
    if not table.qi:
        return NOBODY
    return TOO_MANY if len(table.qi) > KNOWN else ""


def ready(table: Table, method: str) -> tuple[Table, dict[str, str]]:
    """Return the table with the hierarchies a mechanism needs, and how they were built."""
    table.require_qi()
    if unmeasured(table):
        raise StatusError(422, TOO_MANY)
    wide, most = len(table) * len(table.qi), MECHANISMS.get(method).most_cells
    if most is not None and wide > most:
        raise StatusError(
            422,
            f"{method} must process at most {most:,} known cells on this page. Got {wide:,}"
            f" instead. Mark fewer columns as known, choose mondrian, {_ELSE}.",
        )
    if "hierarchies" not in MECHANISMS.get(method).needs:
        return table, {}
    return _built(table, method)


def methods(table: Table) -> list[MethodAnswer]:
    """Return what each mechanism of the page does, and why it is unavailable here, if so."""
    return [
        MethodAnswer(name=name, says=summary(cls), unfit=_unfit(table, name))
        for name, cls in offered(MECHANISMS, DEFAULT).items()
    ]


def _unfit(table: Table, method: str) -> str:
    if unmeasured(table):
        return ""  # the same for all mechanisms, and reported elsewhere
    try:
        return unfit(method, ready(table, method)[0])
    except StatusError as error:
        return str(error)


def _built(table: Table, method: str) -> tuple[Table, dict[str, str]]:
    description = describe(table)
    built = {name: description[name].proposal.hierarchy or ALL_OR_NOTHING for name in table.qi}
    hierarchies = {name: _hierarchy(table, name, by) for name, by in built.items()}
    nodes = prod(hierarchy.height + 1 for hierarchy in hierarchies.values())
    if nodes > _NODES:
        raise StatusError(
            422,
            f"{method} must search at most {_NODES:,} combinations of levels on this page. Got"
            f" {nodes:,} instead. Mark fewer columns as known, choose mondrian, {_ELSE}.",
        )
    return replace(table, hierarchies=hierarchies), built


def _hierarchy(table: Table, name: str, by: str) -> Hierarchy:
    """Build the hierarchy of a column with a builder, or with only its values and the top."""
    column = table.column(name)
    if not column.different:
        raise StatusError(422, f"The column '{name}' must have values. Give it another role.")
    levels = builder(by)
    return Hierarchy.of(levels or [[label, TOP] for label in column.categories], column, name)


ATTACKER = "linkage"
_DRAWN = 12  # columns, before and after
_TELLING = "Nearly unique. Is it an identifier?"


def exposure(original: Table, released: Release | Table) -> StandAnswer:
    """Measure equivalence classes, and attack."""
    table = released.table if isinstance(released, Release) else released
    if unmeasured(original):
        blank = dict.fromkeys(StandAnswer.model_fields)
        return StandAnswer.model_validate({**blank, "rows": len(table)})
    outcome = attack(original, released, ATTACKER)
    alike = anonymity(table, ())
    incomplete = any(table.column(name).missing.any() for name in table.qi)
    return StandAnswer(
        rows=len(table),
        classes=alike.classes,
        uniques=alike.uniques,
        k=alike.k,
        k_any=anonymity(table, (), missing="any").k if incomplete else None,
        largest=1 / alike.k,
        risk=float(outcome.risk),
        low=outcome.low,
        high=outcome.high,
        worst=max(float(outcome.per_record.max()), float(str(outcome.details["largest"]))),
    )


def step(table: Table, spec: str) -> StepAnswer:
    """Protect with one strength of a mechanism, attack and compare."""
    release = protect(table, spec)
    return StepAnswer(spec=spec, stand=exposure(table, release), utility=utility(table, release))


def columns(table: Table) -> list[ColumnAnswer]:
    """Return the proposed role of each column, and a question to consider."""
    unique = telling(table)
    return [
        ColumnAnswer(
            name=column.name,
            kind=column.kind,
            different=column.distinct,
            missing=column.missing,
            role=table.roles[column.name],
            says=_TELLING if column.name in unique else _sentence(column.suspicious),
        )
        for column in describe(table).columns
    ]


def _sentence(words: str) -> str:
    end = "" if words.endswith("?") else "."
    return f"{words[:1].upper()}{words[1:]}{end}" if words else ""


def proposed(table: Table) -> dict[str, Role]:
    """Return a proposed role for each column; no column is assumed to be harmless."""
    return {column.name: column.proposal.role for column in describe(table).columns}


def draw_comparisons(original: Table, release: Release, changed: Sequence[str]) -> list[str]:
    """Draw class sizes, and the columns that are known to attackers or changed."""
    pair = Pair.of(original, release)
    names = [name for name in pair.columns if name in changed or name in original.qi]
    return [
        compare_sizes(original, release.table),
        *(compare_shares(pair, name) for name in names[:_DRAWN]),
    ]


def changed_columns(original: Table, release: Release) -> tuple[str, ...]:
    """Return the columns with a released value that differs from its record."""
    rows, table = release.rows, release.table
    if rows is None:  # synthetic rows
        return table.columns
    return tuple(
        name
        for name in table.columns
        if not _same(original.column(name).take(rows), table.column(name))
    )


def _same(before: Column, after: Column) -> bool:
    if before.numeric and after.numeric:
        return np.array_equal(before.values, after.values, equal_nan=True)
    return bool((before.texts == after.texts).all())


def release_card(
    original: Table, release: Release, changed: Sequence[str], built: Mapping[str, str]
) -> dict[str, Any]:
    """Return the card: what was done, what is proved and what is not, without any value."""
    names = release.table.columns
    return {
        **card_content(release, shuffled=True),
        "columns": list(names),
        "dropped": [name for name in original.columns if name not in names],
        "changed": list(changed),
        "as_they_were": [name for name in names if name not in changed],
        "hierarchies": dict(built),
    }


def blanked(original: Table, release: Release) -> int:
    """Count the cells that were suppressed."""
    if release.rows is None:
        return 0
    table = release.table
    return sum(
        int((table.column(name).missing & ~original.column(name).missing[release.rows]).sum())
        for name in table.columns
    )


def file_of(release: Release, *, excel_safe: bool) -> str:
    """Return a release as CSV, in a fresh random order, because the order links rows."""
    order = generator(None).permutation(len(release))
    with scratch_folder() as folder:
        path = folder / "released.csv"
        release.table.take(order).to_csv(path, excel_safe=excel_safe)
        check_claim(release, path, ".csv", excel_safe=excel_safe)
        return path.read_bytes().decode()  # keeps line breaks inside values


_BYTES = 900_000  # of a file


class TablesAsk(Ask):
    """A table, and the roles of its columns."""

    verb: ClassVar[str] = "tables"

    text: str = Field(
        max_length=_BYTES, description="content of the CSV file", examples=["age,sex\n34,F\n"]
    )
    sep: str | None = Field(
        default=None,
        max_length=8,
        description=("separator of columns; null: inferred from the file"),
    )
    roles: dict[str, Role] | None = Field(
        default=None,
        description="role of each column: identifier, qi (an attacker may know it),"
        " confidential, weight or other, which is the default; null: proposed roles",
    )

    def opened(self) -> Table:
        """Read the table from memory: the user's file is never written to disk."""
        roles = self.roles or {}
        if len(_of(roles, "weight")) > 1:
            raise StatusError(
                422,
                ("Only one column can be the sampling weight. Give the others another role."),
            )
        table = load(
            HeldFile("table.csv", self.text),
            _of(roles, "identifier"),
            _of(roles, "qi"),
            _of(roles, "confidential"),
            next(iter(_of(roles, "weight")), None),
            sep=self.sep,
            quiet=True,
        )
        check_size(table)
        return replace(table, roles=proposed(table)) if self.roles is None else table


class TablesPlaneAsk(TablesAsk):
    """A table to place on the risk-utility plane, with several strengths of a mechanism."""

    method: str = Field(default=DEFAULT, max_length=200, description="name of a mechanism")

    @property
    def weight(self) -> int:
        """Every strength is a release, an attack and a comparison."""
        return _STRENGTHS

    def check(self) -> None:
        """Reject a mechanism that the page does not offer."""
        require_offered(MECHANISMS, self.method, DEFAULT)


class TablesProtectAsk(TablesAsk):
    """A table to protect. Samples are fresh: a seed is not accepted."""

    method: str = Field(max_length=200, description="spec of a mechanism", examples=["mdav(k=5)"])
    excel_safe: bool = Field(
        default=False, description="whether to quote cells that a spreadsheet would run"
    )

    def check(self) -> None:
        """Reject a mechanism that the page does not offer."""
        require_offered(MECHANISMS, read_spec(self.method)[0], DEFAULT)


def open_table(ask: TablesAsk) -> TablesOpenAnswer:
    """Return what the columns are, and how exposed the unprotected records are."""
    table = ask.opened()
    return TablesOpenAnswer(
        columns=columns(table),
        stand=exposure(table, table),
        methods=methods(table),
        note=unmeasured(table),
        svg="" if unmeasured(table) else compare_sizes(table),
    )


def compare_strengths(ask: TablesPlaneAsk) -> TablesPlaneAnswer:
    """Protect a table with each strength of a mechanism, attack the releases, and compare them."""
    table, built = ready(ask.opened(), ask.method)
    stops: list[StepAnswer] = []
    skipped: list[LeftAnswer] = []
    for spec in strengths(ask.method, table)[:_STRENGTHS]:
        try:
            stops.append(step(table, spec))
        except InputError as error:
            skipped.append(LeftAnswer(spec=spec, why=str(error)))
    if not stops:
        raise StatusError(422, skipped[0].why)
    return TablesPlaneAnswer(
        stops=stops,
        left_out=skipped,
        hierarchies=built,
        svg=draw_stops(ask.method, [*map(_stop, stops)]),
    )


def protect_table(ask: TablesProtectAsk) -> TablesProtectAnswer:
    """Protect a table, attack the release, draw it, and return it as a file with its card."""
    table, built = ready(ask.opened(), read_spec(ask.method)[0])
    release = protect(table, ask.method)
    stand, worth = exposure(table, release), utility(table, release)
    changed = changed_columns(table, release)
    card = release_card(table, release, changed, built)
    card["measured"] = {
        "attacker": ATTACKER, **stand.model_dump(exclude={"rows"}), "utility": worth,
    }  # fmt: skip
    return TablesProtectAnswer(
        method=release.method,
        file=file_of(release, excel_safe=ask.excel_safe),
        card=json.dumps(card, indent=1, ensure_ascii=False) + "\n",
        stand=stand,
        utility=worth,
        suppressed=release.suppressed,
        blanked=blanked(table, release),
        changed=list(changed),
        kept=[name for name in release.table.columns if name not in changed],
        svg=draw_comparisons(table, release, changed),
        seeded=release.seeded,
        cost=CostAnswer.of(release.guarantee),
    )


def _of(roles: dict[str, Role], wanted: Role) -> list[str]:
    return [name for name, role in roles.items() if role == wanted]


def _stop(stop: StepAnswer) -> tuple[str, Interval, Interval]:
    stand, utility = stop.stand, stop.utility
    risk = (stand.risk or 0.0, stand.low or 0.0, stand.high or 0.0)
    return stop.spec, risk, (utility, utility, utility)


OPERATIONS = (
    Operation(
        "POST",
        "/api/tables/open",
        "Measure how exposed the records of a table are. Nothing is stored.",
        without_service(open_table),
        TablesAsk,
        TablesOpenAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/plane",
        (
            "Measure the risk and utility of a table at several strengths of a mechanism. Nothing"
            " is stored."
        ),
        without_service(compare_strengths),
        TablesPlaneAsk,
        TablesPlaneAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/protect",
        "Protect a table, and draw it. Nothing is stored or counted in the ledger.",
        without_service(protect_table),
        TablesProtectAsk,
        TablesProtectAnswer,
    ),
)
