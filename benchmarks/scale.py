"""Print what size costs: a million documents, the speed of encoders, and FEA on a large index.

Each measurement runs in a process of its own, so that its memory is its own, too.
"""

import gzip
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.report import Report, best

import veil
from veil.corpus.collection import Collection, Document, Documents
from veil.data.fetch import cache_folder

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".benchmarks"
LOG = HERE.parents[1] / "shared" / "data" / "logs" / "web-queries.txt.gz"
MILLION, LARGE = 1_000_000, 100_000


def short_texts() -> Iterator[str]:
    """Give short texts without end: real queries when at hand, joined in ever new pairs."""
    if LOG.is_file():
        with gzip.open(LOG, "rt", encoding="utf-8") as lines:
            texts = [line.strip() for line in lines]
    else:
        texts = list(veil.load_collection("icd10cm").log)
    yield from texts
    for shift in itertools.count(1):
        for i, text in enumerate(texts):
            yield f"{text} {texts[(i + 7919 * shift) % len(texts)]}"


def documents(count: int) -> Documents:
    """Pack that many short documents."""
    texts = itertools.islice(short_texts(), count)
    return Documents.of(Document(str(i), "", text) for i, text in enumerate(texts))


def million() -> dict[str, float]:
    """Index a million short documents and search them."""
    with tempfile.TemporaryDirectory(prefix="veil-") as scratch:
        started = time.perf_counter()
        made = Collection("million", documents(MILLION)).save(Path(scratch) / "idx")
        made.lexical()
        built = time.perf_counter() - started
        started = time.perf_counter()
        engine = veil.engine(f"bm25(index={made.home})")
        opened = time.perf_counter() - started
        queries = [veil.declassify(t) for t in itertools.islice(short_texts(), 5000, 5100)]
        answered = best(lambda: engine.search(queries, 100)) / len(queries)
    return {"built": built, "opened": opened, "answered": answered}


def encoders() -> dict[str, float]:
    """Encode queries and documents; texts per second."""
    queries = list(itertools.islice(short_texts(), 2000))
    long = [" ".join(queries[i : i + 20]) for i in range(0, 2000, 5)]
    rates: dict[str, float] = {}
    for spec in ("minilm", "minilm(precision=int8)", "wordllama"):
        model = veil.encoder(spec)
        for name, texts in (("queries", queries), ("documents", long)):
            rates[f"{spec} {name}"] = len(texts) / best(partial(model.encode, texts), 2)
    return rates


def fea() -> dict[str, float]:
    """Make 20 variants of each of 20 queries by FEA, on 100,000 short documents."""
    folder = cache_folder() / "benchmarks" / "large"
    if not folder.is_dir():
        Collection("large", documents(LARGE)).save(folder).lexical()
    mechanism = veil.mechanism(f"fea(index={folder})")
    queries = list(itertools.islice(short_texts(), LARGE // 2, LARGE // 2 + 20))
    veil.protect(queries[:1], mechanism, None, 20)
    times = []
    for query in queries:
        started = time.perf_counter()
        veil.protect([query], mechanism, None, 20)
        times.append(time.perf_counter() - started)
    return {"mean": sum(times) / len(times), "worst": max(times)}


PARTS = {"million": million, "encoders": encoders, "fea": fea}


def _apart(part: str) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", part]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Run all measurements and print a table; with a name, run that one and print JSON."""
    if len(sys.argv) > 1:
        figures = PARTS[sys.argv[1]]()
        figures["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps(figures))
        return
    WORK.mkdir(exist_ok=True)
    report = Report()
    found = _apart("million")
    report.add("1,000,000 short documents: indexed and saved", f"{found['built']:.0f} s")
    report.add("1,000,000 short documents: peak memory", f"{found['peak']:.1f} GB", "8 GB")
    report.add("1,000,000 short documents: index opened", f"{found['opened']:.1f} s")
    report.add("1,000,000 short documents: bm25", f"{1000 * found['answered']:.1f} ms a query")
    for name, rate in _apart("encoders").items():
        if name != "peak":
            report.add(f"encoder {name}", f"{rate:,.0f} texts/s")
    found = _apart("fea")
    figure = f"{found['mean']:.2f} s a query, worst of 20 {found['worst']:.2f} s"
    report.add("fea on 100,000 short documents, 20 variants", figure, "1 s")
    table = report.table()
    (WORK / "scale.md").write_text(table + "\n", encoding="utf-8")
    print(f"\n{table}")


if __name__ == "__main__":
    main()
