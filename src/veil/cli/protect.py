"""``veil protect``: release variants of texts or of a file of texts.

A mistyped file name must not be released as a text. Messages quote no argument that may be a text,
because they end up in logs.
"""

import re
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from veil.cli.flags import Family
from veil.cli.options import SELECT_OPTIONS, VECTORS_OPTION, policies_of, selection_of
from veil.cli.screen import not_covered, open_space, show_summary
from veil.cli.terminal import NEW, progress_bar
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.corpus.tokens import MAX_CHARS
from veil.data.fetch import no_progress
from veil.data.files import require_folder
from veil.data.lines import UNREAD, suffix_of
from veil.data.records import READABLE, Columns
from veil.data.rows import DelimitedLayout
from veil.text.files import FileJob, release_file
from veil.text.mechanisms import catalogue
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.policy import Unknown
from veil.text.protect import ProtectOptions, variants_of
from veil.text.redact.pseudonyms import Pseudonyms
from veil.text.redact.redactor import By, Redactor

_SUFFIXES = {*READABLE, *UNREAD, ".gz", ".text", ".md", ".log", ".dat"}
_PATH = re.compile(r"(~|\.{0,2})[/\\]|[A-Za-z]:[/\\]")  # start of a path
_AS_TEXT = "pass a text with --text"


@brief("texts")
@dataclass(frozen=True)
class TextInput:
    """Texts, a file, or (if both are empty) standard input."""

    texts: tuple[str, ...] = ()
    path: Path | None = None


def read_given(arguments: tuple[str, ...], texts: tuple[str, ...]) -> TextInput:
    """Return the arguments as texts, a file or standard input; `texts` come from --text."""
    if not (arguments or texts):
        raise InputError("Missing TEXTS. See --help.")
    kinds = [_input_kind(argument) for argument in arguments]
    if set(kinds) <= {"text"}:
        return TextInput((*arguments, *texts))
    if set(kinds) == {"file"} and len(kinds) > 1 and not texts:
        raise InputError(
            "Only one file can be protected at a time. Run the command for each file."
        )
    if len(arguments) + len(texts) > 1:
        raise InputError(
            "Texts cannot be combined with a file. Remove one, or pass each text with --text."
        )
    return TextInput() if arguments[0] == "-" else TextInput(path=Path(arguments[0]))


def _input_kind(argument: str) -> str:
    """Return "text" or "file"; raise an error if the argument is neither."""
    if argument == "-":
        return "file"
    path, spaced = Path(argument), any(map(str.isspace, argument))
    trimmed = Path(argument.strip())  # a space at either end is a typing error
    try:
        folder, exists = path.is_dir(), path.exists()
        inside = path.name != argument and path.parent.is_dir()
        inside = inside or (trimmed != path and argument.strip() != "" and trimmed.exists())
    except (OSError, ValueError):  # a sentence can be too long for a file name
        folder = exists = inside = False
    if folder and argument:
        raise InputError(f"{path} is a folder. Choose a file of texts, or {_AS_TEXT}.")
    if exists and argument:
        return "file"
    path_like = inside or suffix_of(trimmed) in _SUFFIXES or bool(_PATH.match(argument.strip()))
    if spaced and not path_like:
        return "text"
    shown = f"File {path}" if path_like and not spaced else "This file"
    if path_like:
        hint = f"Check the path, or {_AS_TEXT}"
    else:
        hint = "Check the path. Pass a text of one word with --text"
    raise InputError(f"{shown} does not exist. {hint}.")


def _run(
    mechanism: TextMechanism,
    texts: tuple[str, ...],
    text: tuple[str, ...],
    size: int | None,
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
    redact: By | None,
    names: Path | None,
    model: str,
    workers: int,
    seed: int | None,
) -> None:
    choices: ProtectOptions = {
        "unknown": unknown,
        "policies": policies_of(policy),
        "select": selection_of(select),
        "max_chars": max_chars,
        "in_clear": in_clear,
        "redact": _redactor(redact, names, model),
    }
    if names is not None and output is not None and names.resolve() == output.resolve():
        raise InputError("The output would overwrite the map. Choose another file with -o.")
    inputs = read_given(texts, text)
    filing = FileJob(
        texts=inputs.texts,
        source=inputs.path,
        target=output,
        kind=_output_kind(output, as_json=as_json, with_originals=with_originals),
        columns=Columns(column, id_column, keep),
        layout=DelimitedLayout(delimiter, encoding, choice=True),
        with_originals=with_originals,
    )
    variants = variants_of(mechanism, size)
    space = open_space(mechanism, vectors)
    quiet = output is None and sys.stdout.isatty()  # the printed variants show the progress
    with nullcontext(no_progress) if quiet else progress_bar() as report:
        tally = release_file(
            filing,
            mechanism,
            space,
            variants,
            workers=workers,
            seed=seed,
            report=report,
            names=names,
            **choices,
        )
    sys.stdout.flush()
    caveats = not_covered(mechanism, choices["select"], choices["policies"])
    other_columns = filing.unchanged_columns
    show_summary(
        mechanism, tally, variants, output, other_columns, caveats, with_originals=with_originals
    )


