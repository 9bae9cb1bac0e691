"""Print what re-ranking in a cascade costs in nDCG@10, and what it takes in seconds.

Of 20 requests with 100 results each, all that came back is re-ranked by minilm, or the best of
it by the cheap order, alone or with letters that count, as in `veil search`: the same lists, query
by query, against all of it by minilm alone. Requests are those of cmp(epsilon=7.5), and
those of a search under cover: the text of a public list that is nearest to the query, and 19
others that have nothing to do with it. The collections are those in
``../shared/data/collections`` that are at hand, and the embedded one; their vectors are computed
once, which takes minutes.

The seconds are those of a search whose engine returns 2,000 passages that nobody has seen.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from pathlib import Path

import numpy as np
from benchmarks.report import Report

import veil
from veil.core.estimate import compare
from veil.core.types import Encoder, Engine, Ranking, Released, Role, Singles
from veil.encoders.catalogue import encoder
from veil.encoders.vectors import DocumentVectors, document_vectors
from veil.measures.effectiveness import effectiveness
from veil.search.engines.engine import Hit, ranking
from veil.search.pipeline import ask, reciprocal_rank, release
from veil.search.rerank import LEAST, LETTERS, POOL, Reranker, cheap_order
from veil.text.vectors import catalogue
from veil.text.vectors.embeddings import Embeddings

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "collections"
NAMES = ("dl19-pool", "nfcorpus")
POOLS = (LEAST, 50, POOL, 200)
SIZE, DEPTH, SEED = 20, 100, 20261118
EVERYTHING = 1_000_000
NEW, WORDS = 2_000, 44  # passages, and words of each: about a hundred tokens
QUERY = "causes of left ventricular hypertrophy"

Sent = Callable[[str], Sequence[Released] | None]


@dataclass
class LookedUp:
    """An encoder that looks passages up: what a re-ranker would compute is computed before."""

    model: Encoder
    rows: dict[str, Singles]
    passages: int = 0

    @property
    def key(self) -> str:
        """Name of the model."""
        return self.model.key

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self.model.dim

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Return vectors, and count passages."""
        if role == "query":
            return self.model.encode(texts, role)
        self.passages += len(texts)
        return np.stack([self.rows[text] for text in texts])


def by_cmp(space: Embeddings) -> Sent:
    """Send variants of the words of a query."""
    mechanism, rng = veil.mechanism("cmp(epsilon=7.5)"), np.random.default_rng(SEED)

    def sent(query: str) -> Sequence[Released] | None:
        try:
            return release(query, mechanism, space, SIZE, rng=rng)[0]
        except veil.InputError:
            return None

    return sent


def under_cover(collection: veil.Collection, known: DocumentVectors, model: Encoder) -> Sent:
    """Send the nearest text of a public list, and others: half of the log, or of the passages."""
    texts, vectors = list(collection.documents.passages)[::2], known.vectors[::2]
    if collection.log:
        asked = set(collection.queries.values())
        texts = [text for text in collection.log if text not in asked][::2]
        vectors = document_vectors(texts, model).vectors
    rng = np.random.default_rng(SEED)

    def sent(query: str) -> Sequence[Released]:
        near = int((vectors @ model.encode([query], "query")[0]).argmax())
        chosen = [near, *rng.choice(len(texts), SIZE - 1, replace=False).tolist()]
        return [veil.declassify(texts[i]) for i in chosen]

    return sent


def fused(engine: Engine, sent: Sequence[Released] | None) -> Ranking | None:
    """Ask, and put the lists into one."""
    found = None if sent is None else reciprocal_rank(engine.search(sent, DEPTH))
    return found if found is not None and found.list(0) else None


