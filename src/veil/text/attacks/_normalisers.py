"""The normalisers of exponential laws: one pass over the vocabulary serves all slopes at once."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent
from veil.data.files import whole_file
from veil.text.mechanisms.words.exponential import Exponential
from veil.text.vectors.distances import COLUMNS, in_chunks, sweep

_ROWS = 64  # words at a time
_STEEPEST = 1e30  # slopes beyond this are the same in float32


@dataclass(frozen=True, eq=False)
class Normalisers:
    r"""`logs[w]` is :math:`\log Z(w) = \log \sum_v e^{-s \min(d(w, v), cap)}`, nan if not known.

    Distances are float64, root and exponential float32, and sums float64: as if epsilon were off
    by 3e-7 of itself.
    """

    kernel: Exponential
    logs: Floats  # (V,), filled as words are asked for
    lasting: NDArray[np.bool_]  # (V,), those that lie on disk, or are to

    @classmethod
    def of(cls, kernel: Exponential) -> "Normalisers":
        """Return what is known already, from the folder of the space."""
        size = kernel.space.size
        found = cls(kernel, np.full(size, np.nan), np.zeros(size, dtype=bool))
        found._load()
        return found

    def _load(self) -> None:
        """Take over what lies on disk; a file that cannot be read is passed over."""
        path, size = self.kernel.space.path, len(self.logs)
        if path is None:
            return
        with suppress(OSError, ValueError, EOFError):
            ids, logs = np.load(path / self._file, allow_pickle=False)
            if np.isfinite(logs).all() and ((ids >= 0) & (ids < size)).all():
                known = ids.astype(np.int64)
                self.logs[known], self.lasting[known] = logs, True

    def save(self, words: Ids) -> None:
        """Keep those of some words beside the vectors, for the owner alone: they are of a log.

        What is known of other words stays in memory: it may be of a query that was checked.
        """
        path = self.kernel.space.path
        if path is None or self.lasting[words].all():
            return
        self._load()  # another process may know more
        self.lasting[words] = True
        ids = np.flatnonzero(self.lasting)
        with (
            suppress(OSError, InputError),
            whole_file(path / self._file, private=True) as part,
            part.open("wb") as out,
        ):
            np.save(out, np.stack([ids.astype(np.float64), self.logs[ids]]), allow_pickle=False)

    @property
    def _file(self) -> str:
        kernel = self.kernel
        law = f"{kernel.metric} {kernel.slope!r} {kernel.cap!r} {kernel.first}"
        return f"normalisers-{hashlib.sha256(law.encode()).hexdigest()[:16]}.npy"


def prepare(laws: Sequence[Normalisers], ids: Ids, report: Report = silent) -> None:
    """Compute the normalisers of words for several laws of one space, and keep them on disk."""
    compute(laws, ids, report)
    for law in laws:
        law.save(ids)


def compute(laws: Sequence[Normalisers], ids: Ids, report: Report = silent) -> bool:
    """Compute what is not known of some words; tell whether anything was not.

    Laws with the same metric share the distances, which are most of the work.
    """
    groups: dict[tuple[object, ...], list[Normalisers]] = {}
    for law in laws:
        apart = law.kernel.key if law.kernel.first else ""  # its weights are scaled word by word
        groups.setdefault((law.kernel.metric, apart), []).append(law)
    new = False
    for group in groups.values():
        unknown = np.any([np.isnan(law.logs[ids]) for law in group], axis=0)
        wanted = np.unique(ids[unknown])
        new = new or len(wanted) > 0
        for part in in_chunks(wanted, _ROWS):
            report("computing the normalisers of words", part.start, len(wanted))
            for law, logs in zip(group, _exact(group, wanted[part]), strict=True):
                law.logs[wanted[part]] = logs
    return new


def _exact(group: Sequence[Normalisers], ids: Ids) -> Floats:
    """Return log Z (laws, m) of words, from their distances to all words that can be drawn."""
    kernels = [law.kernel for law in group]
    space, first = kernels[0].space, kernels[0].first
    plain = kernels[0].metric == "euclidean"
    sums = np.zeros((len(group), len(ids), -(-space.size // COLUMNS)))
    offsets = _offsets(kernels[0], ids) if first else np.zeros(len(ids))

    def take(block: Floats, columns: slice) -> None:
        gaps = block.astype(np.float32)
        if plain:
            np.sqrt(gaps, out=gaps)
        weights = np.empty_like(gaps)
        for kernel, own in zip(kernels, sums, strict=True):
            np.minimum(gaps, np.float32(kernel.cap), out=weights)
            weights *= np.float32(-min(kernel.slope, _STEEPEST))
            if first:
                weights += offsets[:, None].astype(np.float32)
            np.exp(weights, out=weights)
            weights[:, : max(0, first - columns.start)] = 0
            own[:, columns.start // COLUMNS] = weights.sum(axis=1, dtype=np.float64)

    sweep(space, ids, "squared" if plain else kernels[0].metric, take)
    logs: Floats = np.log(sums.sum(axis=2)) - offsets
    return logs


def _offsets(kernel: Exponential, ids: Ids) -> Floats:
    """Return what to add to log-weights so that the largest is about 0."""
    nearest = np.where(ids >= kernel.first, 0.0, np.inf)  # of a word that can be drawn
    found = np.tile(nearest[:, None], (1, -(-kernel.space.size // COLUMNS)))

    def take(block: Floats, columns: slice) -> None:
        allowed = block[:, max(0, kernel.first - columns.start) :]
        lowest = allowed.min(axis=1, initial=np.inf)
        number = columns.start // COLUMNS
        found[:, number] = np.minimum(found[:, number], lowest)

    sweep(kernel.space, ids, kernel.metric, take)
    lowest: Floats = np.minimum(found.min(axis=1), kernel.cap)
    return kernel.slope * lowest
