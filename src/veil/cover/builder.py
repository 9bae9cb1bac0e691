"""Build a table: tracks, mirrored cells and their texts, band by band."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of
from veil.core.types import Floats, Ids, Singles
from veil.cover.table import Table, local_encoder
from veil.cover.universe import Universe, read_universe
from veil.data.arrays import Strings
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import parse as parse_encoder
from veil.encoders.vectors import document_vectors


def bands(counts: Ids, group: int) -> list[Ids]:
    """Cut texts by falling count: the first `group`, the next, then twice as many each time.

    One band where all counts are equal. What is left over at the end, if it is less than a
    group, joins the last band.

    >>> [len(band) for band in bands(np.arange(1, 100), 10)]
    [10, 10, 20, 40, 19]
    """
    if len(counts) == 0 or (counts == counts[0]).all():
        return [np.arange(len(counts))]
    order = np.argsort(-counts, kind="stable")
    cuts, size = [0], group
    while cuts[-1] + size < len(order):
        cuts.append(cuts[-1] + size)
        size = cuts[-1]
    if len(order) - cuts[-1] >= group or len(cuts) == 1:
        cuts.append(len(order))
    else:
        cuts[-1] = len(order)
    return [np.sort(order[a:b]) for a, b in pairwise(cuts)]


WIDE = 5  # times as many texts share a cell in the popular half, where popularity is estimated


def banded(universe: Universe, group: int) -> list[tuple[Ids, int]]:
    """Cut a universe into bands of popularity, each with its number of groups.

    A group of the table has `group` texts or more. Counts that are estimated are often too small
    or too large, and a text that is asked more often than its band gives itself away. So the
    popular half has `WIDE` times as many texts in each of its groups, and so much wider bands;
    who asks the other half asks seldom.
    """
    half = len(universe) // 2
    if universe.popularity == "counts" or half < group:
        return [(band, len(band) // group) for band in bands(universe.counts, group)]
    order = np.argsort(-universe.counts, kind="stable")
    popular, rest = order[:half], np.sort(order[half:])
    wide = WIDE * group
    head = [np.sort(popular[band]) for band in bands(universe.counts[popular], wide)]
    return [*((band, max(1, len(band) // wide)) for band in head), (rest, len(rest) // group)]


_POWER = 12  # steps towards the first principal direction
_REFINED = 6


def cells(vectors: Singles, ids: Ids, count: int) -> Ids:
    """Return the cell (m,) of each text of a track: 0 to count - 1.

    The shape of the tree depends on `count` alone, so that neighbours in one track have cells
    whose numbers are those of neighbours in every other. The sizes of the cells differ by at most
    one.
    """
    out = np.empty(len(ids), dtype=np.int64)
    own = np.asarray(vectors[ids], dtype=np.float32)
    ends = np.arange(count + 1) * len(ids) // count

    def cut(rows: Ids, first: int, last: int) -> None:
        if last - first == 1:
            out[rows] = first
            return
        middle = first + (last - first) // 2
        left = int(ends[middle] - ends[first])
        order = _ordered(own[rows], left)
        cut(rows[order[:left]], first, middle)
        cut(rows[order[left:]], middle, last)

    cut(np.arange(len(ids)), 0, count)
    return out


def _ordered(v: Singles, left: int) -> Ids:
    """Order texts along the direction that tells the first `left` of them best from the rest."""
    x = v - v.mean(axis=0)
    d = x[int(np.argmax((x * x).sum(axis=1)))]
    for _ in range(_POWER):
        d = x.T @ (x @ d)
        d = d / max(float(np.linalg.norm(d)), 1e-12)
    order = np.argsort(-(x @ d), kind="stable")
    for _ in range(_REFINED if 0 < left < len(v) else 0):
        d = v[order[:left]].mean(axis=0) - v[order[left:]].mean(axis=0)
        order = np.argsort(-(v @ d), kind="stable")
    return order


def words_of(text: str) -> list[str]:
    """Return the words of a text, in small letters, each once; single letters are none.

    >>> words_of("Type-2 diabetes, DIABETES")
    ['type', 'diabetes']
    """
    spaced = "".join(c if c.isalnum() else " " for c in text.casefold())
    return list(dict.fromkeys(word for word in spaced.split() if len(word) > 1))


class CellNames:
    """Names cells of one universe."""

    def __init__(self, texts: Sequence[str], vectors: Singles, words: int) -> None:
        self._texts, self._vectors, self._most = texts, vectors, words
        self._words = [words_of(text) for text in texts] if words else []
        seen = Counter(word for each in self._words for word in each)
        self._idf = {word: math.log(len(texts) / count) for word, count in seen.items()}

    def name(self, ids: Ids) -> str:
        """Return the words of the cell with the largest sum of idf over its members.

        A member that is alone stands for itself if it is no longer than that; with `words` 0 the
        member nearest to the mean of all does.
        """
        if not self._most:
            middle = self._vectors[ids].mean(axis=0)
            return self._texts[int(ids[int((self._vectors[ids] @ middle).argmax())])]
        if len(ids) == 1 and len(self._words[int(ids[0])]) <= self._most:
            return self._texts[int(ids[0])]
        weights: Counter[str] = Counter()
        for i in ids.tolist():
            for word in self._words[i]:
                weights[word] += self._idf[word]  # type: ignore[assignment]  # a float
        best = sorted(weights, key=lambda word: (-round(weights[word], 9), word))
        return " ".join(best[: self._most]) or self._texts[int(ids[0])]


_PRICED = 60  # rounds in which the prices of the centres settle
_TEMPERATURE = 0.02
_LEARNT = 12_000  # texts that the centres are learnt from
_ROUNDS = 8
_BLOCK = 16_384


def tracks(vectors: Singles, k: int) -> Ids:
    """Assign texts, by their unit vectors (n, d), to k tracks whose sizes differ by at most one.

    The same vectors give the same tracks: what is drawn has a fixed, public seed.
    """
    n = len(vectors)
    if k == 1:
        return np.zeros(n, dtype=np.int64)
    rng = np.random.default_rng(0)  # public: nothing of it protects anybody
    centres = np.array(vectors[rng.choice(n, k, replace=False)], dtype=np.float32)
    part = np.array(vectors[np.sort(rng.choice(n, min(n, _LEARNT), replace=False))])
    for _ in range(_ROUNDS):
        label = balanced(part @ centres.T, sizes(len(part), k))
        sums = np.stack([part[label == j].sum(axis=0, dtype=np.float64) for j in range(k)])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centres)
        centres = centres.astype(np.float32)
    near = np.empty((n, k), dtype=np.float32)
    for start in range(0, n, _BLOCK):
        near[start : start + _BLOCK] = vectors[start : start + _BLOCK] @ centres.T
    return balanced(near, sizes(n, k))


def sizes(n: int, parts: int) -> Ids:
    """Cut n into parts that differ by at most one.

    >>> sizes(7, 3).tolist()
    [3, 2, 2]
    """
    return np.array([n // parts + (part < n % parts) for part in range(parts)], dtype=np.int64)


def balanced(near: Singles, room: Ids) -> Ids:
    """Assign rows of similarities (n, k) to k columns with so much room each.

    Nearly the largest sum of similarities: prices of the columns rise while they are asked for
    too often (Sinkhorn), then the rows choose, those first for which the second choice is worst.
    """
    k = near.shape[1]
    value = near.astype(np.float64)
    price = _prices(value, room / len(near))
    value -= price
    order = np.argsort(-_regret(value), kind="stable")
    left, label = room.copy(), np.empty(len(near), dtype=np.int64)
    wishes = np.argsort(-value, axis=1, kind="stable")
    for row in order.tolist():
        for column in wishes[row].tolist():
            if left[column]:
                label[row] = column
                left[column] -= 1
                break
    if k and left.any():
        raise ValueError("There must be as much room as there are rows.")
    return label


def _prices(near: Floats, target: Floats) -> Floats:
    price = np.zeros(near.shape[1])
    for _ in range(_PRICED):
        asked = np.zeros(len(price))
        for start in range(0, len(near), _BLOCK):
            z = (near[start : start + _BLOCK] - price) / _TEMPERATURE
            p = np.exp(z - z.max(axis=1, keepdims=True))
            asked += (p / p.sum(axis=1, keepdims=True)).sum(axis=0)
        share = np.maximum(asked / len(near), 1e-9)
        price += 0.7 * _TEMPERATURE * np.log(share / target)
    return price


def _regret(value: Floats) -> Floats:
    two = -np.partition(-value, 1, axis=1)[:, :2]
    lost: Floats = two[:, 0] - two[:, 1]
    return lost


TRACKS, CELL, WORDS = 20, 10, 24
MOST_TRACKS = 1_000


def build(
    universe: str | Path | Universe | Iterable[str] | Mapping[str, int],
    tracks: int = TRACKS,
    cell: int = CELL,
    words: int = WORDS,
    encoder: str = "minilm",
    *,
    vectors: Singles | None = None,
    report: Report = no_progress,
) -> Table:
    """Make the table of cover groups of a universe; the same universe gives the same table.

    Parameters
    ----------
    universe
        Public texts, with their counts in a mapping; or what `read_universe` reads by name. It
        must hold nothing of the user's own: the table is public.
    tracks
        Texts in a group: requests that stand for one query.
    cell
        Texts of the universe that share one text of a group, at least. More of them hide more,
        and find less.
    words
        Longest text of a cell, in words; 0 takes the member nearest to the middle.
    encoder
        A local model that tells which texts are near.
    vectors
        (n, d) unit vectors of the texts by that encoder, where they are at hand.
    """
    for name, value, most in (
        ("tracks", tracks, MOST_TRACKS), ("cell", cell, 1_000_000), ("words", words, 1_000)
    ):  # fmt: skip
        least = 0 if name == "words" else 1
        if (
            isinstance(value, bool)
            or not isinstance(value, int | np.integer)
            or not (least <= value <= most)
        ):
            raise ParameterError(f"The '{name}' of a table must be a whole number from {least} to"
                                 f" {most:,}.")  # fmt: skip
    texts = _universe(universe, report)
    if len(texts) < tracks * cell:
        raise InputError(
            f"The universe has {count_of(len(texts), 'distinct text')}, and"
            f" {count_of(tracks, 'track')} with cells of {cell} need{'s' if tracks == 1 else ''}"
            f" at least {tracks * cell:,}; take a larger one, or smaller cells."
        )
    spec = str(parse_encoder(encoder))
    model = local_encoder(encoder)
    if vectors is None:
        vectors = document_vectors(texts.texts, model, report=report).vectors
    else:
        vectors = _checked(vectors, (len(texts), model.dim))
    tracks, cell, words = int(tracks), int(cell), int(words)
    places, addresses, named = _groups(texts, vectors, tracks, cell, words, report)
    return Table(
        texts.name, tracks, len(named) // tracks, cell, words, texts.texts, texts.counts,
        places, addresses, Strings.of(named), vectors, spec, model.key,
        bands=len(banded(texts, tracks * cell)), popularity=texts.popularity,
    )  # fmt: skip


def _checked(vectors: Singles, shape: tuple[int, int]) -> Singles:
    found = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(found, axis=-1) if found.shape == shape else np.zeros(1)
    if not np.allclose(lengths, 1, atol=1e-3):
        raise InputError(
            f"The vectors must be of shape {shape}, one of length 1 for each distinct text of the"
            " universe."
        )
    return found


def _universe(given: object, report: Report) -> Universe:
    if isinstance(given, Universe):
        return given
    if isinstance(given, str | Path):
        return read_universe(given, report=report)
    return Universe.of(given)  # type: ignore[arg-type]  # checked there, with a sentence


def _groups(
    universe: Universe, vectors: Singles, k: int, cell: int, words: int, report: Report
) -> tuple[Ids, Ids, list[str]]:
    """Return the track and the address of each text, and the texts of all cells."""
    naming = CellNames(universe.texts, vectors, words)
    track, address = np.empty((2, len(universe)), dtype=np.int64)
    named: list[str] = []
    for band, groups in banded(universe, k * cell):
        first = len(named) // k
        own = vectors[band]
        track[band] = tracks(own, k)
        names = [""] * (groups * k)
        for j in range(k):
            report("cutting the tracks into cells", j, k)
            ids = band[track[band] == j]
            found = cells(vectors, ids, groups)
            address[ids] = first + found
            for a in range(groups):
                names[a * k + j] = naming.name(ids[found == a])
        named += names
    report("cutting the tracks into cells", k, k)
    return track, address, named
