"""Changes to a table of cover groups that are not in the library: what they bring is measured.

All need the public table alone, draw nothing, and leave the release one of L addresses.

``refined``
    Texts change places between the cells of a track, by balanced k-means that starts from the
    tree: cells keep their addresses and their sizes.

``chosen``
    Texts chosen for what they find: of the words of a cell, those whose bm25 list over the
    universe itself holds most of the nearest texts of the members.
``coverage``
    A lookup that takes, instead of the address of the nearest text, the one whose group finds
    most of the ten nearest texts of the universe. `FOUND` was chosen for cells of ten: with cells
    of one it does harm.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from benchmarks.cover_common import Flags, Ids, Lookup, Singles

from veil.corpus.lexical import Lexical, build_lexical, term_of, words_of
from veil.cover import Table
from veil.cover.builder import balanced
from veil.data.arrays import Strings

NEAR, SHARP = 10, 0.05  # nearest texts that count, and how fast their weight falls with the cosine
FOUND = 25  # texts of the universe that a text of a cell surely finds
_START, _CANDIDATES, _LIST, _ROUNDS = 6, 60, 60, 3


class _Index:
    """The universe as an engine would hold it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.lexical: Lexical = build_lexical(texts)
        self.weights = self.lexical.weights("bm25")

    def row(self, term: str) -> Singles:
        """Return what a term adds to the score of each text."""
        out = np.zeros(self.lexical.size, dtype=np.float32)
        number = self.lexical.terms.get(term, -1)
        if number >= 0:
            part = slice(self.lexical.indptr[number], self.lexical.indptr[number + 1])
            out[self.lexical.docs[part]] = self.weights[part]
        return out

    def found(self, text: str, depth: int) -> Ids:
        """Return the best texts for a text."""
        total = np.zeros(self.lexical.size, dtype=np.float32)
        for number in self.lexical.ids(text):
            part = slice(self.lexical.indptr[number], self.lexical.indptr[number + 1])
            total[self.lexical.docs[part]] += self.weights[part]
        best = np.argsort(-total, kind="stable")[:depth]
        kept: Ids = best[total[best] > 0]
        return kept


def _nearest(table: Table, vectors: Singles, count: int) -> tuple[Ids, Singles]:
    """Return the nearest texts (n, count), best first, and their cosines."""
    places = np.empty((len(vectors), count), dtype=np.int64)
    cosines = np.empty((len(vectors), count), dtype=np.float32)
    for start in range(0, len(vectors), 1024):
        near = vectors[start : start + 1024] @ table.vectors.T
        some = np.argpartition(-near, count - 1, axis=1)[:, :count]
        values = np.take_along_axis(near, some, 1)
        order = np.argsort(-values, axis=1, kind="stable")
        places[start : start + 1024] = np.take_along_axis(some, order, 1)
        cosines[start : start + 1024] = np.take_along_axis(values, order, 1)
    return places, cosines


def coverage(table: Table) -> Lookup:
    """Return the lookup by coverage for a table; vectors of its own texts find themselves."""
    index = _Index(table.texts)
    covered: Flags = np.zeros((table.L, len(table)), dtype=bool)
    for address in range(table.L):
        for text in table.group(address):
            covered[address, index.found(text, FOUND)] = True

    def look(_: Table, vectors: Singles) -> Ids:
        places, cosines = _nearest(table, vectors, NEAR)
        weights = np.exp((cosines - cosines[:, :1]) / SHARP)
        score = np.zeros((len(vectors), table.L))
        for rank in range(NEAR):
            score += covered[:, places[:, rank]].T * weights[:, rank, None]
        own = table.addresses[places[:, 0]]
        score[np.arange(len(vectors)), own] += 1e-6  # the nearest, where groups are equal
        return np.where(cosines[:, 0] > 1 - 1e-6, own, score.argmax(axis=1))

    return look


def refined(table: Table) -> Table:
    """Return the table with nearer texts in its cells; their own texts are those of before."""
    addresses = table.addresses.copy()
    for track in range(table.k):
        ids = np.flatnonzero(table.tracks == track)
        own, label = np.asarray(table.vectors)[ids], addresses[ids]
        room = np.bincount(label, minlength=table.L)
        for _ in range(_ROUNDS):
            means = np.stack([own[label == a].mean(axis=0) for a in range(table.L)])
            means /= np.linalg.norm(means, axis=1, keepdims=True)
            label = balanced(own @ means.T, room)
        addresses[ids] = label
    return replace(table, addresses=addresses)


def chosen(table: Table, words: int = 24) -> Table:
    """Return the table with texts chosen for what they find in the universe."""
    index = _Index(table.texts)
    near, _ = _nearest(table, np.asarray(table.vectors), NEAR)
    gains = 1 / np.log2(np.arange(2, NEAR + 2))
    known = index.lexical.terms  # Lucene keeps "1.5" and "u.s" whole, which are two words
    spelt = [[w for w in words_of(text) if term_of(w) in known] for text in table.texts]
    idf = np.log(len(table) / np.maximum(index.lexical.frequencies, 1))
    cells = []
    for place in range(table.L * table.k):
        members = table.members(place // table.k, place % table.k)
        aims = np.zeros(len(table), dtype=np.float32)
        for i in members:
            aims[near[i]] += gains
        spelling: dict[str, str] = {}
        weight: dict[str, float] = {}
        for i in members.tolist():
            for word in spelt[i]:
                spelling.setdefault(term_of(word), word)
            for term in dict.fromkeys(map(term_of, spelt[i])):
                weight[term] = weight.get(term, 0.0) + float(idf[known[term]])
        terms = sorted(weight, key=lambda term: (-round(weight[term], 9), term))[:_CANDIDATES]
        picked = _greedy(np.stack([index.row(term) for term in terms]), aims, words)
        cells.append(" ".join(spelling[terms[i]] for i in picked))
    return replace(table, cells=Strings.of(cells), words=words)


def _greedy(rows: Singles, aims: Singles, words: int) -> list[int]:
    """Add the term that brings most of the aims into the list, while none is lost."""
    live = np.flatnonzero(rows.any(axis=0))
    rows, aims = rows[:, live], aims[live]

    def value(scores: Singles) -> float:
        if len(scores) <= _LIST:
            return float(aims.sum())
        return float(aims[np.argpartition(-scores, _LIST - 1)[:_LIST]].sum())

    picked = list(range(min(_START, len(rows))))
    left = list(range(len(picked), len(rows)))
    total = rows[picked].sum(axis=0)
    now = value(total)
    while len(picked) < words and left:
        values = [value(total + rows[i]) for i in left]
        best = int(np.argmax(values))
        if values[best] < now - 1e-6:
            break
        now, total = values[best], total + rows[left[best]]
        picked.append(left.pop(best))
    return picked
