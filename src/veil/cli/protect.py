"""``veil protect``: release variants of texts or of a file of texts."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from veil.cli._choices import SELECT_OPTIONS, policies_of, selection_of
from veil.cli._family import Family
from veil.cli._given import Given, read_given
from veil.cli._screen import VECTORS_OPTION, open_space, progress_bar
from veil.cli._summary import not_covered, show_summary
from veil.core.amounts import count_of
from veil.core.errors import InputError
from veil.corpus.text import MAX_CHARS
from veil.data.records import Columns, Record, read_records
from veil.data.releases import Writer, open_writer, stream_writer
from veil.data.rows import Layout
from veil.text.filing import RELEASED, Tally, check_files, output_columns, release_rows
from veil.text.mechanisms import find
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.policy import Unknown
from veil.text.stream import Choices


def _run(
    mechanism: TextMechanism,
    texts: tuple[str, ...],
    text: tuple[str, ...],
    size: int,
    output: Path | None,
    vectors: str,
    unknown: Unknown,
    policy: tuple[str, ...],
    select: str | None,
    column: str | None,
    id_column: str | None,
    keep: tuple[str, ...],
    delimiter: str | None,
    encoding: str | None,
    with_originals: bool,
    as_json: bool,
    max_chars: int,
    in_clear: bool,
    workers: int,
    seed: int | None,
) -> None:
    choices: Choices = {
        "unknown": unknown,
        "policies": policies_of(policy),
        "select": selection_of(select),
        "max_chars": max_chars,
        "in_clear": in_clear,
    }
    given, layout = read_given(texts, text), Layout(delimiter, encoding)
    columns = Columns(column, id_column, keep)
    suffix = _suffix(output, as_json=as_json, with_originals=with_originals)
    if given.texts and (columns != Columns() or layout != Layout()):
        raise InputError("Columns, a delimiter and an encoding are for files; leave them out.")
    check_files(given.path, output, columns)
    if keep and suffix == ".txt":
        raise InputError("Plain text has no columns to keep; write a .csv with -o, or add --json.")
    space = open_space(mechanism, vectors)
    tally = Tally()
    with ExitStack() as stack:
        quiet = output is None and sys.stdout.isatty()  # the variants themselves show what is done
        report = (lambda *_: None) if quiet else stack.enter_context(progress_bar())
        total = given.path.stat().st_size if given.path else 0

        reached = [0]  # bytes of the file

        def progress(done: int) -> None:
            reached[0] = done
            report(f"protecting: {count_of(tally.texts, 'text')}", done, total)

        named = output_columns(keep, with_originals=with_originals)
        release_rows(
            _records(given, columns, layout, progress),
            _writer(stack, output, suffix, named, private=with_originals),
            mechanism,
            space,
            size,
            tally,
            with_originals=with_originals,
            workers=workers,
            seed=seed,
            told=lambda: progress(reached[0]),
            **choices,
        )
    sys.stdout.flush()
    left = [*filter(None, [id_column]), *keep] if suffix != ".txt" else []
    caveats = not_covered(mechanism, choices["select"], choices["policies"])
    show_summary(mechanism, tally, size, output, left, caveats, with_originals=with_originals)


def _records(
    given: Given, columns: Columns, layout: Layout, progress: Callable[[int], None]
) -> Iterator[Record]:
    if given.texts:
        return (Record(str(i), text) for i, text in enumerate(given.texts, start=1))
    return read_records(given.path, columns, progress, layout)


def _suffix(output: Path | None, *, as_json: bool, with_originals: bool) -> str:
    """Return the format of the output as the ending of a file."""
    if output is not None:
        return output.suffix.lower()
    return ".jsonl" if as_json else ".tsv" if with_originals else ".txt"


def _writer(
    stack: ExitStack, output: Path | None, suffix: str, columns: list[str], *, private: bool
) -> Writer:
    if output is not None:
        return stack.enter_context(open_writer(output, columns, RELEASED, private=private))
    return stream_writer(sys.stdout, suffix, columns, RELEASED)


protect = Family(
    "protect",
    "Release variants of TEXTS: texts with a space in them (or by --text), one file (CSV, TSV,"
    " JSONL, Parquet, plain text, also .gz), or - for standard input. Only variants are printed or"
    " written, and columns named by --id and --keep; notes go to stderr.",
    (find.names, find.mechanism_class),
    _run,
    [
        click.Argument(["texts"], nargs=-1),
        click.Option(
            ["--text"],
            multiple=True,
            help="a text; one with a space in it needs no flag; may be repeated",
        ),
        click.Option(
            ["--size"],
            type=click.IntRange(1, 100_000),
            default=1,
            show_default=True,
            help="variants per text; each adds to the cost",
        ),
        click.Option(
            ["-o", "--output"],
            type=click.Path(path_type=Path),
            help="file to write (.csv .tsv .jsonl .parquet .txt), whole or not at all",
        ),
        VECTORS_OPTION,
        *SELECT_OPTIONS,
        click.Option(["--column"], help="column of the texts  [default: text or query]"),
        click.Option(
            ["--id", "--id-column", "id_column"],
            metavar="COLUMN",
            help="column of names, released as they are  [default: rows are numbered]",
        ),
        click.Option(
            ["--keep"],
            multiple=True,
            metavar="COLUMN",
            help="further column, released as it is; may be repeated",
        ),
        click.Option(
            ["--delimiter"],
            metavar="CHARACTER",
            help="what separates columns, or tab  [default: as the header shows: , ; | or tab]",
        ),
        click.Option(
            ["--encoding"], help="of a text file  [default: as its mark says, else utf-8]"
        ),
        click.Option(
            ["--with-originals"],
            is_flag=True,
            help="add the originals as column 'text', for experiments; the file is owner-only",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="print JSON lines"),
        click.Option(
            ["--max-chars"],
            type=click.IntRange(1),
            default=MAX_CHARS,
            show_default=True,
            help="longest text accepted",
        ),
        click.Option(
            ["--in-clear"],
            is_flag=True,
            help="release a text as it is where none of its words is protected",
        ),
        click.Option(
            ["--workers"],
            type=click.IntRange(1, 256),
            default=1,
            show_default=True,
            help="processes to share the work",
        ),
        click.Option(
            ["--seed"], type=click.IntRange(0, 2**63 - 1), help="repeatable, so NOT private"
        ),
    ],
)
