"""Print how well engines find, without privacy beside published values, and with each mechanism.

nDCG@10 and recall@100 by ir_measures, on the collections in ``../shared/data/collections`` that
are at hand and on the embedded one. With privacy: 20 variants, 100 documents each, re-ranked by
the true query; releases are seeded, so that the figures can be repeated.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import ir_measures
import numpy as np
from benchmarks.report import Report
from ir_measures import R, nDCG

import veil
from veil.core.types import Engine, Ranking
from veil.search.pipeline import search
from veil.search.rerank import Reranker, reranker
from veil.text.vectors import catalogue
from veil.text.vectors.embeddings import Embeddings

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".benchmarks"
SHARED = HERE.parents[1] / "shared" / "data" / "collections"
NAMES = ("nfcorpus", "med", "cranfield", "dl19-pool")
ENGINES = ("bm25", "bm25(k1=0.9, b=0.4)", "tfidf", "dense", "dense(encoder=wordllama)")
PUBLISHED = {
    ("nfcorpus", "bm25"): "0.325 (Lucene, BEIR), within 0.01",
    ("nfcorpus", "bm25(k1=0.9, b=0.4)"): "0.321",
    ("nfcorpus", "dense"): "0.316, within 0.01",
    ("nfcorpus", "dense(encoder=wordllama)"): "0.245",
    ("med", "bm25(k1=0.9, b=0.4)"): "0.668",
    ("med", "dense"): "0.788",
    ("cranfield", "bm25(k1=0.9, b=0.4)"): "0.352",
}
MECHANISMS = (
    "cmp(epsilon=6)",
    "cmp(epsilon=10)",
    "mahalanobis(epsilon=6)",
    "vickrey(epsilon=6)",
    "santext(epsilon=3)",
    "tem(epsilon=3)",
    "custext(epsilon=3)",
    "wbb(k=4, n=15, epsilon=10)",
    "aea(level=3)",
    "fea(window=12)",
)
SIZE, DEPTH, SEED = 20, 100, 20261116
NOTHING = Ranking((), np.empty((1, 0), dtype=np.int64), np.empty((1, 0)))


def scores(
    collection: veil.Collection, names: Sequence[str], lists: Sequence[Ranking]
) -> tuple[float, float]:
    """Return mean nDCG@10 and recall@100 of one list per query."""
    run = {
        name: {item: -float(rank) for rank, item in enumerate(found.list(0))}
        for name, found in zip(names, lists, strict=True)
    }
    judged = {name: collection.judgements[name] for name in names}
    # Queries without any answer count as 0, which ir_measures does for those of the judgements.
    values = ir_measures.calc_aggregate([nDCG @ 10, R @ 100], judged, run)
    return float(values[nDCG @ 10]), float(values[R @ 100])


def plain(collection: veil.Collection, engine: Engine, names: Sequence[str]) -> list[Ranking]:
    """Ask an engine with the queries as they are."""
    found = engine.search([veil.declassify(collection.queries[name]) for name in names], DEPTH)
    return [
        Ranking(found.items, found.index[i : i + 1], found.scores[i : i + 1])
        for i in range(len(names))
    ]


def without_privacy(report: Report, collection: veil.Collection, names: Sequence[str]) -> None:
    """Print a row per engine."""
    for spec in ENGINES:
        engine = veil.engine(spec, collection)
        ndcg, recall = scores(collection, names, plain(collection, engine, names))
        target = PUBLISHED.get((collection.name, spec), "")
        report.add(f"{collection.name}: {spec}", f"{ndcg:.3f} / {recall:.3f}", target)


def with_privacy(
    report: Report, collection: veil.Collection, names: Sequence[str], space: Embeddings
) -> None:
    """Print a row per mechanism, between the re-ranker on the plain list and nothing."""
    engine = veil.engine("bm25", collection)
    chosen = reranker("minilm", engine)
    found = [
        veil.ask(collection.queries[n], [veil.declassify(collection.queries[n])], engine, DEPTH)
        for n in names
    ]
    ndcg, recall = scores(collection, names, found)
    label = f"{collection.name}: bm25, re-ranked by minilm"
    report.add(f"{label}, no privacy", f"{ndcg:.3f} / {recall:.3f}")
    for spec in MECHANISMS:
        results = _private(spec, collection, names, space, engine, chosen)
        lists = [result.ranking if result else NOTHING for result in results]
        ndcg, recall = scores(collection, names, lists)
        pool = sum(len(result.answers.items) for result in results if result) / len(results)
        share = pool / len(collection.documents)
        report.add(
            f"{label}, {spec}", f"{ndcg:.3f} / {recall:.3f}; pool {share:.0%} of the collection"
        )


def _private(
    spec: str,
    collection: veil.Collection,
    names: Sequence[str],
    space: Embeddings,
    engine: Engine,
    chosen: Reranker,
) -> list[veil.SearchResult | None]:
    """Search for each query; None where nothing may be sent."""
    mechanism, rng = veil.mechanism(spec), np.random.default_rng(SEED)
    results: list[veil.SearchResult | None] = []
    for name in names:
        query = collection.queries[name]
        try:
            results.append(
                search(query, mechanism, space, engine, SIZE, DEPTH, reranker=chosen, rng=rng)
            )
        except veil.InputError:
            results.append(None)
    return results


def main() -> None:
    """Run all measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="collections  [default: all that are at hand]")
    options = parser.parse_args()
    if not catalogue.at_hand("glove-100d"):
        sys.exit("glove-100d is not at hand: run 'veil vectors glove-100d' first.")
    space = catalogue.load_embeddings("glove-100d")
    WORK.mkdir(exist_ok=True)
    report = Report()
    print(f"nDCG@10 / recall@100; with privacy {SIZE} variants, {DEPTH} documents each.")
    print("The pool is what came back before re-ranking: where it is much of a small collection,")
    print("the re-ranker finds documents that the variants had little to do with.")
    at_hand = [SHARED / name for name in NAMES if (SHARED / name).is_dir()]
    if not at_hand:
        print("  (the shared collections are not at hand: the embedded one alone)")
    for each in [*at_hand, Path("icd10cm")]:
        if options.names and each.name not in options.names:
            continue
        collection = veil.load_collection(str(each))
        names = [name for name in collection.queries if name in collection.judgements]
        without_privacy(report, collection, names)
        with_privacy(report, collection, names, space)
    table = report.table()
    (WORK / "retrieval.md").write_text(table + "\n", encoding="utf-8")
    print(f"\n{table}")


if __name__ == "__main__":
    main()
