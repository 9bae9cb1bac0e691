"""Rows in, variants out: what ``veil protect`` and `protect_file` share."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from veil.core.errors import InputError, UnprotectedError
from veil.core.formatting import count_of
from veil.core.types import Variants
from veil.corpus.tokens import MAX_CHARS, check_text
from veil.data.fetch import Report
from veil.data.lines import Progress, require_file
from veil.data.records import Columns, Record, read_records
from veil.data.releases import Writer, check_output, open_writer, stream_writer
from veil.data.rows import Layout, fold_name
from veil.studies.pool import end, processes
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.redact.redactor import Redactor, redactor_of
from veil.text.stream import Choices, protect_stream
from veil.text.tally import Tally
from veil.text.vectors.embeddings import Embeddings

_RELEASED = "obfuscatedText"
_HEAD = ("id", "text")
_OWN = (*_HEAD, "variant", _RELEASED, "mechanism", "seeded")


@dataclass(frozen=True, kw_only=True)
class Filing:
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
    layout: Layout
    with_originals: bool

    def __post_init__(self) -> None:
        if self.texts and (self.columns != Columns() or self.layout != Layout()):
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


def release(
    filing: Filing,
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    *,
    workers: int,
    seed: int | None,
    report: Report,
    names: Path | None = None,
    **choices: Unpack[Choices],
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
        end(pool)
        raise
    pool.shutdown()
