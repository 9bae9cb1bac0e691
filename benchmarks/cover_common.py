"""What the benchmarks of cover have in common: an engine with vectors, tables, figures.

A list of a table's group is the union of what its k texts find, ordered by the true query with
minilm; risk is exact, over all queries that count as plausible.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import veil
from veil.core.estimate import bootstrap, compare
from veil.corpus.collection import Collection, Document, Documents
from veil.corpus.logs import read_log
from veil.corpus.tokens import fold_text
from veil.cover import Table, build, exact_risk
from veil.encoders.catalogue import encoder
from veil.encoders.vectors import document_vectors
from veil.measures.effectiveness import effectiveness
from veil.search.rerank import cheap_scores
from veil.text.log import QueryLog

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Singles = NDArray[np.float32]
Lookup = Callable[[Table, Singles], Ids]

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".benchmarks"
SHARED = HERE.parents[1] / "shared" / "data"
DEPTH, MODEL = 100, "minilm"


def vectors_of(texts: Sequence[str], collection: Collection | None = None) -> Singles:
    """Return the vectors of texts, computed once and kept in the cache folder."""
    folder = collection.vectors_folder if collection else None
    found = document_vectors(texts, encoder(MODEL), folder)
    return np.asarray(found.vectors, dtype=np.float32)


def nearest(table: Table, vectors: Singles) -> Ids:
    """Look vectors up: the address (n,) of the nearest text; one of the universe finds itself."""
    out = np.empty(len(vectors), dtype=np.int64)
    for start in range(0, len(vectors), 1024):
        near = vectors[start : start + 1024] @ table.vectors.T
        out[start : start + 1024] = table.addresses[near.argmax(axis=1)]
    return out


@dataclass(frozen=True, eq=False)
class Field:
    """A collection behind bm25, with judged queries and all vectors."""

    collection: Collection
    names: tuple[str, ...]
    documents: Singles
    queries: Singles
    _lists: dict[tuple[str, int], Ids] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, collection: Collection, names: Sequence[str] | None = None) -> "Field":
        """Open a collection; queries with a relevant document, unless they are named."""
        chosen = tuple(names if names is not None else judged(collection))
        return cls(
            collection,
            chosen,
            vectors_of(collection.documents.passages, collection),
            query_vectors([collection.queries[name] for name in chosen]),
        )

    def find(self, text: str, depth: int = DEPTH) -> Ids:
        """Return the places of the documents that a text finds."""
        if (text, depth) not in self._lists:
            engine = veil.engine("bm25", self.collection)
            found = engine.search([veil.declassify(text)], depth).list(0)
            places = self.collection.remember("places", self._places)
            self._lists[text, depth] = np.array([places[item] for item in found], dtype=np.int64)
        return self._lists[text, depth]

    def _places(self) -> dict[str, int]:
        return {item: place for place, item in enumerate(self.collection.documents.ids)}

    def pool(self, texts: Iterable[str], depth: int = DEPTH) -> Flags:
        """Return which documents (n,) a group of texts finds."""
        out = np.zeros(len(self.documents), dtype=bool)
        for text in texts:
            out[self.find(text, depth)] = True
        return out

    def ndcg(self, pools: Sequence[Flags], letters: float = 0.0) -> Floats:
        """Return nDCG@10 (n,) of one pool per query, ordered by the true query.

        With `letters`, what a passage shares with it counts beside the cosine.
        """
        lists = []
        for pool, query, name in zip(pools, self.queries, self.names, strict=True):
            places = np.flatnonzero(pool)
            scores = (self.documents[places] @ query).astype(np.float64)
            if letters and len(places):
                passages = [self.collection.documents.passages[int(i)] for i in places]
                cheap = cheap_scores(self.collection.queries[name], passages)
                scores += letters * scores.std() * cheap
            best = places[np.argsort(-scores, kind="stable")[:10]]
            lists.append([self.collection.documents.ids[int(i)] for i in best])
        return effectiveness(self.collection.judgements, self.names, lists)["nDCG@10"]

    def plain(self, depth: int = DEPTH, letters: float = 0.0) -> Floats:
        """Return nDCG@10 of the queries as they are."""
        texts = [self.collection.queries[name] for name in self.names]
        return self.ndcg([self.pool([text], depth) for text in texts], letters)

    def covered(
        self,
        table: Table,
        lookup: Lookup = nearest,
        depth: int = DEPTH,
        letters: float = 0.0,
    ) -> Floats:
        """Return nDCG@10 with the groups of a table."""
        return self.ndcg(self._pools(table, lookup, depth), letters)

    def as_deep(
        self,
        table: Table,
        lookup: Lookup = nearest,
        depth: int = DEPTH,
        letters: float = 0.0,
    ) -> Floats:
        """Return nDCG@10 of the queries as they are, with as many documents as their group finds.

        It is the fair baseline: `plain` orders `depth` of them, a group of 20 texts up to 20 times
        as many.
        """
        depths = [int(pool.sum()) for pool in self._pools(table, lookup, depth)]
        texts = [self.collection.queries[name] for name in self.names]
        pools = [self.pool([text], most) for text, most in zip(texts, depths, strict=True)]
        return self.ndcg(pools, letters)

    def _pools(self, table: Table, lookup: Lookup, depth: int) -> list[Flags]:
        """Return what the group of each query finds."""
        addresses = lookup(table, self.queries).tolist()
        pools = {a: self.pool(table.group(a), depth) for a in set(addresses)}
        return [pools[a] for a in addresses]


def judged(collection: Collection) -> list[str]:
    """Return the queries that have a relevant document."""
    grades = collection.judgements
    return [name for name in collection.queries if any(g > 0 for g in grades[name].values())]


def audited(names: Sequence[str], wanted: int = 80) -> list[str]:
    """Return the queries that an audit takes of these, evenly."""
    return [names[i * len(names) // wanted] for i in range(min(wanted, len(names)))]


def active(table: Table, candidates: Singles, lookup: Lookup = nearest) -> float:
    """Return how often ten guesses are right, if each candidate is equally likely."""
    return exact_risk(lookup(table, candidates))


def active_of(
    table: Table, queries: Singles, candidates: Singles, lookup: Lookup = nearest
) -> float:
    """Return how often ten guesses are right for these queries.

    The candidates hold these queries. They may lie where few others are: then this is more than
    `active`, which draws the query from the candidates.
    """
    sizes = np.bincount(lookup(table, candidates), minlength=table.L)
    return float(np.minimum(1.0, 10 / sizes[lookup(table, queries)]).mean())


def shown(values: Floats) -> str:
    """Write a mean with its interval."""
    mean = bootstrap(values)
    return f"{mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def gain(values: Floats, than: Floats) -> str:
    """Write a paired difference with its interval."""
    found = compare(values, than)
    gap = found.difference
    return f"{gap:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}], p {found.p_value:.3f}"


def table_of(
    texts: Sequence[str], vectors: Singles, tracks: int = 20, cell: int = 10, words: int = 24
) -> Table:
    """Build a table of distinct texts with their vectors."""
    keys: dict[str, int] = {}
    for place, text in enumerate(texts):
        if any(map(str.isalnum, text)):
            keys.setdefault(fold_text(text), place)
    places = list(keys.values())
    return build([texts[i] for i in places], tracks, cell, words, MODEL, vectors=vectors[places])


def web_log(size: int = 50_000) -> list[str] | None:
    """Return every second of an even `size` of the shared log, or None where it is not at hand."""
    path = SHARED / "logs" / "web-queries.txt.gz"
    if not path.is_file():
        return None
    log = QueryLog.of(read_log(path))
    return [log.texts[i * len(log) // size] for i in range(0, size, 2)]


def plausible(log: Sequence[str], vectors: Singles, engine: Field) -> Singles:
    """Return the vectors of all queries that may be asked: a log, and the judged ones it lacks."""
    known = {fold_text(text) for text in log}
    texts = [engine.collection.queries[name] for name in engine.names]
    lacking = [i for i, text in enumerate(texts) if fold_text(text) not in known]
    return np.concatenate([vectors, engine.queries[lacking]])


def shared(name: str) -> Collection | None:
    """Open a shared collection, or say that it is not at hand."""
    folder = SHARED / "collections" / name
    if not folder.is_dir():
        print(f"  (the shared collection {name} is not at hand)")
        return None
    return veil.load_collection(str(folder))


def query_vectors(texts: Sequence[str]) -> Singles:
    """Return the vectors of queries."""
    return encoder(MODEL).encode(list(texts), "query")


def together(parts: Sequence[Collection]) -> Collection:
    """Return several collections as one engine; names are kept apart by the part they are of."""
    rows, queries, grades = [], {}, {}
    for number, part in enumerate(parts):
        documents = part.documents
        for item, title, text in zip(
            documents.ids, documents.titles, documents.texts, strict=True
        ):
            rows.append(Document(f"{number}:{item}", title, text))
        for name, text in part.queries.items():
            queries[f"{number}:{name}"] = text
            found = part.judgements.get(name, {})
            grades[f"{number}:{name}"] = {f"{number}:{item}": g for item, g in found.items()}
    return Collection("+".join(part.name for part in parts), Documents.of(rows), queries, grades)
