"""Protect a file of texts: rows in, rows out, in constant memory, whole or not at all."""

from bisect import bisect
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Unpack

from veil.core.errors import InputError, UnprotectedError
from veil.core.guarantee import Guarantee
from veil.core.types import Variants
from veil.corpus.text import MAX_CHARS, check_text
from veil.data.fetch import Report, silent
from veil.data.header import normal
from veil.data.lines import require_file
from veil.data.records import Columns, Record, read_records
from veil.data.releases import Writer, check_output, open_writer
from veil.data.rows import Layout
from veil.studies.pool import end, processes
from veil.text.mechanisms.cost import premises, release_cost, scale_premise
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.stream import Choices, protect_stream
from veil.text.vectors.embeddings import Embeddings

RELEASED = "obfuscatedText"
_HEAD = ("id", "text")
_OWN = (*_HEAD, "variant", RELEASED, "mechanism", "seeded")


@dataclass
class Tally:
    """What has been released so far."""

    texts: int = 0
    words: int = 0
    each: Counter[int] = field(default_factory=Counter)  # texts by their protected words
    bare: int = 0  # texts that left as they are: no cost covers them
    kept: int = 0
    clear: int = 0  # variants that equal their text
    empty: int = 0  # texts for which nothing can be sent
    seeded: bool = False

    def spread(self) -> tuple[int, float, int]:
        """Return the protected words of the smallest, the median and the largest text.

        Texts that left as they are do not count: they cost more than any number, and not 0.
        """
        counts = sorted(self.each)
        if not counts:
            return 0, 0.0, 0
        ends = list(accumulate(self.each[count] for count in counts))
        low, high = (counts[bisect(ends, (ends[-1] - more) // 2)] for more in (1, 0))
        return counts[0], (low + high) / 2, counts[-1]

    def add(self, variants: Variants) -> None:
        """Count a batch."""
        self.texts += len(variants)
        self.words += sum(variants.protected)
        pairs = zip(variants.protected, variants.kept, strict=True)
        covered = [words for words, kept in pairs if words or not kept]
        self.each.update(covered)
        self.bare += len(variants) - len(covered)
        self.kept += sum(map(len, variants.kept))
        self.empty += sum(not row for row in variants)
        self.seeded = variants.seeded


@dataclass(frozen=True, slots=True)
class FileRelease:
    """What was released of a file; holds no original.

    Attributes
    ----------
    path
        The file that was written.
    mechanism, cost
        Its spec, and what the whole release costs: a sum over all texts, which may be of
        different people. `spread` has the protected words of the smallest, the median and the
        largest text, of those of which anything was protected.
    texts, protected, kept, empty, bare
        How many texts there were, words that were protected, words that passed as they are, texts
        without any variant that may be sent, and texts that left as they are, which no cost
        covers.
    columns
        Columns of the source that left as they are.
    seeded
        True when the draws can be repeated by who knows the seed: **not private**.
    """

    path: Path
    mechanism: str
    cost: Guarantee
    texts: int
    protected: int
    kept: int
    empty: int
    bare: int
    spread: tuple[int, float, int]
    columns: tuple[str, ...]
    seeded: bool


def protect_file(
    source: str | PathLike[str],
    target: str | PathLike[str],
    mechanism: TextMechanism,
    space: Embeddings | None = None,
    size: int = 1,
    *,
    column: str | None = None,
    id: str | None = None,  # noqa: A002 - the name of the flag
    keep: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    with_originals: bool = False,
    workers: int = 1,
    seed: int | None = None,
    report: Report = silent,
    **choices: Unpack[Choices],
) -> FileRelease:
    """Release `size` variants of each text of a file into another, as ``veil protect`` does.

    Parameters
    ----------
    source, target
        CSV, TSV, JSONL, Parquet or plain text, by the ending of the name; the source may end in
        ``.gz``. The target appears whole or not at all.
    mechanism, space, size
        As for `protect`.
    column
        Column of the texts; ``text`` or ``query`` by default.
    id, keep
        Columns that leave as they are, the first as the names of rows; else rows are numbered.
    delimiter, encoding
        Where neither the name of the source nor its first line tells.
    with_originals
        Add the originals as column ``text``, for experiments; the file is then for its owner.
    workers
        Processes to share the work.
    seed
        Makes the release repeatable, and therefore **not private**.
    choices
        ``unknown``, ``policies``, ``select``, ``max_chars`` and ``in_clear``, as for `protect`.
    """
    path, output = Path(source), Path(target)
    columns, layout = Columns(column, id, tuple(keep)), Layout(delimiter, encoding)
    check_files(path, output, columns)
    if keep and output.suffix.lower() == ".txt":
        raise InputError("Plain text has no columns to keep; write another kind of file.")
    total, tally, reached = path.stat().st_size, Tally(), [0]

    def progress(done: int) -> None:
        reached[0] = done
        report(f"protecting: {tally.texts:,} texts", done, total)

    records = read_records(path, columns, progress, layout)
    named = output_columns(tuple(keep), with_originals=with_originals)
    with open_writer(output, named, RELEASED, private=with_originals) as writer:
        release_rows(
            records, writer, mechanism, space, size, tally,
            with_originals=with_originals, workers=workers, seed=seed,
            told=lambda: progress(reached[0]), **choices,
        )  # fmt: skip
    plain = output.suffix.lower() == ".txt"
    return FileRelease(
        path=output,
        mechanism=str(mechanism),
        cost=_cost(mechanism, space, tally, size, choices),
        texts=tally.texts,
        protected=tally.words,
        kept=tally.kept,
        empty=tally.empty,
        bare=tally.bare,
        spread=tally.spread(),
        columns=() if plain else (*filter(None, [id]), *keep),
        seeded=seed is not None,
    )


def check_files(source: Path | None, output: Path | None, columns: Columns) -> None:
    """Refuse what cannot be before anything is opened."""
    taken = {*map(normal, _OWN)} & {*map(normal, columns.keep)}
    if taken:
        remedy = "name yours by --id" if taken == {"id"} else "rename the one to be kept"
        raise InputError(f"The output has a column '{min(taken)}' of its own; {remedy}.")
    if source is not None:
        require_file(source, "texts")
    if output is not None:
        check_output(output)
        if source and output.exists() and source.samefile(output):
            raise InputError("The output would replace the input; name another file with -o.")


def output_columns(keep: Sequence[str], *, with_originals: bool) -> list[str]:
    """Return the columns of a release."""
    return [*_HEAD[: 1 + with_originals], *_OWN[2:], *keep]


def release_rows(
    records: Iterator[Record],
    writer: Writer,
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    tally: Tally,
    *,
    with_originals: bool,
    workers: int,
    seed: int | None,
    told: Callable[[], None] = lambda: None,
    **choices: Unpack[Choices],
) -> None:
    """Protect records batch by batch, write their variants, and count them; `told` after each."""
    waiting: deque[Record] = deque()
    texts = _texts(records, waiting, choices.get("max_chars", MAX_CHARS))
    with _executor(workers) as pool, _placed(waiting, tally):
        for variants in protect_stream(
            texts,
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
            told()
            writer.write(_rows(variants, waiting, tally, with_originals=with_originals))


def _texts(records: Iterator[Record], waiting: deque[Record], max_chars: int) -> Iterator[str]:
    """Hand out the texts, and remember their records until the variants come back."""
    for record in records:
        if record.where:
            check_text(record.text, record.where, max_chars)
        waiting.append(record)
        yield record.text


@contextmanager
def _placed(waiting: deque[Record], tally: Tally) -> Iterator[None]:
    """Call a text of which nothing would be protected by its row."""
    try:
        yield
    except UnprotectedError as error:
        where = waiting[error.number - tally.texts - 1].where
        raise UnprotectedError(error.number, where) from None


def _rows(
    variants: Variants, waiting: deque[Record], tally: Tally, *, with_originals: bool
) -> list[list[object]]:
    rows: list[list[object]] = []
    for row, protected in zip(variants, variants.protected, strict=True):
        record = waiting.popleft()
        head = [record.id, record.text][: 1 + with_originals]
        tally.clear += sum(text == record.text for text in row) if protected else 0
        for number, text in enumerate(row, start=1):
            made = [number, text, variants.mechanism, variants.seeded]
            rows.append([*head, *made, *record.kept])
    return rows


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


def _cost(
    mechanism: TextMechanism,
    space: Embeddings | None,
    tally: Tally,
    size: int,
    choices: Choices,
) -> Guarantee:
    told: tuple[str, ...] = ()
    if isinstance(mechanism, WordMechanism):
        select = choices.get("select")
        told = premises(
            mechanism.select if select is None else select,
            choices.get("policies"),
            scale_premise(mechanism.guarantee, space),
        )
    return release_cost(mechanism.guarantee, tally.words, size, tally.kept, told)
