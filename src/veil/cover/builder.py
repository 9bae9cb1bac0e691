"""Build a table: topics, mirrored buckets and their texts, for each popularity band."""

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
    """Divide texts by falling count into bands: `group`, `group`, then twice as many each time.

    One band if all counts are equal. A remainder smaller than a group joins the last band.

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


WIDE = 5  # factor of the bucket size in the popular half, if popularity is estimated


def banded(universe: Universe, group: int) -> list[tuple[Ids, int]]:
    """Divide candidate texts into popularity bands, each with its number of groups.

    A group of the table has at least `group` texts. Estimated counts are often too small or too
    large, and a text that is searched more often than its band gives itself away. So the popular
    half has `WIDE` times as many texts per group, and therefore wider bands; texts of the other
    half are rarely searched.
    """
    half = len(universe) // 2
    if universe.popularity == "counts" or half < group:
        return [(band, len(band) // group) for band in bands(universe.counts, group)]
    order = np.argsort(-universe.counts, kind="stable")
    popular, rest = order[:half], np.sort(order[half:])
    wide = WIDE * group
    head = [np.sort(popular[band]) for band in bands(universe.counts[popular], wide)]
    return [*((band, max(1, len(band) // wide)) for band in head), (rest, len(rest) // group)]


_POWER = 12  # power iterations towards the first principal direction
_REFINED = 6


def cells(vectors: Singles, ids: Ids, count: int) -> Ids:
    """Return the bucket (m,) of each text of a topic: 0 to count - 1.

    The shape of the tree depends only on `count`, so buckets of nearby texts have nearby numbers
    in every topic. Bucket sizes differ by at most one.
    """
    out = np.empty(len(ids), dtype=np.int64)
    own = np.asarray(vectors[ids], dtype=np.float32)
    ends = np.arange(count + 1) * len(ids) // count

    def cut(rows: Ids, first: int, last: int) -> None:
        if last - first == 1:
            out[rows] = first
            return
        middle = first + (last - first) // 2
        size = int(ends[middle] - ends[first])
        order = _ordered(own[rows], size)
        cut(rows[order[:size]], first, middle)
        cut(rows[order[size:]], middle, last)

    cut(np.arange(len(ids)), 0, count)
    return out


def _ordered(v: Singles, size: int) -> Ids:
    """Order texts along the direction that best separates the first `size` from the rest."""
    x = v - v.mean(axis=0)
    d = x[int(np.argmax((x * x).sum(axis=1)))]
    for _ in range(_POWER):
        d = x.T @ (x @ d)
        d = d / max(float(np.linalg.norm(d)), 1e-12)
    order = np.argsort(-(x @ d), kind="stable")
    for _ in range(_REFINED if 0 < size < len(v) else 0):
        d = v[order[:size]].mean(axis=0) - v[order[size:]].mean(axis=0)
        order = np.argsort(-(v @ d), kind="stable")
    return order


def words_of(text: str) -> list[str]:
    """Return the distinct words of a text in lower case, without single letters.

    >>> words_of("Type-2 diabetes, DIABETES")
    ['type', 'diabetes']
    """
    spaced = "".join(c if c.isalnum() else " " for c in text.casefold())
    return list(dict.fromkeys(word for word in spaced.split() if len(word) > 1))


class CellNames:
    """Chooses the text of each bucket."""

    def __init__(self, texts: Sequence[str], vectors: Singles, words: int) -> None:
        self._texts, self._vectors, self._most = texts, vectors, words
        self._words = [words_of(text) for text in texts] if words else []
        frequencies = Counter(word for words_of_text in self._words for word in words_of_text)
        self._idf = {word: math.log(len(texts) / count) for word, count in frequencies.items()}

    def name(self, ids: Ids) -> str:
        """Return the words with the largest sum of idf over the texts of the bucket.

        A single text is used unchanged if it is no longer than `words`. With `words` 0 the name is
        the text nearest to the mean.
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


_PRICED = 60  # iterations of the prices of the centres
_TEMPERATURE = 0.02
_LEARNT = 12_000  # texts used to fit the centres
_ROUNDS = 8
_BLOCK = 16_384


