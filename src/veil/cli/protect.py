"""``veil protect``: release variants of texts or of a file of texts.

What was typed: texts, one file, or standard input. A mistyped file name is not a text.
What may be a text is not quoted: messages end up in logs.
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
_PATH = re.compile(r"(~|\.{0,2})[/\\]|[A-Za-z]:[/\\]")  # how a path begins
_AS_TEXT = "pass a text with --text"


@brief("texts")
@dataclass(frozen=True)
class TextInput:
    """Texts, or else a file, or else (neither) standard input."""

    texts: tuple[str, ...] = ()
    path: Path | None = None


def read_given(arguments: tuple[str, ...], texts: tuple[str, ...]) -> TextInput:
    """Tell what the arguments are; `texts` are those of --text, which are texts for certain."""
    if not (arguments or texts):
        raise InputError("Missing TEXTS; see --help.")
    kinds = [_input_kind(argument) for argument in arguments]
    if set(kinds) <= {"text"}:
        return TextInput((*arguments, *texts))
    if set(kinds) == {"file"} and len(kinds) > 1 and not texts:
        raise InputError("Give one file; a file is protected alone, each by a command of its own.")
    if len(arguments) + len(texts) > 1:
        raise InputError(
            "Give either texts or one file, not both; a file is protected alone, and a text goes"
            " by --text or has a space in it."
        )
    return TextInput() if arguments[0] == "-" else TextInput(path=Path(arguments[0]))


def _input_kind(argument: str) -> str:
    """Return text or file; raise where it is neither."""
    if argument == "-":
        return "file"
    path, spaced = Path(argument), any(map(str.isspace, argument))
    meant = Path(argument.strip())  # a blank at an end is a slip of the hand
    try:
        folder, there = path.is_dir(), path.exists()
        inside = path.name != argument and path.parent.is_dir()
        inside = inside or (meant != path and argument.strip() != "" and meant.exists())
    except (OSError, ValueError):  # a sentence can be too long for a file name
        folder = there = inside = False
    if folder and argument:
        raise InputError(f"{path} is a folder; name a file of texts, or {_AS_TEXT}.")
    if there and argument:
        return "file"
    named = inside or suffix_of(meant) in _SUFFIXES or bool(_PATH.match(argument.strip()))
    if spaced and not named:
        return "text"
    shown = f"There is no file {path}" if named and not spaced else "There is no such file"
    hint = f"check the path, or {_AS_TEXT}" if named else f"{_AS_TEXT}, or with a space in it"
    raise InputError(f"{shown}; {hint}.")


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
        raise InputError("The output would replace the map; name another file with -o.")
    given = read_given(texts, text)
    filing = FileJob(
        texts=given.texts,
        source=given.path,
        target=output,
        kind=_output_kind(output, as_json=as_json, with_originals=with_originals),
        columns=Columns(column, id_column, keep),
        layout=DelimitedLayout(delimiter, encoding, choice=True),
        with_originals=with_originals,
    )
    variants = variants_of(mechanism, size)
    space = open_space(mechanism, vectors)
    quiet = output is None and sys.stdout.isatty()  # the variants themselves show what is done
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
    left = filing.unchanged_columns
    show_summary(mechanism, tally, variants, output, left, caveats, with_originals=with_originals)


def _redactor(by: By | None, names: Path | None, model: str) -> Redactor | None:
    """Return who looks for personal data; a map of pseudonyms that is there goes on."""
    if by is None:
        if names is not None or model:
            raise ParameterError("--pseudonyms and --model go with --redact; add it.")
        return None
    if names is None:
        return Redactor(by, None, model)
    require_folder(names)
    return Redactor(by, Pseudonyms.load(names) if names.exists() else Pseudonyms(), model)


def _output_kind(output: Path | None, *, as_json: bool, with_originals: bool) -> str:
    """Return the format of the output as the ending of a file."""
    if output is not None:
        return output.suffix.lower()
    return ".jsonl" if as_json else ".tsv" if with_originals else ".txt"


protect = Family(
    "protect",
    "Release variants of texts or of a file of texts. TEXTS are texts with a space in them (or by"
    " --text), one file (CSV, TSV, JSONL, Parquet, plain text, also .gz), or - for standard input."
    " Only variants are printed or written, and columns named by --id and --keep; notes go to"
    " stderr.",
    catalogue.TEXT_MECHANISMS,
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
            help="variants per text; each adds to the cost  [default: 1; cover: a whole group]",
        ),
        click.Option(
            ["-o", "--out", "--output", "output"],
            type=NEW,
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
            ["--redact"],
            type=click.Choice(get_args(By)),
            help="first replace personal data by its kind, as [EMAIL]: what has a shape"
            " (patterns), or what Presidio finds",
        ),
        click.Option(
            ["--pseudonyms", "names"],
            type=NEW,
            metavar="MAP",
            help="give the same data the same pseudonym, and keep which is which in MAP, for you"
            " alone; undo it with veil restore",
        ),
        click.Option(
            ["--model"],
            default="",
            help="model of spaCy with which --redact presidio finds names",
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
