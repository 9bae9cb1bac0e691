"""The verbs of tables, from file to file; commands and the HTTP interface come from them."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from veil import tables
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of
from veil.core.verb import Columns, File, FileOrText, NewFile, Reply, Sheet, SpecOf
from veil.data.fetch import Report, no_progress
from veil.tables.files import (
    SEEDED,
    Card,
    card_of,
    make_release,
    read_card,
    read_release,
    require_rows,
    require_writable,
    save,
    verdict_of,
)
from veil.tables.measures.loss import Loss, quality
from veil.tables.mechanism import Release
from veil.tables.schema import BLOCK, Source
from veil.tables.table import Table
from veil.tables.wording import (
    describe_anonymity,
    describe_attack,
    describe_quality,
    describe_verdict,
    loss_figures,
)

if TYPE_CHECKING:
    from veil.tables.blocks import Blocks, Written
    from veil.tables.cells.audit import Audit
    from veil.tables.cells.cells import Cells
    from veil.tables.cells.release import CellRelease

UNDECLARED = Source()
CellSpec = Annotated[str, SpecOf("veil.tables.cells.release:CELL_MECHANISMS")]
_ON_CARDS = ("discernibility", "c_avg", "precision", "ncp")  # figures of quality


@dataclass(frozen=True)
class BlockOptions:
    """How to read a table that does not fit into memory.

    Attributes
    ----------
    blocks
        Number of rows to read at a time. FILE may then be a folder of files with the same columns.
    dask
        Address of a Dask scheduler whose workers can read the files. Each file is a task.
    """

    blocks: Annotated[int, Field(ge=1)] | None = None
    dask: str | None = None

    @contextmanager
    def open(
        self,
        path: Path,
        source: Source,
        *,
        verbatim: bool = False,
        report: Report = no_progress,
    ) -> Iterator["Blocks"]:
        """Open files on this machine or on the cluster; releases are read `verbatim`."""
        from veil.studies.pool import dask_executor
        from veil.tables.blocks import Blocks

        rows = self.blocks or BLOCK
        with dask_executor(self.dask) if self.dask else nullcontext() as executor:
            yield Blocks.of(path, source, rows, executor, verbatim=verbatim, report=report)

    def reject(self, **options: object) -> None:
        """Raise if one of these options is set: they need all rows at once."""
        flags = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
        if flags:
            verb = "needs" if len(flags) == 1 else "need"
            raise ParameterError(
                f"{' and '.join(flags)} {verb} all rows at once. Leave out --blocks and --dask."
            )


def protect(
    file: Path,
    *,
    mechanism: tuple[str, ...],
    out: NewFile,
    source: Source = UNDECLARED,
    large: BlockOptions | None = None,
    columns: Columns = (),
    shuffle: bool = False,
    excel_safe: bool = False,
    seed: int | None = None,
    report: Report = no_progress,
) -> Reply:
    """Protect the records of FILE and write them to OUT.

    Several mechanisms are applied in order. Identifiers are dropped. The card next to OUT
    (OUT.veil.json) records the mechanism, what is proved, and whether a seed was used. It contains
    no value of the table. The rows keep their order, which links them to FILE for anyone who knows
    its order; --shuffle prevents that. With --blocks, FILE need not fit into memory, and may be a
    folder of files with the same columns; OUT is then also a folder.

    Parameters
    ----------
    file
        Records: CSV, TSV, JSONL or Parquet.
    mechanism
        Mechanism with its parameters, for example "ola(k=10, suppression=0.05)"; repeatable.
    out
        CSV or Parquet file to write.
    columns
        Columns to protect, separated by commas, instead of the usual ones of the mechanism.
    shuffle
        Write the rows in random order.
    excel_safe
        Quote values that a spreadsheet would run as formulas.
    seed
        Seed that makes the draws reproducible, for experiments: NOT PRIVATE.
    """
    release: Release | Written
    if large is not None:
        from veil.tables.blocks import protect_blocks

        large.reject(shuffle=shuffle)
        if len(mechanism) > 1:
            raise InputError(
                "With --blocks, one mechanism is applied at a time. Apply the next one to OUT."
            )
        with large.open(file, source, report=report) as blocks:
            release = protect_blocks(
                blocks, mechanism[0], out, columns or None, seed, excel_safe=excel_safe
            )
        return _reply_release(release, release.rows, out, [], ["The rows keep their order."])
    require_writable(out)
    size = file.stat().st_size if file.is_file() else 0
    table, cautions = source.opened(file, lambda read: report(f"Reading {file.name}", read, size))
    report("Protecting", 0, 0)
    release = tables.protect(table, mechanism, columns or None, seed)
    report("Measuring", 0, 0)
    figures = _figures_for_card(table, release)
    report("Writing, and counting what is written", 0, 0)
    save(release, out, excel_safe=excel_safe, shuffle=shuffle, quality=figures)
    notes = []
    if not shuffle and release.rows is not None:
        notes.append("The rows keep the order of the original. --shuffle prevents that.")
    return _reply_release(release, len(release), out, cautions, notes)


def _figures_for_card(original: Table, release: Release) -> dict[str, float]:
    """Return the quality of a release; empty if rows cannot be matched or are not comparable."""
    if not original.qi or release.rows is None:
        return {}
    return {name: value for name, value in _quality(original, release).items()
            if name in _ON_CARDS}  # fmt: skip


def _quality(original: Table, release: Release) -> dict[str, float]:
    try:
        figures = asdict(quality(original, release))
    except InputError:
        return {}
    return {name: float(value) for name, value in figures.items() if value is not None}


def _reply_release(
    release: "Release | Written",
    rows: int,
    out: Path,
    cautions: Sequence[str],
    notes: Sequence[str],
) -> Reply:
    guarantee = release.guarantee
    removed = f", {release.suppressed:,} removed" if release.suppressed else ""
    facts = [f"{out}: {count_of(rows, 'row')}{removed}.", f"{release.method}: {guarantee}."]
    if release.levels:
        levels = ", ".join(f"{name} {level}" for name, level in release.levels.items())
        facts.append(f"Levels: {levels}.")
    warned = [*cautions, *filter(None, [guarantee.caveat])]
    if release.given_up:
        warned.append(
            f"Every value of {', '.join(release.given_up)} is now the top of its hierarchy. To"
            " keep more, ask for less (a smaller k, more suppression, fewer columns), or choose"
            " another minimise."
        )
    if release.seeded:
        warned.append(SEEDED)
    data = {
        "mechanism": release.method,
        "guarantee": str(guarantee),
        "caveat": guarantee.caveat,
        "rows": rows,
        "suppressed": release.suppressed,
        "levels": dict(release.levels),
        "given_up": list(release.given_up),
        "seeded": release.seeded,
    }
    return Reply(notes=[*facts, f"{card_of(out)}", *notes], cautions=warned, data=data)


def attack(
    masked: FileOrText,
    *,
    of: File,
    attack: tuple[str, ...] = ("linkage",),
    source: Source = UNDECLARED,
    population: FileOrText | None = None,
    control: File | None = None,
    seed: int | None = None,
) -> Reply:
    """Attack MASKED, and report how often the attacks succeed.

    MASKED is a release of the original, in the same order of rows, or a spec such as
    "mdav(k=10)", which is applied to the original first. Attacks that need no matching rows accept
    any file. Each attack reports its mean success and the record at greatest risk, since a mean
    hides the one person who is unique. See 'veil tables attacks'.

    Parameters
    ----------
    masked
        Released file, or the spec of a mechanism.
    of
        The original.
    attack
        Attack with its parameters; repeatable.
    population
        File of everybody, or their number (for unique).
    control
        File of rows that were never used for the release.
    seed
        Seed of attacks and mechanisms that draw.
    """
    specs = [tables.ATTACKS.parse(spec) for spec in attack]
    table, release, cautions = _open_both(masked, of, source, seed)
    people: Table | float | None = None
    if population is not None:
        people = _number_of_people(population) or source.opened(population)[0]
    unused = None if control is None else source.opened(control)[0]
    lines: list[str] = []
    outcomes: list[dict[str, object]] = []
    for spec in specs:
        if "rows" in spec.needs:
            require_rows(release, masked)
        outcome = tables.attack(table, release, spec, people, unused, seed)
        lines += describe_attack(outcome, spec.brief, len(table))
        figures = {"risk": float(outcome.risk), "low": outcome.low, "high": outcome.high,
                   "baseline": outcome.baseline}  # fmt: skip
        worst = float(outcome.per_record.max()) if len(outcome.per_record) else None
        outcomes.append({"attack": spec.brief, **_json_values(figures), "worst": worst})
    if release.seeded:
        cautions.append(SEEDED)
    return Reply(lines, cautions=cautions, data={"records": len(table), "attacks": outcomes})


def _open_both(
    masked: FileOrText, of: Path, source: Source, seed: int | None = None
) -> tuple[Table, Release, list[str]]:
    """Open an original and its release; return also cautions.

    If rows were removed, the mechanism is applied again to find the rows that are left. That needs
    the hierarchies it was applied with. Those next to the original are tried if none are declared.
    """
    table, cautions = source.opened(of)
    release = make_release(masked, table, source, seed)
    nearby = source.beside(of)
    if release.rows is not None or nearby is source:
        return table, release, cautions
    try:
        complete = nearby.opened(of)[0]
        repeated = make_release(masked, complete, nearby, seed)
    except InputError:  # nobody asked for these hierarchies
        return table, release, cautions
    if repeated.rows is None:
        return table, release, cautions
    cautions.append(f"Using the hierarchies next to {of.name}. --hierarchies names others.")
    return complete, repeated, cautions


def _number_of_people(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not number >= 1:
        raise ParameterError("A population must have at least one record.")
    return number


def measure(
    masked: Path,
    *,
    of: File | None = None,
    source: Source = UNDECLARED,
    large: BlockOptions | None = None,
    l: Annotated[int, Field(ge=1)] = 3,  # noqa: E741 - the letter of the literature
    blank_matches: bool = False,
) -> Reply:
    """Report how anonymous MASKED is: k, l, t, classes, uniques, and its quality.

    Roles are those of the options, or of the card (MASKED.veil.json). If the card claims k, l or
    t, they are counted in the file, and the exit code is 1 if the claim does not hold. Two
    spellings of a value are two values. Missing values equal each other, as stars do, unless
    --blank-matches is set. t compares each class with the whole file. The quality is computed
    from the original, or read from the card if rows were removed.

    Parameters
    ----------
    masked
        Released file; with --blocks, or a folder of files.
    of
        The original, for t and the quality.
    l
        The l of recursive (c, l)-diversity.
    blank_matches
        Let a missing value match every value, as sdcMicro does.
    """
    card = read_card(masked)
    lines: list[str | Sheet] = []
    cautions: list[str] = []
    if large is not None:
        large.reject(of=of, blank_matches=blank_matches)
        with large.open(masked, source.with_roles(card.roles), verbatim=True) as blocks:
            qi, confidential = blocks.of_role("qi"), blocks.of_role("confidential")
            rows, anonymity = blocks.measured(l)
    else:
        original = None
        table = source.released(masked, card.roles, card.types)
        if of is not None:
            original, cautions = source.opened(of)
            unchanged = {name: hierarchy for name, hierarchy in original.hierarchies.items()
                         if name in table.confidential}  # fmt: skip
            table = replace(table, hierarchies=unchanged)
        qi, confidential, rows = table.qi, table.confidential, len(table)
        anonymity = tables.anonymity(table, None, l, "any" if blank_matches else "equal")
    lines += describe_anonymity(anonymity, rows, qi, confidential, l)
    data: dict[str, object] = {"rows": rows, **_json_values(asdict(anonymity))}
    claimed, holds = _verdict(masked, card, source.hierarchies)
    lines += claimed
    data["claim_holds"] = holds
    if large is None:
        figures = _quality_of_file(masked, source, original) or card.quality or {}
        lines += describe_quality(figures)
        if not figures:
            lines.append("Quality: unknown without --of, or a card next to the file.")
        data["quality"] = _json_values(figures)
    if card.seeded:
        cautions.append(SEEDED)
    return Reply(lines, cautions=cautions, data=data, code=0 if holds is not False else 1)


def _verdict(
    masked: Path, card: Card, hierarchies: Path | None
) -> tuple[Sequence[str], bool | None]:
    claim, verdict = card.claim, verdict_of(masked, card, hierarchies)
    if claim is None or verdict is None:
        return (), None
    return list(describe_verdict(verdict, claim)), not verdict.faults


def _quality_of_file(masked: Path, source: Source, original: Table | None) -> dict[str, float]:
    if original is None:
        return {}
    release = read_release(masked, original, source)
    return {} if release.rows is None else _quality(original, release)


def loss(
    masked: FileOrText,
    *,
    of: File,
    source: Source = UNDECLARED,
    target: str | None = None,
    order: Annotated[int, Field(ge=1, le=2)] = 2,
    seed: int | None = None,
) -> Reply:
    """Report what MASKED lost against the original: overall, by column, and for common uses.

    MASKED is a file, or a spec such as "mdav(k=10)", which is applied to the original first. If
    rows cannot be matched, as with synthetic data, only distributions are compared.

    Parameters
    ----------
    masked
        Released file, or the spec of a mechanism.
    of
        The original.
    target
        Column that classifiers learn to predict, from the original and from the release.
    order
        Largest number of columns of contingency tables.
    seed
        Seed of a mechanism that draws.
    """
    table, release, cautions = _open_both(masked, of, source, seed)
    lost = tables.loss(table, release, order=order)
    overall = [(name, _number(value), text) for name, value, text in loss_figures(lost)]
    uses = {"marginals": tables.utility(table, release)}
    rows = [("marginals", f"{uses['marginals']:.4f}", "of 1: pairs of columns")]
    if release.rows is not None:
        uses["cells"] = tables.utility(table, release, "cells")
        rows.append(("cells", f"{uses['cells']:.4f}", "of 1: single cells"))
    if target is not None:
        learnt = lost.ml(target)
        uses["ml"] = learnt.accuracy
        rows.append(
            (
                "ml",
                f"{learnt.accuracy:.4f}",
                f"accuracy of a classifier of {target}; trained on the original"
                f" {learnt.original:.4f}, always guessing the most frequent value"
                f" {learnt.majority:.4f}",
            )
        )
    lines = [
        Sheet(("overall", "", ""), overall),
        *_sheets_by_column(lost),
        Sheet(("utility", "", ""), rows),
    ]
    notes = []
    if release.rows is None:
        notes.append("Rows cannot be matched, so only distributions are compared.")
    columns = {name: _json_values(figures) for name, figures in lost.columns.items()}
    data = {"overall": _json_values(lost.overall), "columns": columns,
            "utility": _json_values(uses)}  # fmt: skip
    return Reply(lines, notes, cautions, data)


def _sheets_by_column(lost: Loss) -> Iterator[Sheet]:
    kinds: dict[tuple[str, ...], dict[str, Mapping[str, float]]] = {}
    for column, figures in lost.columns.items():
        kinds.setdefault(tuple(figures), {})[column] = figures
    for names, columns in kinds.items():
        rows = [(column, *(_number(figures[name]) for name in names))
                for column, figures in columns.items()]  # fmt: skip
        yield Sheet(("column", *names), rows, labels=1)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:,.4g}"


def describe(
    file: File,
    *,
    schema: File | None = None,
    sep: str | None = None,
    missing: tuple[str, ...] = (),
    out: NewFile | None = None,
) -> Reply:
    """Describe each column of FILE: how well it singles out rows, and its likely role.

    Roles are guessed from names and counts, and no column is guessed to be harmless. Read and edit
    the draft schema that -o writes; --schema then gives it to all other commands.

    Parameters
    ----------
    file
        Records: CSV, TSV, JSONL or Parquet.
    schema
        TOML file of roles that are known already.
    sep
        Character between columns, if it cannot be detected.
    missing
        Text that stands for a missing value; repeatable.
    out
        TOML file to write: a draft schema to read and edit.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the description says the same
        table = tables.load(file, schema=schema, sep=sep, missing=("", *missing))
    description = tables.describe(table)
    heads = "column kind different alone bits missing role? hierarchy?".split()
    rows = [
        (
            column.name,
            column.kind,
            f"{column.distinct:,}",
            f"{column.uniqueness:.1%}",
            f"{column.entropy:.2f}",
            f"{column.missing:,}",
            column.proposal.role,
            column.proposal.hierarchy,
        )
        for column in description.columns
    ]
    lines: list[str | Sheet] = [Sheet(heads, rows, labels=1)]
    lines.append(
        f"{count_of(description.rows, 'row')}. alone: share of rows whose value no other row has."
    )
    lines += [f"Check {column.name}: {column.suspicious}."
              for column in description.columns if column.suspicious]  # fmt: skip
    lines += [f"{first} and {second} together single out {share:.1%} of the rows."
              for first, second, share in description.together]  # fmt: skip
    if out is not None:
        description.write(out)
    return Reply(lines, [] if out is None else [f"{out}"], data=_json_values(asdict(description)))


