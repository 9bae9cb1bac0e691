"""``veil protect``: release variants of texts or of a file of texts."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from veil import api
from veil.cli._choices import SELECT_OPTIONS, policies_of, selection_of
from veil.cli._family import Family
from veil.cli._screen import VECTORS_OPTION, open_space, progress_bar
from veil.cli._summary import Tally, show_summary
from veil.core.errors import InputError
from veil.core.types import Variants
from veil.data.records import READABLE, Columns, Record, read_records, suffix_of
from veil.data.releases import Writer, open_writer, stream_writer
from veil.data.text import MAX_CHARS
from veil.mechanisms import find
from veil.mechanisms.mechanism import TextMechanism
from veil.mechanisms.words._plan import Unknown
from veil.studies.pool import end, processes

RELEASED = "obfuscatedText"
_HEAD = ("id", "text")


def _run(
    mechanism: TextMechanism,
    texts: tuple[str, ...],
    size: int,
    output: Path | None,
    vectors: str,
    unknown: Unknown,
    policy: tuple[str, ...],
    select: str | None,
    column: str | None,
    id_column: str | None,
    with_originals: bool,
    as_json: bool,
    max_chars: int,
    workers: int,
    seed: int | None,
) -> None:
    choices: api.Choices = {
        "unknown": unknown,
        "policies": policies_of(policy),
        "select": selection_of(select),
        "max_chars": max_chars,
    }
    path = _file_of(texts)
    if path and output and path.exists() and output.exists() and path.samefile(output):
        raise InputError("The output would replace the input; name another file with -o.")
    space = open_space(mechanism, vectors)
    columns = [*_HEAD[: 1 + with_originals], "variant", RELEASED, "mechanism", "seeded"]
    tally = Tally()
    with ExitStack() as stack:
        report = stack.enter_context(progress_bar()) if path else (lambda *_: None)
        total = path.stat().st_size if path and path.is_file() else 0
        records = _records(
            texts, path, Columns(column, id_column), lambda done: report("protecting", done, total)
        )
        waiting: deque[Record] = deque()
        writer = _writer(stack, output, columns, as_json=as_json, private=with_originals)
        pool = stack.enter_context(_executor(workers))
        for variants in api.protect_stream(
            _texts(records, waiting),
            mechanism,
            space,
            size,
            batch=max(1, min(4096, 2**17 // size)),
            executor=pool,
            in_flight=2 * workers,
            seed=seed,
            **choices,
        ):
            tally.add(variants)
            rows = _rows(variants, waiting, tally, with_originals=with_originals)
            writer.write(rows)
    sys.stdout.flush()
    show_summary(mechanism, tally, size, output, with_originals=with_originals)


def _rows(
    variants: Variants,
    waiting: deque[Record],
    tally: Tally,
    *,
    with_originals: bool,
) -> list[list[object]]:
    rows: list[list[object]] = []
    for row, protected in zip(variants, variants.protected, strict=True):
        record = waiting.popleft()
        head = [record.id, record.text][: 1 + with_originals]
        tally.clear += sum(text == record.text for text in row) if protected else 0
        for number, text in enumerate(row, start=1):
            rows.append([*head, number, text, variants.mechanism, variants.seeded])
    return rows


def _file_of(texts: tuple[str, ...]) -> Path | None:
    """Return the file meant by the arguments, or None if they are texts or standard input."""
    files = [text for text in texts if _looks_like_file(text)]
    if not files or texts == ("-",):
        return None
    if len(texts) > 1:
        raise InputError("Give either texts or one file, not both; a file is protected alone.")
    return Path(files[0])


def _looks_like_file(text: str) -> bool:
    if len(text) > 1000 or "\n" in text or "\0" in text:
        return False
    path = Path(text)
    named = suffix_of(path) in READABLE and " " not in text
    try:
        return named or path.is_file()
    except OSError:  # a sentence can be too long for a file name
        return False


def _records(
    texts: tuple[str, ...], path: Path | None, columns: Columns, progress: Callable[[int], None]
) -> Iterator[Record]:
    if path is None and texts != ("-",):
        return (Record(str(i), text) for i, text in enumerate(texts, start=1))
    return read_records(path, columns, progress)


def _texts(records: Iterator[Record], waiting: deque[Record]) -> Iterator[str]:
    """Hand out the texts, and remember their records until the variants come back."""
    for record in records:
        waiting.append(record)
        yield record.text


def _writer(
    stack: ExitStack, output: Path | None, columns: list[str], *, as_json: bool, private: bool
) -> Writer:
    if output is not None:
        return stack.enter_context(open_writer(output, columns, RELEASED, private=private))
    suffix = ".jsonl" if as_json else ".tsv" if private else ".txt"
    return stream_writer(sys.stdout, suffix, columns, RELEASED)


@contextmanager
def _executor(workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """Give processes to share the work, or None; when anything goes wrong they end at once."""
    if workers == 1:
        yield None
        return
    pool = processes(workers)
    try:
        yield pool
    except BaseException:
        end(pool)
        raise
    pool.shutdown()


protect = Family(
    "protect",
    "Release variants of TEXTS: texts, one file (CSV, TSV, JSONL, Parquet, plain text, also"
    " .gz), or - for standard input. Only variants are printed or written; notes go to stderr.",
    (find.names, find.mechanism_class),
    _run,
    [
        click.Argument(["texts"], nargs=-1, required=True),
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
        click.Option(["--id-column"], help="column of the names  [default: id, else row numbers]"),
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
