"""The page of tables: a file that a person opens is measured, protected and drawn on this machine.

What comes in is held while a request lasts, and not kept: it lies in a folder for its owner alone
until it is read. No answer holds a value of it but the released file, and the drawings of before
and after, which say so. No message holds one.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from veil.core.errors import InputError
from veil.core.registry import read_spec
from veil.measures.estimate import Estimate
from veil.places.pictures import spots
from veil.places.plane import Spot
from veil.proxy.answers import CostAnswer
from veil.tables.measures.utility import utility
from veil.tables.presets import GROUPS, STRENGTHS, strengths
from veil.tables.protect import protect
from veil.tables.schema import load
from veil.tables.table import Role, Table
from veil.web import table_figures as figures
from veil.web.asks import Ask
from veil.web.drawings.sizes import sizes
from veil.web.faults import StatusError
from veil.web.operation import Operation, alone
from veil.web.table_answers import (
    LeftAnswer,
    StepAnswer,
    TablesOpenAnswer,
    TablesPlaneAnswer,
    TablesProtectAnswer,
)
from veil.web.table_limits import check_size, methods, ready, unmeasured

_BYTES = 900_000  # of a file
Name = Literal["mondrian", "ola", "suppress", "mdav", "noise", "rank_swap", "rounding", "sample"]


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
        """Read the table; the file is gone when it is read."""
        roles = self.roles or {}
        if len(_of(roles, "weight")) > 1:
            raise StatusError(422, "One column alone can be the sampling weight.")
        with tempfile.TemporaryDirectory(prefix="veil-") as folder:  # for its owner alone
            path = Path(folder) / "table.csv"
            path.write_text(self.text, encoding="utf-8")
            table = load(
                path,
                _of(roles, "identifier"),
                _of(roles, "qi"),
                _of(roles, "confidential"),
                next(iter(_of(roles, "weight")), None),
                sep=self.sep,
                quiet=True,
            )
        check_size(table)
        return replace(table, roles=figures.proposed(table)) if self.roles is None else table


class TablesPlaneAsk(TablesAsk):
    """A table to place on the risk-utility plane, by one method at several strengths."""

    method: Name = Field(default="mondrian", description="the method")

    @property
    def weight(self) -> int:
        """Every strength is a release, an attack and a comparison."""
        return len(GROUPS)


class TablesProtectAsk(TablesAsk):
    """A table to protect. The draws are fresh: a seed is not accepted."""

    method: str = Field(max_length=200, description="spec of a method", examples=["mdav(k=5)"])
    excel_safe: bool = Field(
        default=False, description="whether cells that a spreadsheet would run get a quote"
    )

    def check(self) -> None:
        """Refuse methods that are not on the page."""
        if read_spec(self.method)[0] not in STRENGTHS:
            raise StatusError(422, f"This page knows the methods {', '.join(STRENGTHS)}.")


def looked(ask: TablesAsk) -> TablesOpenAnswer:
    """Say what the columns are, and how exposed the records are as they stand."""
    table = ask.opened()
    return TablesOpenAnswer(
        columns=figures.columns(table),
        stand=figures.stand(table, table),
        methods=methods(table),
        note=unmeasured(table),
        svg="" if unmeasured(table) else sizes(table),
    )


def measured(ask: TablesPlaneAsk) -> TablesPlaneAnswer:
    """Protect a table by each strength of a method, attack the releases, and compare them."""
    table, built = ready(ask.opened(), ask.method)
    stops: list[StepAnswer] = []
    left: list[LeftAnswer] = []
    for spec in strengths(ask.method, table):
        try:
            stops.append(figures.step(table, spec))
        except InputError as error:
            left.append(LeftAnswer(spec=spec, why=str(error)))
    if not stops:
        raise StatusError(422, left[0].why)
    ends = f"from {stops[0].spec} to {stops[-1].spec}"
    return TablesPlaneAnswer(
        stops=stops, left_out=left, hierarchies=built, svg=spots([*map(_spot, stops)], ends)
    )


def masked(ask: TablesProtectAsk) -> TablesProtectAnswer:
    """Protect a table, attack the release, draw it, and write it as a file with its card."""
    table, built = ready(ask.opened(), read_spec(ask.method)[0])
    release = protect(table, ask.method)
    stand, worth = figures.stand(table, release), utility(table, release)
    changed = figures.changed_columns(table, release)
    card = figures.card(table, release, changed, built)
    card["measured"] = {
        "attacker": figures.ATTACKER, **stand.model_dump(exclude={"rows"}), "utility": worth,
    }  # fmt: skip
    return TablesProtectAnswer(
        method=release.method,
        file=figures.file_of(release, excel_safe=ask.excel_safe),
        card=json.dumps(card, indent=1, ensure_ascii=False) + "\n",
        stand=stand,
        utility=worth,
        suppressed=release.suppressed,
        blanked=figures.blanked(table, release),
        changed=list(changed),
        kept=[name for name in release.table.columns if name not in changed],
        svg=figures.drawn(table, release, changed),
        seeded=release.seeded,
        cost=CostAnswer.of(release.guarantee),
    )


def _of(roles: dict[str, Role], wanted: Role) -> list[str]:
    return [name for name, role in roles.items() if role == wanted]


def _spot(stop: StepAnswer) -> Spot:
    stand = stop.stand
    risk = Estimate(stand.risk or 0.0, stand.low or 0.0, stand.high or 0.0, stand.rows)
    return Spot(stop.spec, risk, Estimate(stop.utility, stop.utility, stop.utility, stand.rows))


OPERATIONS = (
    Operation(
        "POST",
        "/api/tables/open",
        "Say how exposed the records of a table are. Nothing is kept.",
        alone(looked),
        TablesAsk,
        TablesOpenAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/plane",
        "Measure what a method leaves of a table at several strengths. Nothing is kept.",
        alone(measured),
        TablesPlaneAsk,
        TablesPlaneAnswer,
    ),
    Operation(
        "POST",
        "/api/tables/protect",
        "Protect a table, and draw it. Nothing is kept, and nothing is counted in the ledger.",
        alone(masked),
        TablesProtectAsk,
        TablesProtectAnswer,
    ),
)
