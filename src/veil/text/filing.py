"""Protect a file of texts: rows in, rows out, in constant memory, whole or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Unpack

from veil.core.guarantee import Guarantee
from veil.data.fetch import Report, silent
from veil.data.records import Columns
from veil.data.rows import Layout
from veil.text.mechanisms.cost import premises, release_cost, scale_premise
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.queries.mechanism import QueryMechanism
from veil.text.mechanisms.queries.scramble import whole_cost
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.protect import variants_of
from veil.text.redact.redactor import redactor_of
from veil.text.release import Filing, release
from veil.text.stream import Choices
from veil.text.tally import Tally
from veil.text.vectors.embeddings import Embeddings


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
        ``unknown``, ``policies``, ``select``, ``max_chars``, ``in_clear`` and ``redact``, as for
        `protect`. A map of pseudonyms is not written: `Redactor.pseudonyms` has it, to be saved.
    """
    output = Path(target)
    filing = Filing(
        source=Path(source),
        target=output,
        kind=output.suffix.lower(),
        columns=Columns(column, id, tuple(keep)),
        layout=Layout(delimiter, encoding, choice=True),
        with_originals=with_originals,
    )
    variants = variants_of(mechanism, size)
    tally = release(
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
    choices: Choices,
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
