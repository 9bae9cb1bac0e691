"""Measured figures of studies and releases, with their origin."""

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
        Its title in the document.
    rows, facts
        Its figures, and their origin.
    chosen
        Spec and size of the configurations that will be used; empty if not stated.
    """

    title: str
    rows: tuple[Row, ...]
    facts: Facts
    chosen: frozenset[tuple[str, int]] = frozenset()

    @property
    def command(self) -> str:
        """The command of the study."""
        return printable(self.facts.command) or GAP

    @property
    def seed(self) -> str:
        """Whether the draws are seeded."""
        return f"seeded ({printable(self.facts.seed)}): {_REPEATED}" if self.facts.seed else GAP

    @property
    def version(self) -> str:
        """The version of Veil that measured it."""
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
        """The risks, the highest first."""
        risks = [row for row in self.rows if row.kind == "risk"]
        return tuple(sorted(risks, key=lambda row: -row.score))

    @cached_property
    def counted(self) -> tuple[Row, ...]:
        """The risks of the configurations that will be used, by default of all with protection."""
        if self.chosen:
            return tuple(row for row in self.risks if (row.spec, row.size) in self.chosen)
        return tuple(row for row in self.risks if row.mechanism != PLAIN) or self.risks

    def attacked(self, spec: str, size: int) -> list[Row]:
        """Return all attack figures of a configuration, risks first."""
        rows = [
            row for row in self.rows if (row.spec, row.size) == (spec, size)
            and row.kind in _ATTACKS
        ]  # fmt: skip
        return sorted(rows, key=lambda row: (_ATTACKS.index(row.kind), -row.score))

    def utility(self, row: Row) -> str:
        """Return the utility of a row's configuration, as text."""
        rows = [
            other for other in self.rows if is_utility(other)
            and (other.data, other.spec, other.size) == (row.data, row.spec, row.size)
        ]  # fmt: skip
        figures = [
            " ".join(filter(None, (other.measure, other.task, estimate(other)))) for other in rows
        ]
        return "; ".join(map(printable, figures)) or "not measured"

    def claim(self, row: Row) -> Claim | None:
        """Return the proved guarantee of a row's configuration."""
        if row.mechanism == PLAIN:
            return Claim("none", "nothing is proved: there is no protection")
        return self.facts.claims.get((row.spec, row.size))

    def worst(self, row: Row) -> str:
        """Return the highest risk of a single subject as text, if it is known."""
        risk = self.facts.worst.get((row.spec, row.size, row.attacker))
        return UNKNOWN if risk is None else number(risk)

    def proved(self, row: Row) -> str:
        """Return the guarantee and its total cost, as text."""
        claim = self.claim(row)
        return printable(claim.total) if claim else GAP


def estimate(row: Row) -> str:
    """Return a figure with its interval and the number of subjects, as text."""
    spread = interval(row.low, row.high, 3) or "(no interval)"
    return f"{number(row.score)} {spread}, n = {row.n:,}"


def configuration_name(row: Row) -> str:
    """Return the name of a row's configuration."""
    if row.mechanism == PLAIN:
        return f"no protection ({vocabulary(row.domain).plain})"
    size = "" if row.size == 1 else f", {vocabulary(row.domain).sizes(row.size)}"
    return printable(_brief(row.spec, row.domain)) + size


def source_of(title: str, rows: Sequence[Row], facts: Facts, where: str) -> Source:
    """Return the finite figures of a study, or raise if there is no risk among them."""
    finite = tuple(row for row in rows if math.isfinite(row.score))
    for row in finite:
        if row.kind in _ATTACKS and not 0 <= row.score <= 1:
            raise InputError(f"{where} has a risk outside 0 to 1. Run the study again.")
        if row.domain not in domains():
            raise InputError(f"{where} has an unknown kind of data. Install its plugin.")
    if not any(row.kind == "risk" for row in finite):
        raise InputError(
            f"{where} has no measured risk, so there is nothing to assess. Run a study with an"
            " attacker."
        )
    return Source(title, finite, facts)


def read(measurement: Measurement, number_: int, folder: Path) -> Source:
    """Return the results that ``[[studies]]`` names."""
    path = folder / measurement.results
    table = path if path.suffix.lower() == ".csv" else path / "results.csv"
    if not table.is_file():
        raise InputError(
            f"File {table} of [[studies]] {number_} does not exist. Run 'veil audit' or 'veil"
            " DOMAIN plane' first, and use its folder."
        )
    if table.stat().st_size > _MAX_BYTES:
        raise InputError(f"{table} is too large. Choose the results of a study.")
    facts = read_facts(table.parent)
    command = facts.command or measurement.command
    seed = facts.seed or ("" if measurement.seed is None else str(measurement.seed))
    facts = replace(facts, command=command, seed=seed)
    title = printable(facts.name) or Path(measurement.results).name
    return choose(source_of(title, read_csv(table), facts, str(table)), measurement, number_)


def choose(source: Source, measurement: Measurement, number_: int) -> Source:
    """Return the source with the configuration that will be used."""
    if not measurement.spec and measurement.size is None:
        return source
    spec = _spelt(measurement.spec, source.domain)
    configurations = {
        (row.spec, row.size)
        for row in source.risks
        if (not spec or row.spec == spec or row.mechanism == spec)
        and measurement.size in (None, row.size)
    }
    if not configurations:
        options = ", ".join(dict.fromkeys(row.spec for row in source.risks))
        raise InputError(
            f"[[studies]] {number_} names a configuration that its results lack. Available:"
            f" {options[:500]}."
        )
    return Source(source.title, source.rows, source.facts, frozenset(configurations))


def _brief(spec: str, name: str) -> str:
    """Return a spec without default parameters, or unchanged if all are defaults."""
    try:
        short = short_spec(domain(name).mechanisms.parse(spec))
    except VeilError:
        return spec
    return short if "(" in short else spec


def _spelt(spec: str, name: str) -> str:
    """Return a spec in the form of the results table."""
    if spec in ("", PLAIN):
        return spec
    try:
        return str(domain(name).mechanisms.parse(spec))
    except VeilError:
        return spec


def measure(file: AnswersFile) -> Source:
    """Create and attack the releases, and return the figures. The releases are not kept."""
    grids = [release.model_dump(exclude_none=True) for release in file.answers.release]
    others = file.table.get("mechanism", [])
    keys = {**file.table, "name": Path(str(file.table["table"])).stem[:100] or "table"}
    keys |= {"domain": "tables", "mechanism": [*grids, *others]}
    keys.setdefault("attackers", ["linkage"])
    study = make_study(keys, file.name, file.folder)
    with scratch_folder() as scratch:
        results = sweep(study, scratch, workers=0)
    planned = study.mechanism[: len(grids)]
    specs = {
        str(spec) for grid in planned for spec, _ in grid.mechanisms(domain("tables").mechanisms)
    }
    source = source_of(study.name, results.rows, facts_of(results), f"The table of {file.name}")
    used = {(row.spec, row.size) for row in source.risks if row.spec in specs}
    missing = specs - {spec for spec, _ in used}
    if missing:
        raise InputError(
            f"No attacker of {file.name} applies to {len(missing)} of its releases, so their risk"
            " is unknown. Choose other attackers."
        )
    return replace(source, chosen=frozenset(used))
