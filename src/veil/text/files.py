"""Protect a file of texts row by row, in constant memory. The output is complete or absent."""

import sys
from bisect import bisect
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Unpack

from veil.core.errors import InputError, UnprotectedError
from veil.core.formatting import brief, count_of
from veil.core.guarantee import Guarantee
from veil.core.types import Variants
from veil.corpus.tokens import MAX_CHARS, check_text
from veil.data.fetch import Report, no_progress
from veil.data.lines import Progress, require_file
from veil.data.records import Columns, Record, read_records
from veil.data.releases import Writer, check_output, open_writer, stream_writer
from veil.data.rows import DelimitedLayout, fold_name
from veil.studies.pool import kill_workers, processes
from veil.text.mechanisms.mechanism import (
    QueryMechanism,
    TextMechanism,
    WordMechanism,
    premises,
    release_cost,
    scale_premise,
)
from veil.text.mechanisms.queries.scramble import whole_cost
from veil.text.protect import ProtectOptions, protect_stream, variants_of
from veil.text.redact.redactor import Redactor, redactor_of
from veil.text.vectors.embeddings import Embeddings


@dataclass
class Tally:
    """Counts of what has been released."""

    texts: int = 0
    words: int = 0
    sizes: Counter[int] = field(default_factory=Counter)  # texts by number of protected words
    bare: int = 0  # texts released unchanged, which no cost covers
    kept: int = 0
    clear: int = 0  # variants that equal their text
    empty: int = 0  # texts for which nothing can be sent
    redacted: Counter[str] = field(default_factory=Counter)  # personal data by its kind
    seeded: bool = False

    def spread(self) -> tuple[int, float, int]:
        """Return the smallest, median and largest number of protected words per text.

        Texts released unchanged are left out, because no finite cost covers them.
        """
        counts = sorted(self.sizes)
        if not counts:
            return 0, 0.0, 0
        ends = list(accumulate(self.sizes[count] for count in counts))
        low, high = (counts[bisect(ends, (ends[-1] - more) // 2)] for more in (1, 0))
        return counts[0], (low + high) / 2, counts[-1]

    def add(self, variants: Variants) -> None:
        """Add the counts of a batch."""
        self.texts += len(variants)
        self.words += sum(variants.protected)
        pairs = zip(variants.protected, variants.kept, strict=True)
        covered = [words for words, unchanged in pairs if words or not unchanged]
        self.sizes.update(covered)
        self.bare += len(variants) - len(covered)
        self.kept += sum(map(len, variants.kept))
        self.empty += sum(not row for row in variants)
        self.redacted.update(kind for kinds in variants.redacted for kind in kinds)
        self.seeded = variants.seeded


_RELEASED = "obfuscatedText"
_HEAD = ("id", "text")
_OWN = (*_HEAD, "variant", _RELEASED, "mechanism", "seeded")


@brief("texts")
@dataclass(frozen=True, kw_only=True)
class FileJob:
    """The source, the target and the columns of a release, checked.

    Attributes
    ----------
    texts, source
        Texts to protect, or a file of them; standard input if there is neither.
    target, kind
        File to write, or None for standard output; the extension that sets the format.
    """

    texts: tuple[str, ...] = ()
    source: Path | None
    target: Path | None
    kind: str
    columns: Columns
    layout: DelimitedLayout
    with_originals: bool

    def __post_init__(self) -> None:
        if self.texts and (self.columns != Columns() or self.layout != DelimitedLayout()):
            raise InputError("Columns, a delimiter and an encoding are for files; leave them out.")
        taken = {*map(fold_name, _OWN)} & {*map(fold_name, self.columns.keep)}
        if taken:
            remedy = "Name yours with --id" if taken == {"id"} else "Rename yours"
            raise InputError(f"The output adds its own column '{min(taken)}'. {remedy}.")
        if self.source is not None:
            require_file(self.source, "texts")
        if self.target is not None:
            check_output(self.target)
            if self.source and self.target.exists() and self.source.samefile(self.target):
                raise InputError("The output would replace the input. Name another file with -o.")
        if self.columns.keep and self.kind == ".txt":
            raise InputError(
                "Plain text has no columns to keep. Write a .csv with -o, or add --json."
            )

    @property
    def unchanged_columns(self) -> tuple[str, ...]:
        """Columns of the source that are released unchanged."""
        names = (*filter(None, [self.columns.id]), *self.columns.keep)
        return () if self.kind == ".txt" else names

    def records(self, progress: Progress) -> Iterator[Record]:
        """Return the records to protect."""
        if self.texts:
            return (Record(str(i), text) for i, text in enumerate(self.texts, start=1))
        return read_records(self.source, self.columns, progress, self.layout)

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Open the output."""
        columns = [*_HEAD[: 1 + self.with_originals], *_OWN[2:], *self.columns.keep]
        if self.target is None:
            yield stream_writer(sys.stdout, self.kind, columns, _RELEASED)
            return
        private = self.with_originals
        with open_writer(self.target, columns, _RELEASED, private=private) as writer:
            yield writer


def release_file(
    filing: FileJob,
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    *,
    workers: int,
    seed: int | None,
    report: Report,
    names: Path | None = None,
    **choices: Unpack[ProtectOptions],
) -> Tally:
    """Protect records batch by batch, write their variants, and return the counts.

    `names` is the file for the map of pseudonyms, which is written before any variant appears.
    """
    redactor = redactor_of(choices.get("redact"))
    note = None if redactor is None or workers == 1 else redactor.note
    tally, waiting, reached = Tally(), deque[Record](), 0
    total = filing.source.stat().st_size if filing.source else 0

    def progress(done: int) -> None:
        nonlocal reached
        reached = done
        report(f"protecting: {count_of(tally.texts, 'text')}", done, total)

    with filing.writer() as writer, _executor(workers) as pool, _placed(waiting, tally):
        for variants in protect_stream(
            _texts(filing.records(progress), waiting, choices.get("max_chars", MAX_CHARS), note),
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
            progress(reached)
            if filing.target is None:  # standard output shows each batch at once
                _keep(redactor, names)
            originals = filing.with_originals
            writer.write(_rows(variants, waiting, tally, with_originals=originals))
        _keep(redactor, names)
    return tally


def _keep(redactor: Redactor | None, names: Path | None) -> None:
    if names is not None and redactor is not None and redactor.pseudonyms is not None:
        redactor.pseudonyms.save(names)


def _texts(
    records: Iterator[Record],
    waiting: deque[Record],
    max_chars: int,
    note: Callable[[str], None] | None,
) -> Iterator[str]:
    """Yield the texts, and queue their records until their variants arrive."""
    for record in records:
        if record.where:
            check_text(record.text, record.where, max_chars)
        if note is not None:  # workers derive the same pseudonyms, but their maps are lost
            note(record.text)
        waiting.append(record)
        yield record.text


@contextmanager
def _placed(waiting: deque[Record], tally: Tally) -> Iterator[None]:
    """Add the row to errors about a text without a protected word."""
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
            cells = [number, text, variants.mechanism, variants.seeded]
            rows.append([*head, *cells, *record.kept])
    return rows


@contextmanager
def _executor(workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """Yield a pool of processes, or None for one worker; an error kills them at once."""
    if workers == 1:
        yield None
        return
    pool = processes(workers)
    try:
        yield pool
    except BaseException:
        kill_workers(pool)
        raise
    pool.shutdown()


@dataclass(frozen=True, slots=True)
class FileRelease:
    """Counts, cost and path of a released file, without any original.

    Attributes
    ----------
    path
        The file written.
    mechanism, cost
        The spec, and the cost of the whole release: a sum over all texts, which may be of
        different people.
    spread
        Smallest, median and largest number of protected words, over the texts with any.
    texts, protected, kept, empty, bare
        Numbers of texts, protected words, words released unchanged, texts without a variant that
        can be sent, and texts released unchanged, which no cost covers.
    columns
        Columns of the source released unchanged.
    redacted
        Number of redacted pieces of personal data, by kind.
    seeded
        True if anyone who knows the seed can repeat the draws: **not private**.
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
    redacted: Mapping[str, int] = field(default_factory=dict)


def protect_file(
    source: str | PathLike[str],
    target: str | PathLike[str],
    mechanism: TextMechanism,
    space: Embeddings | None = None,
    size: int | None = None,
    *,
    column: str | None = None,
    id: str | None = None,  # noqa: A002 - the name of the flag
    keep: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    with_originals: bool = False,
    workers: int = 1,
    seed: int | None = None,
    report: Report = no_progress,
    **choices: Unpack[ProtectOptions],
) -> FileRelease:
    """Write `size` variants of each text of a file to another, like ``veil protect``.

    Parameters
    ----------
    source, target
        CSV, TSV, JSONL, Parquet or plain text, by extension; the source may end in ``.gz``. The
        target is written completely or not at all.
    mechanism, space, size
        As for `protect`.
    column
        Column of the texts; ``text`` or ``query`` by default.
    id, keep
        Columns released unchanged; `id` names the rows, which are numbered by default.
    delimiter, encoding
        Of the source, if its name and first line do not show them.
    with_originals
        Add the originals as column ``text``, for experiments; only its owner can read the file.
    workers
        Number of processes.
    seed
        Makes the release repeatable, and therefore **not private**.
    choices
        ``unknown``, ``policies``, ``select``, ``max_chars``, ``in_clear`` and ``redact``, as for
        `protect`. The map of pseudonyms is not written; save `Redactor.pseudonyms`.
    """
    output = Path(target)
    filing = FileJob(
        source=Path(source),
        target=output,
        kind=output.suffix.lower(),
        columns=Columns(column, id, tuple(keep)),
        layout=DelimitedLayout(delimiter, encoding, choice=True),
        with_originals=with_originals,
    )
    variants = variants_of(mechanism, size)
    tally = release_file(
        filing, mechanism, space, variants, workers=workers, seed=seed, report=report, **choices
    )
    return FileRelease(
        path=output,
        mechanism=str(mechanism),
        cost=_cost(mechanism, space, tally, variants, choices),
        texts=tally.texts,
        protected=tally.words,
        kept=tally.kept,
        empty=tally.empty,
        bare=tally.bare,
        spread=tally.spread(),
        columns=filing.unchanged_columns,
        seeded=seed is not None,
        redacted=dict(sorted(tally.redacted.items())),
    )


def _cost(
    mechanism: TextMechanism,
    space: Embeddings | None,
    tally: Tally,
    size: int,
    choices: ProtectOptions,
) -> Guarantee:
    limits: tuple[str, ...] = ()
    if isinstance(mechanism, QueryMechanism) and mechanism.whole:
        return whole_cost(mechanism.guarantee, tally.texts)
    if isinstance(mechanism, WordMechanism):
        select = choices.get("select")
        limits = premises(
            mechanism.select if select is None else select,
            choices.get("policies"),
            scale_premise(mechanism.guarantee, space),
        )
        redactor = redactor_of(choices.get("redact"))
        limits = limits if redactor is None else (*limits, *redactor.told)
    return release_cost(mechanism.guarantee, tally.words, size, tally.kept, limits)