def quality(report: Report, name: str, most: int) -> None:
    """Print nDCG@10 of everything re-ranked, and what a pool changes, query by query."""
    collection, model = veil.load_collection(name), encoder("minilm")
    known = document_vectors(collection.documents.passages, model, collection.vectors_folder)
    rows = {
        text[:4_000]: vector
        for text, vector in zip(collection.documents.passages, known.vectors, strict=True)
    }
    engine = veil.engine("bm25", collection)
    asked = [query for query in collection.queries if query in collection.judgements][:most]
    for label, sent in {
        "cover": under_cover(collection, known, model),
        "cmp(7.5)": by_cmp(catalogue.load_embeddings("glove-100d")),
    }.items():
        lists = {query: fused(engine, sent(collection.queries[query])) for query in asked}
        found = {query: each for query, each in lists.items() if each is not None}
        union = float(np.mean([len(each.list(0)) for each in found.values()]))

        def values(pool: int, letters: float, found: dict[str, Ranking] = found) -> np.ndarray:
            one = Reranker(LookedUp(model, rows), pool=pool, letters=letters)
            ordered = [
                one.order(collection.queries[query], each).list(0) for query, each in found.items()
            ]
            return effectiveness(collection.judgements, list(found), ordered)["nDCG@10"]

        title, cosine = f"{collection.name}, {label}", values(EVERYTHING, 0)
        report.add(
            f"{title}: all {union:,.0f} re-ranked by minilm",
            f"{cosine.mean():.4f} ({len(found)} queries)",
        )
        for pool, letters in [(EVERYTHING, LETTERS), *product(POOLS, (0.0, LETTERS))]:
            gap = compare(values(pool, letters), cosine).difference
            best = "all" if pool == EVERYTHING else f"the best {pool}"
            report.add(
                f"{title}: {best}{', letters count' if letters else ''}",
                f"{gap:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]",
                "-0.005 or more" if pool == POOL and letters else "",
            )


@dataclass(frozen=True)
class Fresh:
    """An engine that answers with passages that nobody has seen, each of its own words."""

    texts: Iterator[str]
    network: bool = field(default=False)

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Answer each query with `k` new passages."""
        lists = [
            [Hit(f"{row}-{i}", text=text) for i, text in enumerate(islice(self.texts, k))]
            for row, _ in enumerate(queries)
        ]
        return ranking(lists, k)


def seconds(report: Report) -> None:
    """Print how long a search with new passages takes, and where the time goes."""
    collection = veil.load_collection("icd10cm")
    words = " ".join(collection.documents.passages).split()
    starts = cycle(range(0, len(words) - WORDS, 7))
    texts = (" ".join(words[start : start + WORDS]) for start in starts)
    sent = [veil.declassify(f"request {i}") for i in range(SIZE)]
    model = encoder("minilm")
    for times in range(3):  # the first one warms up
        one, engine = Reranker(model, letters=LETTERS), Fresh(texts)
        clock, cpu = time.perf_counter(), time.process_time()
        found, answers = ask(QUERY, sent, engine, DEPTH, one)
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        if not found.list(0) or len(answers.items) != NEW:
            raise SystemExit("The engine did not answer with 2,000 passages.")
        if times:
            report.add(
                f"{NEW:,} new passages of {WORDS} words",
                f"{clock:.2f} s, {cpu:.2f} s of processors",
                "2 s",
            )
    passages = list(islice(texts, NEW))
    start = time.process_time()
    order = cheap_order(QUERY, passages)
    cheap = time.process_time() - start
    start = time.process_time()
    model.encode([passages[i] for i in order[:POOL]])
    costly = time.process_time() - start
    report.add("of it: the cheap order, the model", f"{cheap:.2f} s, {costly:.2f} s of processors")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="collections  [default: all that are at hand]")
    parser.add_argument("--queries", type=int, default=300, help="of each collection, at most")
    options = parser.parse_args()
    if not catalogue.at_hand("glove-100d"):
        sys.exit("glove-100d is not at hand: run 'veil vectors glove-100d' first.")
    report = Report()
    seconds(report)
    chosen = [str(SHARED / name) for name in NAMES if (SHARED / name).is_dir()]
    for name in ["icd10cm", *chosen]:
        if not options.names or Path(name).name in options.names:
            quality(report, name, options.queries)
    print(report.table())


if __name__ == "__main__":
    main()
