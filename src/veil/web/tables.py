"""The page of tables: a file that a person opens is measured, protected and drawn here.

The table is in memory while a request lasts, and never in a file. Only the released file and the
drawings of before and after, which say so, hold values of it; no message does.
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
from veil.measures.estimate import Estimate
from veil.places.pictures import spots
from veil.places.plane import PlanePoint
from veil.proxy.answers import Answer, CostAnswer, Figure, Text
from veil.tables.attack import attack
from veil.tables.column import Column
from veil.tables.describe import describe
from veil.tables.files import card_content, check_claim
from veil.tables.hierarchy import TOP, Hierarchy, builder
from veil.tables.measures.anonymity import anonymity
from veil.tables.measures.pair import Pair
from veil.tables.measures.utility import utility
from veil.tables.mechanism import Release
from veil.tables.mechanisms import MECHANISMS
from veil.tables.presets import strengths, unfit
from veil.tables.protect import protect
from veil.tables.schema import load, telling
from veil.tables.table import Role, Table
from veil.web.asks import Ask, offered, require_offered
from veil.web.charts import shares, sizes
from veil.web.messages import Request, Response, StatusError, page
from veil.web.operation import Operation, alone
from veil.web.pages import render
from veil.web.service import Service


async def show(service: Service, request: Request) -> Response:
    """Show where a table is opened, measured and protected."""
    classes = await service.looks.run(request, partial(offered, MECHANISMS, DEFAULT))
    mechanisms = [(name, summary(cls).rstrip(".")) for name, cls in classes.items()]
    values = {"common": await service.common(request), "mechanisms": mechanisms}
    return page(render("tables.html", values))


class ColumnAnswer(Answer):
    """A column, and what it seems to be."""

    name: Text
    kind: str = Field(description="numbers or texts")
    different: int = Field(description="how many different values it has")
    missing: int
    role: str
    says: str = Field(description="what should be thought of, or nothing")


class StandAnswer(Answer):
    """How exposed the records of a table are; null if no column is a qi."""

    rows: int
    classes: int | None = Field(description="groups of records that look alike")
    uniques: int | None = Field(description="records that are alone with what is known")
    k: int | None = Field(description="size of the smallest group")
    k_any: int | None = Field(
        description="the same if a missing value may be any; null where none is missing"
    )
    largest: Figure = Field(description="the largest risk of a class, 1/k")
    risk: Figure = Field(description="share of records that the linkage attacker finds")
    low: Figure = Field(description="lower end of its interval of 95 %")
    high: Figure
    worst: Figure = Field(description="the same for the most exposed record")


class MethodAnswer(Answer):
    """A mechanism, and whether its presets fit this table."""

    name: str
    says: str
    unfit: str = Field(description="why it does not fit these columns, or nothing")


class TablesOpenAnswer(Answer):
    """A table: its columns, and how exposed its records are as they stand."""

    columns: list[ColumnAnswer]
    stand: StandAnswer
    methods: list[MethodAnswer]
    note: str = Field(description="why nothing is measured with these roles, or nothing")
    svg: str = Field(description="sizes of groups that look alike, as a drawing, or nothing")


class StepAnswer(Answer):
    """One strength of a method, and what was measured there, once."""

    spec: str
    stand: StandAnswer
    utility: float = Field(description="marginals kept, from 0 to 1")


class LeftAnswer(Answer):
    """A strength that cannot be reached for this table."""

    spec: str
    why: str


class TablesPlaneAnswer(Answer):
    """The strengths of a method on the plane, from the weakest."""

    stops: list[StepAnswer]
    left_out: list[LeftAnswer]
    hierarchies: dict[Text, str] = Field(description="by column, how its hierarchy was built")
    svg: str = Field(description="the plane, as a drawing")


class TablesProtectAnswer(Answer):
    """A release: its file, its card, what is proved, and how exposed it is."""

    method: str
    file: Text = Field(description="the released table as CSV, in a random order")
    card: Text = Field(description="the card as JSON: what was done, what is proved and what not")
    stand: StandAnswer
    utility: float
    suppressed: int = Field(description="rows that were removed")
    blanked: int = Field(description="cells that are empty now and were not")
    changed: list[Text] = Field(description="columns in which values were changed")
    kept: list[Text] = Field(description="columns that are released as they were")
    svg: list[str] = Field(description="sizes and columns before and after: not for release")
    seeded: bool
    cost: CostAnswer


DEFAULT = "mondrian"
_STRENGTHS = 7  # of one mechanism
MOST = 3_000  # rows of one request
COLUMNS = 60
KNOWN = 12  # quasi-identifiers
ALL_OR_NOTHING = "the value or nothing"
_NODES = 20_000  # combinations of levels that are searched
_ELSE = "or use 'veil tables' on the command line"
NOBODY = "Say which columns an attacker may know, to see who could be found."
TOO_MANY = f"This page measures at most {KNOWN} known columns; say which of them are not, {_ELSE}."


def check_size(table: Table) -> None:
    """Refuse a table that is too large for a page, or cannot be measured."""
    if len(table) > MOST or len(table.columns) > COLUMNS:
        raise StatusError(
            422,
            f"This page takes at most {MOST:,} rows and {COLUMNS} columns of a file; use 'veil"
            " tables' on the command line for more.",
        )
    for name in table.columns:
        if table.column(name).numeric and np.isinf(table[name]).any():
            raise StatusError(422, f"The column '{name}' has numbers that are too large.")


def unmeasured(table: Table) -> str:
    """Say why nothing can be measured with these roles, or nothing."""
    if not table.qi:
        return NOBODY
    return TOO_MANY if len(table.qi) > KNOWN else ""


def ready(table: Table, method: str) -> tuple[Table, dict[str, str]]:
    """Return the table with the hierarchies that a mechanism needs, and how they were built."""
    table.require_qi()
    if unmeasured(table):
        raise StatusError(422, TOO_MANY)
    wide, most = len(table) * len(table.qi), MECHANISMS.get(method).most_cells
    if most is not None and wide > most:
        raise StatusError(
            422,
            f"{method} would look at {wide:,} known cells, and on this page at most {most:,};"
            f" say that fewer columns are known, choose mondrian, {_ELSE}.",
        )
    if "hierarchies" not in MECHANISMS.get(method).needs:
        return table, {}
    return _built(table, method)


def methods(table: Table) -> list[MethodAnswer]:
    """Return what each mechanism of the page does, and why not here."""
    return [
        MethodAnswer(name=name, says=summary(cls), unfit=_unfit(table, name))
        for name, cls in offered(MECHANISMS, DEFAULT).items()
    ]


def _unfit(table: Table, method: str) -> str:
    if unmeasured(table):
        return ""  # of all of them, and told elsewhere
    try:
        return unfit(method, ready(table, method)[0])
    except StatusError as error:
        return str(error)


def _built(table: Table, method: str) -> tuple[Table, dict[str, str]]:
    seen = describe(table)
    built = {name: seen[name].proposal.hierarchy or ALL_OR_NOTHING for name in table.qi}
    hierarchies = {name: _hierarchy(table, name, by) for name, by in built.items()}
    nodes = prod(hierarchy.height + 1 for hierarchy in hierarchies.values())
    if nodes > _NODES:
        raise StatusError(
            422,
            f"{method} would search {nodes:,} combinations of levels, and on this page at most"
            f" {_NODES:,}; say that fewer columns are known, choose mondrian, {_ELSE}.",
        )
    return replace(table, hierarchies=hierarchies), built


def _hierarchy(table: Table, name: str, by: str) -> Hierarchy:
    """Build the hierarchy of a column: by a builder, or its values and nothing above."""
    column = table.column(name)
    if not column.different:
        raise StatusError(422, f"The column '{name}' is empty; give it another role.")
    levels = builder(by)
    return Hierarchy.of(levels or [[label, TOP] for label in column.categories], column, name)


ATTACKER = "linkage"
_DRAWN = 12  # columns, before and after
_TELLING = "Nearly every row has a value of its own here: say what it is."


def exposure(original: Table, released: Release | Table) -> StandAnswer:
    """Count groups that look alike, and attack."""
    table = released.table if isinstance(released, Release) else released
    if unmeasured(original):
        blank = dict.fromkeys(StandAnswer.model_fields)
        return StandAnswer.model_validate({**blank, "rows": len(table)})
    found = attack(original, released, ATTACKER)
    alike = anonymity(table, ())
    gaps = any(table.column(name).missing.any() for name in table.qi)
    return StandAnswer(
        rows=len(table),
        classes=alike.classes,
        uniques=alike.uniques,
        k=alike.k,
        k_any=anonymity(table, (), missing="any").k if gaps else None,
        largest=1 / alike.k,
        risk=found.risk,
        low=found.low,
        high=found.high,
        worst=max(float(found.per_record.max()), float(str(found.details["largest"]))),
    )


def step(table: Table, spec: str) -> StepAnswer:
    """Protect by one strength of a method, attack and compare."""
    release = protect(table, spec)
    return StepAnswer(spec=spec, stand=exposure(table, release), utility=utility(table, release))


def columns(table: Table) -> list[ColumnAnswer]:
    """Say what each column is, and what should be thought of."""
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
    """Return a role for each column that a person may change; none is taken to be harmless."""
    return {column.name: column.proposal.role for column in describe(table).columns}


def drawn(original: Table, release: Release, changed: Sequence[str]) -> list[str]:
    """Draw groups that look alike and the columns that an attacker knows or that were changed."""
    pair = Pair.of(original, release)
    names = [name for name in pair.columns if name in changed or name in original.qi]
    return [
        sizes(original, release.table),
        *(shares(pair, name) for name in names[:_DRAWN]),
    ]


def changed_columns(original: Table, release: Release) -> tuple[str, ...]:
    """Return the columns in which a released value is not that of its record."""
    rows, table = release.rows, release.table
    if rows is None:  # of nobody
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
    """Say what was done, what is proved and what is not; no value of a cell is in it."""
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
    """Count the cells that are empty now and were not."""
    if release.rows is None:
        return 0
    table = release.table
    return sum(
        int((table.column(name).missing & ~original.column(name).missing[release.rows]).sum())
        for name in table.columns
    )


def file_of(release: Release, *, excel_safe: bool) -> str:
    """Write a release as CSV, in a fresh random order: order is a link."""
    order = generator(None).permutation(len(release))
    with scratch_folder() as folder:
        path = folder / "released.csv"
        release.table.take(order).to_csv(path, excel_safe=excel_safe)
        check_claim(release, path, ".csv", excel_safe=excel_safe)
        return path.read_bytes().decode()  # line breaks inside values stay as they are counted


_BYTES = 900_000  # of a file


class TablesAsk(Ask):
    """A table, and what its columns are."""

    verb: ClassVar[str] = "tables"

    text: str = Field(
        max_length=_BYTES, description="what is in the CSV file", examples=["age,sex\n34,F\n"]
    )
    sep: str | None = Field(
        default=None, max_length=8, description="what separates columns; null: as the file tells"
    )
    roles: dict[str, Role] | None = Field(
        default=None,
        description="by column: identifier, qi (an attacker may know it), confidential, weight or"
        " other, which is also what is not named; null: as is proposed",
    )

    def opened(self) -> Table:
        """Read the table from memory: the file of a person is never on the disk of this page."""
        roles = self.roles or {}
        if len(_of(roles, "weight")) > 1:
            raise StatusError(422, "One column alone can be the sampling weight.")
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
    """A table to place on the risk-utility plane, by one method at several strengths."""

    method: str = Field(default=DEFAULT, max_length=200, description="name of a mechanism")

    @property
    def weight(self) -> int:
        """Every strength is a release, an attack and a comparison."""
        return _STRENGTHS

    def check(self) -> None:
        """Refuse a mechanism that the page does not offer."""
        require_offered(MECHANISMS, self.method, DEFAULT)


class TablesProtectAsk(TablesAsk):
    """A table to protect. The draws are fresh: a seed is not accepted."""

    method: str = Field(max_length=200, description="spec of a method", examples=["mdav(k=5)"])
    excel_safe: bool = Field(
        default=False, description="whether cells that a spreadsheet would run get a quote"
    )

    def check(self) -> None:
        """Refuse a mechanism that the page does not offer."""
        require_offered(MECHANISMS, read_spec(self.method)[0], DEFAULT)


def open_table(ask: TablesAsk) -> TablesOpenAnswer:
    """Say what the columns are, and how exposed the records are as they stand."""
    table = ask.opened()
    return TablesOpenAnswer(
        columns=columns(table),
        stand=exposure(table, table),
        methods=methods(table),
        note=unmeasured(table),
        svg="" if unmeasured(table) else sizes(table),
    )


def compare_strengths(ask: TablesPlaneAsk) -> TablesPlaneAnswer:
    """Protect a table by each strength of a method, attack the releases, and compare them."""
    table, built = ready(ask.opened(), ask.method)
    stops: list[StepAnswer] = []
    left: list[LeftAnswer] = []
    for spec in strengths(ask.method, table)[:_STRENGTHS]:
        try:
            stops.append(step(table, spec))
        except InputError as error:
            left.append(LeftAnswer(spec=spec, why=str(error)))
    if not stops:
        raise StatusError(422, left[0].why)
    ends = f"from {stops[0].spec} to {stops[-1].spec}"
    return TablesPlaneAnswer(
        stops=stops, left_out=left, hierarchies=built, svg=spots([*map(_spot, stops)], ends)
    )


def protect_table(ask: TablesProtectAsk) -> TablesProtectAnswer:
    """Protect a table, attack the release, draw it, and write it as a file with its card."""
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
        svg=drawn(table, release, changed),
        seeded=release.seeded,
        cost=CostAnswer.of(release.guarantee),
    )


def _of(roles: dict[str, Role], wanted: Role) -> list[str]:
    return [name for name, role in roles.items() if role == wanted]


def _spot(stop: StepAnswer) -> PlanePoint:
    stand = stop.stand
    risk = Estimate(stand.risk or 0.0, stand.low or 0.0, stand.high or 0.0, stand.rows)
    return PlanePoint(
        stop.spec, risk, Estimate(stop.utility, stop.utility, stop.utility, stand.rows)
    )


OPERATIONS = (
    Operation(
        "POST",
        "/api/tables/open",
        "Say how exposed the records of a table are. Nothing is kept.",
        alone(open_table),
        TablesAsk,
        TablesOpenAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/plane",
        "Measure what a method leaves of a table at several strengths. Nothing is kept.",
        alone(compare_strengths),
        TablesPlaneAsk,
        TablesPlaneAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/protect",
        "Protect a table, and draw it. Nothing is kept, and nothing is counted in the ledger.",
        alone(protect_table),
        TablesProtectAsk,
        TablesProtectAnswer,
    ),
)