def count(
    file: Path,
    columns: tuple[str, ...],
    *,
    mechanism: tuple[CellSpec, ...],
    source: Source = UNDECLARED,
    large: BlockOptions | None = None,
    value: str | None = None,
    unit: str | None = None,
    nested: tuple[str, ...] = (),
    unweighted: bool = False,
    audit: bool = False,
    out: NewFile | None = None,
    excel_safe: bool = False,
    seed: int | None = None,
) -> Reply:
    """Count the rows of FILE for each combination of COLUMNS, and protect small counts.

    A suppressed cell is empty; a sum is labelled with a star. Sensitive cells are published by
    round, rollup and sample only, which suppress none.

    Parameters
    ----------
    file
        Records: CSV, TSV, JSONL or Parquet.
    columns
        Columns to count by.
    mechanism
        suppress(threshold=5), round, sample or cta; or rollup, followed by another.
    value
        Numeric column to add up, instead of counting rows.
    unit
        Column that identifies the person of each row, if people can have several rows.
    nested
        Column whose hierarchy gets subtotals; repeatable.
    unweighted
        Count rows, even if there are weights.
    audit
        Report what a reader can infer about each cell.
    out
        CSV file to write, with a card next to it.
    excel_safe
        Quote labels that a spreadsheet would run as formulas.
    seed
        Seed that makes the draws reproducible, for experiments: NOT PRIVATE.
    """
    from veil.tables.cells.audit import require_csv, write_cells

    if out is not None:
        require_csv(out)
    if large is not None:
        large.reject(value=value, unit=unit)
        with large.open(file, source) as blocks:
            cells = blocks.tabulate(columns, nested=nested)
    else:
        table, _ = source.opened(file)  # warnings concern columns that are not counted
        cells = tables.tabulate(
            table, columns, value, unit=unit, nested=nested, weighted=not unweighted
        )
    release = tables.protect(cells, mechanism, rng=seed)
    audited = tables.audit(release) if audit else None
    if out is not None:
        write_cells(release, out, audited=audited, excel_safe=excel_safe)
    notes = list(_notes_of_cells(release, audited, tables.utility(cells, release)))
    if audit and cells.contributions is not None:
        notes += _notes_of_contributors(cells, release)
    return Reply(
        [] if out is not None else [_sheet_of_cells(release, audited)],
        notes,
        [SEEDED] if release.seeded else [],
        _data_of_cells(release, audited),
    )


