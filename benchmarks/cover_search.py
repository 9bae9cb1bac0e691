"""Print what cover keeps of plain search on the embedded collection, and as a collection grows.

icd10cm: the universe is half of the log, of which the judged queries are no part, so that every
query is new to the table; both halves are tried. Of the changes in `cover_better` all three
together were chosen beforehand, on other terms of the log; the rest are rows to compare, whose
p-values are not corrected for their number. "Letters count": results are put in order as `veil
search` does it, with a weight that was chosen on NFCorpus and DL'19, for plain search, too. Then
the shared collections as one growing engine, with a tenth of its passages as the universe. Risk is
exact: ten guesses of who knows everything but the query.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from benchmarks.cover_better import chosen, coverage, refined
from benchmarks.cover_common import (
    DEPTH,
    WORK,
    Field,
    Floats,
    active,
    active_of,
    audited,
    gain,
    judged,
    nearest,
    plausible,
    query_vectors,
    shared,
    shown,
    table_of,
    together,
    vectors_of,
    web_log,
)
from benchmarks.report import Report

import veil
from veil.corpus.collection import Collection
from veil.search.rerank import LETTERS

GROWING = ("dl19-pool", "nfcorpus", "cranfield", "med")
GROUPS = 70  # that the table keeps while the collection grows


def embedded(report: Report) -> None:
    """Both halves of the log as universes, with and without the two changes."""
    collection = veil.load_collection("icd10cm")
    names = judged(collection)
    audit = set(audited(names))
    parts = {
        "the 220": Field.of(collection, [name for name in names if name not in audit]),
        "the audit's 80": Field.of(collection, [name for name in names if name in audit]),
    }
    log = list(collection.log)
    vectors = vectors_of(log)
    candidates = np.concatenate([vectors, *(part.queries for part in parts.values())])
    for label, part in parts.items():
        report.add(f"icd10cm, {label}: plain", shown(part.plain()))
        report.add(f"icd10cm, {label}: plain, letters count", shown(part.plain(letters=LETTERS)))
    values: dict[tuple[str, str], list[Floats]] = {}
    baselines: dict[tuple[str, str], list[Floats]] = {}  # plain search, as deep
    for half in (0, 1):
        usual = table_of(log[half::2], vectors[half::2])
        better = chosen(refined(usual))
        for what, table, lookup, depth, letters in (
            ("24 words", usual, nearest, DEPTH, 0.0),
            ("24 words, letters count", usual, nearest, DEPTH, LETTERS),
            ("24 words, lookup by coverage", usual, coverage(usual), DEPTH, 0.0),
            ("refined, texts by what they find", better, nearest, DEPTH, 0.0),
            (
                "refined, texts by what they find, lookup by coverage",
                better,
                coverage(better),
                DEPTH,
                0.0,
            ),
            ("24 words, 200 results each", usual, nearest, 2 * DEPTH, 0.0),
        ):
            risk = active(table, candidates, lookup)
            for label, part in parts.items():
                own = active_of(table, part.queries, candidates, lookup)
                found = part.covered(table, lookup, depth, letters)
                values.setdefault((what, label), []).append(found)
                deep = part.as_deep(table, lookup, depth, letters)
                baselines.setdefault((what, label), []).append(deep)
                report.add(
                    f"icd10cm, {label}: half {half}, {what}",
                    f"{shown(found)}, L {table.L}, active {risk:.4f} ({own:.4f} of these queries)",
                )
    for (what, label), several in values.items():
        mean, usual_mean = np.mean(several, axis=0), np.mean(values["24 words", label], axis=0)
        told = "" if what == "24 words" else f"; against 24 words {gain(mean, usual_mean)}"
        target = "0.379 [0.341, 0.418]" if (what, label) == ("24 words", "the 220") else ""
        report.add(f"icd10cm, {label}: mean of the halves, {what}", shown(mean) + told, target)
        deep = np.mean(baselines[what, label], axis=0)
        report.add(f"icd10cm, {label}: plain as deep as {what}", shown(deep))


def growth(report: Report, parts: Sequence[Collection]) -> None:
    """Add collection to collection: the first one's queries, a tenth of all passages."""
    log = web_log()
    if log is None:
        print("  (the shared log is not at hand)")
        return
    asked = vectors_of(log)
    for count in range(1, len(parts) + 1):
        merged = together(parts[:count])
        first = [name for name in judged(merged) if name.startswith("0:")]
        vectors = np.concatenate([vectors_of(p.documents.passages, p) for p in parts[:count]])
        queries = query_vectors([merged.queries[name] for name in first])
        engine = Field(merged, tuple(first), vectors, queries)
        candidates = plausible(log, asked, engine)
        label = f"{merged.name}, {len(vectors):,} documents"
        report.add(f"{label}: plain", shown(engine.plain()))
        for step, what in ((10, "a tenth"), (1, "all")):
            places = np.arange(0, len(vectors), step)
            texts = [merged.documents.passages[int(i)] for i in places]
            for cell in sorted({1, max(1, len(texts) // (20 * GROUPS))}):
                if step == 1 and cell == 1:
                    continue
                table = table_of(texts, vectors[places], cell=cell)
                risk = active(table, candidates)
                own = active_of(table, queries, candidates)
                grown = risk * len(parts[0].documents) / len(vectors)
                report.add(
                    f"{label}: {what} of the passages, cells of {cell}",
                    f"{shown(engine.covered(table))}, plain as deep"
                    f" {shown(engine.as_deep(table))}, L {table.L}, active {risk:.4f} of"
                    f" {len(log):,} plausible queries ({own:.4f} of these queries),"
                    f" {grown:.4f} if they grew as the documents do",
                )


def main() -> None:
    """Run all measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("icd10cm", "growth"), help="one of the two parts")
    only = parser.parse_args().only
    WORK.mkdir(exist_ok=True)
    report = Report()
    print("nDCG@10 [95 % interval]; 20 requests, re-ranked by minilm; active risk exact.")
    if only != "growth":
        embedded(report)
    if only != "icd10cm":
        parts = [part for name in GROWING if (part := shared(name)) is not None]
        if parts:
            growth(report, parts)
    table = report.table()
    (WORK / "cover_search.md").write_text(table + "\n", encoding="utf-8")
    print(f"\n{table}")


if __name__ == "__main__":
    main()
