"""Figures of studies and of releases, each with how it was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from veil.core.errors import InputError, VeilError
from veil.core.formatting import printable
from veil.data.files import scratch_folder
from veil.dpia.answers import GAP, Measurement
from veil.dpia.load import AnswersFile
from veil.drawing.markup import interval, number
from veil.studies.domains import domain, domains, make_study, vocabulary
from veil.studies.export import Claim, Facts, facts_of, read_csv, read_facts
from veil.studies.panels import is_utility
from veil.studies.results import PLAIN, Row
from veil.studies.study import short_spec
from veil.studies.sweep import sweep

_MAX_BYTES = 2**26  # of a table of results
_ATTACKS = ("risk", "recovery", "linkage")  # kinds of rows that tell how well attackers do
UNKNOWN = "not known"
_REPEATED = "whoever has the seed can repeat the draws, so that what was attacked is not private"


@dataclass(frozen=True)
class Source:
    """The figures of one study.

    Attributes
    ----------
    title
        How the document calls it.
    rows, facts
        Its figures, and how they were made.
    chosen
        The configurations, by spec and size, that will be used; empty if that is not stated.
    """

    title: str
    rows: tuple[Row, ...]
    facts: Facts
    chosen: frozenset[tuple[str, int]] = frozenset()

    @property
    def command(self) -> str:
        """What was typed."""
        return printable(self.facts.command) or GAP

    @property
    def seed(self) -> str:
        """Whether the draws can be repeated."""
        return f"seeded ({printable(self.facts.seed)}): {_REPEATED}" if self.facts.seed else GAP

    @property
    def version(self) -> str:
        """Which version measured it."""
        return printable(self.facts.veil) or GAP

    @property
    def domain(self) -> str:
        """The kind of data."""
        return self.rows[0].domain

    @property
    def data(self) -> str:
        """Names of the data."""
        return ", ".join(dict.fromkeys(printable(row.data) for row in self.rows))

    @cached_property
    def risks(self) -> tuple[Row, ...]:
        """What attackers achieve, the highest first."""
        found = [row for row in self.rows if row.kind == "risk"]
        return tuple(sorted(found, key=lambda row: -row.score))

    @cached_property
    def counted(self) -> tuple[Row, ...]:
        """The risks of what will be used; of all that is protected if that is not stated."""
        if self.chosen:
            return tuple(row for row in self.risks if (row.spec, row.size) in self.chosen)
        return tuple(row for row in self.risks if row.mechanism != PLAIN) or self.risks

    def attacked(self, spec: str, size: int) -> list[Row]:
        """Return all that attackers achieve against a configuration, risks first."""
        found = [
            row for row in self.rows if (row.spec, row.size) == (spec, size)
            and row.kind in _ATTACKS
        ]  # fmt: skip
        return sorted(found, key=lambda row: (_ATTACKS.index(row.kind), -row.score))

    def utility(self, row: Row) -> str:
        """Say what the release of a row is worth."""
        found = [
            one for one in self.rows
            if is_utility(one) and (one.data, one.spec, one.size) == (row.data, row.spec, row.size)
        ]  # fmt: skip
        told = [" ".join(filter(None, (one.measure, one.task, estimate(one)))) for one in found]
        return "; ".join(map(printable, told)) or "not measured"

    def claim(self, row: Row) -> Claim | None:
        """Return what is proved of the configuration of a row."""
        if row.mechanism == PLAIN:
            return Claim("none", "nothing is proved: there is no protection")
        return self.facts.claims.get((row.spec, row.size))

    def worst(self, row: Row) -> str:
        """Say the highest risk of a single subject, where that is known."""
        found = self.facts.worst.get((row.spec, row.size, row.attacker))
        return UNKNOWN if found is None else number(found)

    def proved(self, row: Row) -> str:
        """Say what is proved, and at what cost in all."""
        found = self.claim(row)
        return printable(found.total) if found else GAP


def estimate(row: Row) -> str:
    """Write a figure with its interval and the number of subjects."""
    spread = interval(row.low, row.high, 3) or "(no interval)"
    return f"{number(row.score)} {spread}, n = {row.n:,}"


def configuration_name(row: Row) -> str:
    """Name the configuration of a row."""
    if row.mechanism == PLAIN:
        return f"no protection ({vocabulary(row.domain).plain})"
    size = "" if row.size == 1 else f", {vocabulary(row.domain).sizes(row.size)}"
    return printable(_brief(row.spec, row.domain)) + size


def source_of(title: str, rows: Sequence[Row], facts: Facts, where: str) -> Source:
    """Return the figures of a study that can be used; there must be a risk among them."""
    kept = tuple(row for row in rows if math.isfinite(row.score))
    for row in kept:
        if row.kind in _ATTACKS and not 0 <= row.score <= 1:
            raise InputError(f"{where} has a risk that is not from 0 to 1; run the study again.")
        if row.domain not in domains():
            raise InputError(f"{where} is of a kind of data that is not known here.")
    if not any(row.kind == "risk" for row in kept):
        raise InputError(
            f"{where} has no measured risk, so that there is nothing to assess; run a study with"
            " an attacker."
        )
    return Source(title, kept, facts)


def read(given: Measurement, number_: int, folder: Path) -> Source:
    """Read the results that ``[[studies]]`` names."""
    path = folder / given.results
    table = path if path.suffix.lower() == ".csv" else path / "results.csv"
    if not table.is_file():
        raise InputError(
            f"There is no {table}, which [[studies]] {number_} names; run 'veil audit' or 'veil"
            " DOMAIN plane' first, and name its folder."
        )
    if table.stat().st_size > _MAX_BYTES:
        raise InputError(f"{table} is larger than the results of a study can be.")
    facts = read_facts(table.parent)
    command = facts.command or given.command
    seed = facts.seed or ("" if given.seed is None else str(given.seed))
    facts = replace(facts, command=command, seed=seed)
    title = printable(facts.name) or Path(given.results).name
    return choose(source_of(title, read_csv(table), facts, str(table)), given, number_)


def choose(source: Source, given: Measurement, number_: int) -> Source:
    """Mark the configuration that will be used."""
    if not given.spec and given.size is None:
        return source
    spec = _spelt(given.spec, source.domain)
    found = {
        (row.spec, row.size)
        for row in source.risks
        if (not spec or row.spec == spec or row.mechanism == spec)
        and given.size in (None, row.size)
    }
    if not found:
        known = ", ".join(dict.fromkeys(row.spec for row in source.risks))
        raise InputError(
            f"[[studies]] {number_} names a configuration that its results do not have; there"
            f" are: {known[:500]}."
        )
    return Source(source.title, source.rows, source.facts, frozenset(found))


def _brief(spec: str, name: str) -> str:
    """Write a spec without the parameters that have their default, unless all have it."""
    try:
        short = short_spec(domain(name).mechanisms.parse(spec))
    except VeilError:
        return spec
    return short if "(" in short else spec


def _spelt(spec: str, name: str) -> str:
    """Write a spec as tables of results do."""
    if spec in ("", PLAIN):
        return spec
    try:
        return str(domain(name).mechanisms.parse(spec))
    except VeilError:
        return spec


def measure(asked: AnswersFile) -> Source:
    """Make the releases, attack them, and return the figures; nothing else of them is kept."""
    grids = [one.model_dump(exclude_none=True) for one in asked.answers.release]
    others = asked.table.get("mechanism", [])
    keys = {**asked.table, "name": Path(str(asked.table["table"])).stem[:100] or "table"}
    keys |= {"domain": "tables", "mechanism": [*grids, *others]}
    keys.setdefault("attackers", ["linkage"])
    study = make_study(keys, asked.name, asked.folder)
    with scratch_folder() as scratch:
        found = sweep(study, scratch, workers=0)
    planned = study.mechanism[: len(grids)]
    specs = {
        str(each) for grid in planned for each, _ in grid.mechanisms(domain("tables").mechanisms)
    }
    source = source_of(study.name, found.rows, facts_of(found), f"The table of {asked.name}")
    chosen = {(row.spec, row.size) for row in source.risks if row.spec in specs}
    missing = specs - {spec for spec, _ in chosen}
    if missing:
        raise InputError(
            f"No attacker of {asked.name} could be used against {len(missing)} of its releases, so"
            " that their risk is not known; name other attackers."
        )
    return replace(source, chosen=frozenset(chosen))