def _sheet_of_cells(release: "CellRelease", audited: "Audit | None") -> Sheet:
    """Return a grid for two axes, and otherwise a line for each cell."""
    from veil.tables.cells.audit import rows

    if len(release.axes) == 2:
        labels, across = release.axes[0].labels, release.axes[1].labels
        texts = [_text_of_cell(numbers) for _, numbers in rows(release, audited)]
        width = len(across)
        grid = [(label, *texts[at * width : (at + 1) * width]) for at, label in enumerate(labels)]
        return Sheet((release.by[0], *across), grid, labels=1)
    lines = [(*labels, _text_of_cell(numbers)) for labels, numbers in rows(release, audited)]
    return Sheet((*release.by, "count" if release.whole else "value"), lines)


def _text_of_cell(numbers: tuple[float, ...]) -> str:
    text = "x" if math.isnan(numbers[0]) else f"{numbers[0]:,.10g}"
    if len(numbers) == 1 or numbers[1] == numbers[2] == numbers[0]:
        return text
    return f"{text} ({numbers[1]:,.10g} to {numbers[2]:,.10g})"


def _data_of_cells(release: "CellRelease", audited: "Audit | None") -> dict[str, object]:
    from veil.tables.cells.audit import rows

    keys = ("value", "low", "high")
    cells = [{"labels": list(labels), **_json_values(dict(zip(keys, numbers, strict=False)))}
             for labels, numbers in rows(release, audited)]  # fmt: skip
    return {
        "mechanism": release.method,
        "guarantee": str(release.guarantee),
        "seeded": release.seeded,
        "by": list(release.by),
        "cells": cells,
    }