def tracks(vectors: Singles, k: int) -> Ids:
    """Assign texts, by their unit vectors (n, d), to k topics whose sizes differ by at most one.

    The result is deterministic: the random seed is fixed and public.
    """
    n = len(vectors)
    if k == 1:
        return np.zeros(n, dtype=np.int64)
    rng = np.random.default_rng(0)  # public: no protection depends on it
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
    """Return sizes that add up to n and differ by at most one.

    >>> sizes(7, 3).tolist()
    [3, 2, 2]
    """
    return np.array([n // parts + (part < n % parts) for part in range(parts)], dtype=np.int64)


def balanced(near: Singles, room: Ids) -> Ids:
    """Assign rows of similarities (n, k) to k columns with these capacities.

    The sum of similarities is nearly maximal: prices of columns with too much demand rise
    (Sinkhorn), then rows choose, starting with those for which the second choice is worst.
    """
    k = near.shape[1]
    value = near.astype(np.float64)
    price = _prices(value, room / len(near))
    value -= price
    order = np.argsort(-_regret(value), kind="stable")
    free, label = room.copy(), np.empty(len(near), dtype=np.int64)
    wishes = np.argsort(-value, axis=1, kind="stable")
    for row in order.tolist():
        for column in wishes[row].tolist():
            if free[column]:
                label[row] = column
                free[column] -= 1
                break
    if k and free.any():
        raise ValueError("The capacities must add up to the number of rows.")
    return label


def _prices(near: Floats, target: Floats) -> Floats:
    price = np.zeros(near.shape[1])
    for _ in range(_PRICED):
        demand = np.zeros(len(price))
        for start in range(0, len(near), _BLOCK):
            z = (near[start : start + _BLOCK] - price) / _TEMPERATURE
            p = np.exp(z - z.max(axis=1, keepdims=True))
            demand += (p / p.sum(axis=1, keepdims=True)).sum(axis=0)
        share = np.maximum(demand / len(near), 1e-9)
        price += 0.7 * _TEMPERATURE * np.log(share / target)
    return price


def _regret(value: Floats) -> Floats:
    best = -np.partition(-value, 1, axis=1)[:, :2]
    regret: Floats = best[:, 0] - best[:, 1]
    return regret


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
    """Build the table of cover groups for public texts; the result is deterministic.

    Parameters
    ----------
    universe
        Public texts, a mapping of texts to counts, or anything `read_universe` accepts. It
        must contain nothing of the user: the table is public.
    tracks
        Texts in a group, that is, requests per query.
    cell
        Minimum number of candidate texts that share one text of a group. Larger values hide more
        and find less.
    words
        Maximum length of a bucket's text, in words; 0 uses the text nearest to the mean.
    encoder
        A local text encoder.
    vectors
        (n, d) unit vectors of the texts by that encoder, if available.
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
            raise ParameterError(f"The '{name}' of a table must be an integer from {least} to"
                f" {most:,}.")  # fmt: skip
    texts = _universe(universe, report)
    if len(texts) < tracks * cell:
        raise InputError(
            f"The universe must have at least {tracks * cell:,} distinct texts for"
            f" {count_of(tracks, 'track')} with cells of {cell}. Got {len(texts):,} instead."
            " Pass more texts, or try smaller cells."
        )
    spec = str(parse_encoder(encoder))
    model = local_encoder(encoder)
    if vectors is None:
        vectors = document_vectors(texts.texts, model, report=report).vectors
    else:
        vectors = _checked(vectors, (len(texts), model.dim))
    tracks, cell, words = int(tracks), int(cell), int(words)
    topics, addresses, names = _groups(texts, vectors, tracks, cell, words, report)
    return Table(
        texts.name, tracks, len(names) // tracks, cell, words, texts.texts, texts.counts,
        topics, addresses, Strings.of(names), vectors, spec, model.key,
        bands=len(banded(texts, tracks * cell)), popularity=texts.popularity,
    )  # fmt: skip


def _checked(vectors: Singles, shape: tuple[int, int]) -> Singles:
    checked = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(checked, axis=-1) if checked.shape == shape else np.zeros(1)
    if not np.allclose(lengths, 1, atol=1e-3):
        raise InputError(
            f"The vectors must have shape {shape}, with a unit vector for each distinct text of"
            " the universe."
        )
    return checked


def _universe(source: object, report: Report) -> Universe:
    if isinstance(source, Universe):
        return source
    if isinstance(source, str | Path):
        return read_universe(source, report=report)
    return Universe.of(source)  # type: ignore[arg-type]  # checked there


def _groups(
    universe: Universe, vectors: Singles, k: int, cell: int, words: int, report: Report
) -> tuple[Ids, Ids, list[str]]:
    """Return the topic and the group number of each text, and the texts of all buckets."""
    naming = CellNames(universe.texts, vectors, words)
    track, address = np.empty((2, len(universe)), dtype=np.int64)
    all_names: list[str] = []
    for band, groups in banded(universe, k * cell):
        first = len(all_names) // k
        own = vectors[band]
        track[band] = tracks(own, k)
        names = [""] * (groups * k)
        for j in range(k):
            report("cutting the tracks into cells", j, k)
            ids = band[track[band] == j]
            buckets = cells(vectors, ids, groups)
            address[ids] = first + buckets
            for a in range(groups):
                names[a * k + j] = naming.name(ids[buckets == a])
        all_names += names
    report("cutting the tracks into cells", k, k)
    return track, address, all_names
