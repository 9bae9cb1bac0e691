"""Print what cover keeps of plain search for open-domain queries, by what its universe is.

DL'19 pool and NFCorpus, bm25, 20 requests, re-ranked by minilm. Plausible are 25,000 queries of
the shared log, and the judged ones; no universe but the last holds a judged query. Universes: a
tenth of the engine's passages, its titles, the nouns of WordNet with what they mean, half of the
log, and all of it together with the judged queries. Risk is exact: of a query drawn from the
plausible ones, and of the judged queries, which lie where the collection is and the others may
not be.
"""

import argparse
from collections.abc import Iterator

import numpy as np
from benchmarks.cover_common import (
    WORK,
    Field,
    Singles,
    active,
    active_of,
    audited,
    gain,
    judged,
    plausible,
    shared,
    shown,
    table_of,
    vectors_of,
    web_log,
)
from benchmarks.report import Report

from veil.corpus.tokens import fold_text
from veil.cover import Universe, read_universe

GROUPS = 60
MOST = {"dl19-pool": 0, "nfcorpus": 80}  # queries; 0 takes all
TARGETS = {
    ("dl19-pool", "a tenth of the passages"): "0.601 [0.506, 0.693]",
    ("dl19-pool", "titles"): "0.597 [0.514, 0.675]",
    ("dl19-pool", "wordnet"): "more than 0.427",
    ("dl19-pool", "half of the log"): "0.407 / 0.376 (12 / 24 words)",
}


def universes(
    engine: Field, log: list[str], vectors: Singles, nouns: int
) -> Iterator[tuple[str, list[str], Singles]]:
    """Give the texts of each universe, with their vectors."""
    passages = engine.collection.documents.passages
    tenth = np.arange(0, len(passages), 10)
    texts = [passages[int(i)] for i in tenth]
    yield "a tenth of the passages", texts, engine.documents[tenth]
    documents = engine.collection.documents
    both = zip(documents.titles, documents.texts, strict=True)
    titles = [title or " ".join(text.split()[:10]) for title, text in both]
    yield "titles", titles, vectors_of(titles)
    if nouns:
        universe: Universe = read_universe("wordnet")
        universe = universe.sampled(min(1.0, nouns / len(universe)))
        glosses = list(universe.texts)
        yield "wordnet", glosses, vectors_of(glosses)
    asked = {fold_text(engine.collection.queries[query]) for query in engine.names}
    half = [i for i in range(0, len(log), 2) if fold_text(log[i]) not in asked]
    yield "half of the log", [log[i] for i in half], vectors[half]
    texts = [engine.collection.queries[query] for query in engine.names]
    rest = [i for i in range(len(log)) if fold_text(log[i]) not in asked]
    near = np.concatenate([vectors[rest], engine.queries])
    yield "the whole log, the judged queries in it", [*(log[i] for i in rest), *texts], near


def measure(report: Report, name: str, nouns: int, words: tuple[int, ...]) -> None:
    """Print a row per universe and length of the texts."""
    collection, log = shared(name), web_log()
    if collection is None or log is None:
        return
    names = judged(collection)
    engine = Field.of(collection, audited(names, MOST[name]) if MOST[name] else names)
    vectors = vectors_of(log)
    candidates = plausible(log, vectors, engine)
    plain = engine.plain()
    report.add(f"{name}, {len(engine.names)} queries: plain", shown(plain))
    for what, texts, near in universes(engine, log, vectors, nouns):
        cell = max(1, len(texts) // (20 * GROUPS))
        for most in words:
            table = table_of(texts, near, cell=cell, words=most)
            found, deep = engine.covered(table), engine.as_deep(table)
            report.add(
                f"{name}: {what} (n {len(table):,}, cells of {cell}, L {table.L}, {most} words)",
                f"{shown(found)}, active {active(table, candidates):.3f}"
                f" ({active_of(table, engine.queries, candidates):.3f} of these queries);"
                f" against plain {gain(found, plain)};"
                f" plain as deep {shown(deep)}, against it {gain(found, deep)}",
                TARGETS.get((name, what), ""),
            )


def main() -> None:
    """Run all measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="dl19-pool, nfcorpus  [default: both]")
    parser.add_argument("--nouns", type=int, default=40_000, help="of WordNet; 0 leaves it out")
    parser.add_argument("--words", type=int, nargs="+", default=[12, 24], help="of a text")
    options = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    report = Report()
    print("nDCG@10 [95 % interval]; active risk exact.")
    for name in options.names or MOST:
        measure(report, name, options.nouns, tuple(options.words))
    table = report.table()
    (WORK / "cover_web.md").write_text(table + "\n", encoding="utf-8")
    print(f"\n{table}")


if __name__ == "__main__":
    main()