def _notes_of_cells(
    release: "CellRelease", audited: "Audit | None", utility: float
) -> Iterator[str]:
    suppressed = int(release.suppressed.sum())
    yield (
        f"{count_of(release.margins.size, 'cell')} with sums, {suppressed:,} suppressed, by"
        f" {release.method}; {release.guarantee}. {release.guarantee.caveat}"
    )
    yield f"Utility {utility:.4f} of 1: less the share that is suppressed or changed."
    if audited is not None:
        inferred = int((audited.known & (audited.low != release.margins)).sum())
        text = f"A reader can work out {count_of(inferred, 'cell')} that it does not state."
        yield f"{text} {audited.caveat}".strip()


def _notes_of_contributors(cells: "Cells", release: "CellRelease") -> Iterator[str]:
    """Yield what contributors can infer about others from their own amounts."""
    details = tables.attack(cells, release, "intervals").details
    if "contributors" not in details:
        return
    exact, tried, untried = (
        int(str(details.get(key, 0)))
        for key in ("exact_to_contributors", "contributors", "contributors_not_tried")
    )
    yield (
        f"{count_of(tried, 'large contributor')} to suppressed cells"
        f" can use their own amounts to work out {count_of(exact, 'sensitive cell')} of others"
        " exactly."
        if exact
        else f"No sensitive cell of others can be worked out exactly by {tried:,} large"
        " contributors to suppressed cells from their own amounts."
    )
    if untried:
        yield f"{untried:,} more contributors were not tried."


def _json_values(figures: Mapping[str, object]) -> dict[str, object]:
    """Return figures as JSON values; numbers that JSON lacks are null."""
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in figures.items()}  # fmt: skip
