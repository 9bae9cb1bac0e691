"""Print what an engine that knows everything finds if some queries are more popular than others.

The prior is that of real web queries: the weight of a text is the geometric mean of its words'
counts in a log, half a count for a word that the log lacks, halved for each word beyond two.
Words are runs of letters; other ways to count give other figures, which the last rows have. Risk
is exact: the best guesses of who knows table, texts and weights. Blind is the same before anything
is sent. Tables of the embedded catalogue, 20 tracks:

- as it was before popularity was known to the build: one band;
- by default: popularity estimated from public frequencies of words;
- with the counts themselves, and with counts that are off by a factor e^N(0, 1); cells of one
  size.

Then the same for WordNet, where people type one of the names of a thing.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.cover_common import SHARED, WORK, Floats, Singles, vectors_of
from benchmarks.report import Report

from veil.corpus.logs import read_log
from veil.cover import Table, Universe, build, exact_risk, read_universe
from veil.cover.builder import words_of
from veil.cover.popularity import as_counts, geometric_weight, words_in
from veil.cover.universe import names_of

MOST = 2.5  # times blind: what the default tables must keep below
Split = Callable[[str], Sequence[str]]


def counts_in(
    log: Iterable[str], split: Split, names: Iterable[Sequence[str]], *, halved: bool = True
) -> Floats:
    """Weigh texts by the counts of their names' words in a log; the likeliest name counts."""
    seen: Counter[str] = Counter()
    for query in log:
        seen.update(split(query))
    found = {word: count + 0.5 for word, count in seen.items()}

    def weight(words: Sequence[str]) -> float:
        longer = 1.0 if halved else 2.0 ** max(0, len(words) - 2)
        return geometric_weight(words, found, 0.5) * longer

    weights = (max(weight(split(each)) for each in own) for own in names)
    return np.fromiter(weights, dtype=np.float64)


def told(table: Table, weights: Floats) -> str:
    """Write what ten guesses and one find, with the blind ones in brackets."""
    nowhere = np.zeros(len(table), dtype=np.int64)
    ten, first = (exact_risk(table.addresses, guesses, weights) for guesses in (10, 1))
    blind, lazy = (exact_risk(nowhere, guesses, weights) for guesses in (10, 1))
    return (
        f"ten guesses {ten:.3f} (blind {blind:.3f}: {ten / blind:.1f} times), first {first:.3f}"
        f" (blind {lazy:.3f}); L {table.L}, all equally likely {table.risk(prior='equal'):.3f}"
    )


def measure(report: Report, name: str, log: Path) -> None:
    """Print a row per table of a universe that is built in."""
    usual = read_universe(name)
    names = [names_of(text) if name == "wordnet" else [text] for text in usual.texts]
    vectors: Singles = vectors_of(usual.texts)
    weights = counts_in(read_log(log), words_in, names)
    noise = np.exp(np.random.default_rng(1).normal(size=len(weights)))
    plain = replace(usual, popularity="counts")
    universes: dict[str, Universe] = {
        "one band, as before": replace(plain, counts=np.ones_like(usual.counts)),
        "default": usual,
        "counts of the log": replace(plain, counts=as_counts(weights)),
        "counts off by e^N(0, 1)": replace(plain, counts=as_counts(weights * noise)),
        "default, estimates off by e^N(0, 1) more": replace(
            usual, counts=as_counts(usual.counts.astype(np.float64) * noise)
        ),
    }
    default = None
    for what, universe in universes.items():
        table = build(universe, vectors=vectors)
        default = table if what == "default" else default
        target = f"at most {MOST} times" if what == "default" else ""
        report.add(f"{name}, {what}", told(table, weights), target)
    if default is not None:
        own = told(default, default.counts.astype(np.float64))
        report.add(f"{name}, default, by its own estimates", own)
        splits: dict[str, Split] = {
            "words of letters and digits": re.compile(r"[^\W_]+").findall,
            "distinct words of two characters or more": words_of,
        }
        for what, split in splits.items():
            lower = [[each.casefold() for each in own] for own in names]
            other = counts_in(map(str.casefold, read_log(log)), split, lower)
            report.add(f"{name}, default, {what}", told(default, other))
        whole = counts_in(read_log(log), words_in, names, halved=False)
        report.add(f"{name}, default, not halved for each word beyond two", told(default, whole))


def main() -> None:
    """Run all measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="icd10cm, wordnet  [default: icd10cm]")
    parser.add_argument(
        "--log", type=Path, default=SHARED / "logs" / "web-queries.txt.gz", help="of queries"
    )
    options = parser.parse_args()
    if not options.log.is_file():
        parser.exit(1, f"There is no log {options.log}; name one with --log.\n")
    WORK.mkdir(exist_ok=True)
    report = Report()
    for name in options.names or ["icd10cm"]:
        measure(report, name, options.log)
    table = report.table()
    (WORK / "cover_popular.md").write_text(table + "\n", encoding="utf-8")
    print(f"\n{table}")


if __name__ == "__main__":
    main()
