"""Protect a file of texts: rows in, rows out, in constant memory, whole or not at all."""

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
    """What has been released so far."""

    texts: int = 0
    words: int = 0
    each: Counter[int] = field(default_factory=Counter)  # texts by their protected words
    bare: int = 0  # texts that left as they are: no cost covers them
    kept: int = 0
    clear: int = 0  # variants that equal their text
    empty: int = 0  # texts for which nothing can be sent
    redacted: Counter[str] = field(default_factory=Counter)  # personal data by its kind
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
        self.redacted.update(kind for kinds in variants.redacted for kind in kinds)
        self.seeded = variants.seeded


_RELEASED = "obfuscatedText"
_HEAD = ("id", "text")
_OWN = (*_HEAD, "variant", _RELEASED, "mechanism", "seeded")


@brief("texts")
@dataclass(frozen=True, kw_only=True)
class FileJob:
    """From where to where, and what leaves beside the variants; what cannot be is refused.

    Attributes
    ----------
    texts, source
        What to protect: texts, or else a file, or else (neither) standard input.
    target, kind
        File to write, or else standard output; the ending that tells the format.
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
            remedy = "name yours by --id" if taken == {"id"} else "rename the one to be kept"
            raise InputError(f"The output has a column '{min(taken)}' of its own; {remedy}.")
        if self.source is not None:
            require_file(self.source, "texts")
        if self.target is not None:
            check_output(self.target)
            if self.source and self.target.exists() and self.source.samefile(self.target):
                raise InputError("The output would replace the input; name another file with -o.")
        if self.columns.keep and self.kind == ".txt":
            raise InputError(
                "Plain text has no columns to keep; write a .csv with -o, or add --json."
            )

    @property
    def left(self) -> tuple[str, ...]:
        """Columns of the source that leave as they are."""
        named = (*filter(None, [self.columns.id]), *self.columns.keep)
        return () if self.kind == ".txt" else named

    def records(self, progress: Progress) -> Iterator[Record]:
        """Read what is to be protected."""
        if self.texts:
            return (Record(str(i), text) for i, text in enumerate(self.texts, start=1))
        return read_records(self.source, self.columns, progress, self.layout)

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Open what is written to."""
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
    """Protect records batch by batch, write their variants, and count them.

    `names` is where the map of pseudonyms goes, if there are any: before the variants appear.
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
            if filing.target is None:  # these appear at once, whatever comes after them
                _keep(redactor, names)
            originals = filing.with_originals
            writer.write(_rows(variants, waiting, tally, with_originals=originals))
        _keep(redactor, names)
    return tally


def _keep(redactor: Redactor | None, names: Path | None) -> None:
    """Write the map of pseudonyms, if there are any."""
    if names is not None and redactor is not None and redactor.pseudonyms is not None:
        redactor.pseudonyms.save(names)


def _texts(
    records: Iterator[Record],
    waiting: deque[Record],
    max_chars: int,
    note: Callable[[str], None] | None,
) -> Iterator[str]:
    """Hand out the texts, and remember their records until the variants come back."""
    for record in records:
        if record.where:
            check_text(record.text, record.where, max_chars)
        if note is not None:  # workers find the same pseudonyms, and keep them to themselves
            note(record.text)
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
        kill_workers(pool)
        raise
    pool.shutdown()


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
    redacted
        Personal data that was replaced before the mechanism saw the rest, by its kind.
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
        ``unknown``, ``policies``, ``select``, ``max_chars``, ``in_clear`` and ``redact``, as for
        `protect`. A map of pseudonyms is not written: `Redactor.pseudonyms` has it, to be saved.
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
        columns=filing.left,
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
    told: tuple[str, ...] = ()
    if isinstance(mechanism, QueryMechanism) and mechanism.whole:
        return whole_cost(mechanism.guarantee, tally.texts)
    if isinstance(mechanism, WordMechanism):
        select = choices.get("select")
        told = premises(
            mechanism.select if select is None else select,
            choices.get("policies"),
            scale_premise(mechanism.guarantee, space),
        )
        redactor = redactor_of(choices.get("redact"))
        told = told if redactor is None else (*told, *redactor.told)
    return release_cost(mechanism.guarantee, tally.words, size, tally.kept, told)