def _redactor(by: By | None, names: Path | None, model: str) -> Redactor | None:
    """Return what finds personal data; an existing map of pseudonyms is extended."""
    if by is None:
        if names is not None or model:
            raise ParameterError("--pseudonyms and --model need --redact. Add --redact.")
        return None
    if names is None:
        return Redactor(by, None, model)
    require_folder(names)
    return Redactor(by, Pseudonyms.load(names) if names.exists() else Pseudonyms(), model)


def _output_kind(output: Path | None, *, as_json: bool, with_originals: bool) -> str:
    """Return the file suffix of the output format."""
    if output is not None:
        return output.suffix.lower()
    return ".jsonl" if as_json else ".tsv" if with_originals else ".txt"


protect = Family(
    "protect",
    "Release variants of texts or of a file of texts.\n\nTEXTS is one or more texts that contain"
    " a space (pass others with --text), one file (CSV, TSV, JSONL, Parquet or plain text,"
    " optionally .gz), or - for standard input. The output contains only variants and the columns"
    " in --id and --keep; notes go to stderr.",
    catalogue.TEXT_MECHANISMS,
    _run,
    [
        click.Argument(["texts"], nargs=-1),
        click.Option(
            ["--text"],
            multiple=True,
            help="Text to protect; repeatable. A text with a space may also be an argument.",
        ),
        click.Option(
            ["--size"],
            type=click.IntRange(1, 100_000),
            help="Variants per text. Each adds to the cost.  [default: 1; cover: a whole group]",
        ),
        click.Option(
            ["-o", "--out", "--output", "output"],
            type=NEW,
            help="File to write (.csv .tsv .jsonl .parquet .txt), completely or not at all.",
        ),
        VECTORS_OPTION,
        *SELECT_OPTIONS,
        click.Option(["--column"], help="Column of the texts.  [default: text or query]"),
        click.Option(
            ["--id", "--id-column", "id_column"],
            metavar="COLUMN",
            help="Column of identifiers, released unprotected.  [default: row numbers]",
        ),
        click.Option(
            ["--keep"],
            multiple=True,
            metavar="COLUMN",
            help="Further column to release unprotected; repeatable.",
        ),
        click.Option(
            ["--delimiter"],
            metavar="CHARACTER",
            help="Column separator, or the word tab.  [default: from the header: , ; | or tab]",
        ),
        click.Option(
            ["--encoding"],
            help="Encoding of a text file.  [default: from its byte order mark, else utf-8]",
        ),
        click.Option(
            ["--with-originals"],
            is_flag=True,
            help="Add the originals as column 'text', for experiments. Only you can read it.",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON lines."),
        click.Option(
            ["--max-chars"],
            type=click.IntRange(1),
            default=MAX_CHARS,
            show_default=True,
            help="Largest number of characters in a text.",
        ),
        click.Option(
            ["--in-clear"],
            is_flag=True,
            help="Release a text unprotected if none of its words would be protected.",
        ),
        click.Option(
            ["--redact"],
            type=click.Choice(get_args(By)),
            help="First replace personal data by its kind, such as [EMAIL]: data that matches a"
            " pattern, or data that Presidio finds.",
        ),
        click.Option(
            ["--pseudonyms", "names"],
            type=NEW,
            metavar="MAP",
            help="Replace the same data by the same pseudonym, and write the pairs to MAP, which"
            " only you can read. 'veil restore' puts the data back.",
        ),
        click.Option(
            ["--model"],
            default="",
            help="spaCy model that finds names for --redact presidio.",
        ),
        click.Option(
            ["--workers"],
            type=click.IntRange(1, 256),
            default=1,
            show_default=True,
            help="Number of worker processes.",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(0, 2**63 - 1),
            help="Seed that makes the draws reproducible, for experiments: NOT PRIVATE.",
        ),
    ],
)
