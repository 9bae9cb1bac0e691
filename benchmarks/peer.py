"""Measure the speed and memory of the peer package ``pypantera``.

Run by the interpreter of the peer's own virtual environment (see ``setup.txt``).  Nothing of the
peer is copied here: its published classes are imported from ``--target`` and called as they are.
Every mechanism is measured in a process of its own, so that its peak memory is its own; one JSON
object goes to standard output.

Before the timed passes the longest query is obfuscated once: on a virtual machine the first touch
of fresh memory can cost several times what the peer itself does.  What noise remains only slows a
pass down, so the rate given is that of the fastest pass; all passes are under ``detail``.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # read by numpy's libraries when they are loaded, hence before them

import numpy as np  # noqa: E402

PACKAGE = "pypantera"
MECHANISMS: dict[str, tuple[str, str]] = {
    "cmp": ("pypantera.src.EmbeddingPerturbationMechanism.cmp", "CMP"),
    "mahalanobis": ("pypantera.src.EmbeddingPerturbationMechanism.mahalanobis", "Mahalanobis"),
}


def choose_format(vectors: np.ndarray, rows: int = 500) -> str:
    """Find the shortest ``%g`` format which keeps a sample of the vectors exactly.

    Parameters
    ----------
    vectors : numpy.ndarray
        The vectors, one per row, ``float32``.
    rows : int
        How many evenly spaced rows to try.

    Returns
    -------
    str
        A format such as ``"%.5g"``; nine digits keep any ``float32``.
    """
    sample = np.asarray(vectors[:: max(1, len(vectors) // rows)], dtype=np.float32).ravel()
    values = sample.tolist()
    for digits in range(5, 9):
        text = f"%.{digits}g"
        if np.array_equal(np.array([text % value for value in values], dtype=np.float32), sample):
            return text
    return "%.9g"


def write_embeddings(vectors_path: Path, words_path: Path, out_path: Path) -> int:
    """Write vectors and words in the text format the peer reads (that of GloVe).

    Parameters
    ----------
    vectors_path : pathlib.Path
        The ``.npy`` file of the vectors.
    words_path : pathlib.Path
        The words, one per line, in the order of the vectors.
    out_path : pathlib.Path
        The file to write: one line per word, the word and its values separated by spaces.

    Returns
    -------
    int
        The number of words written.

    Raises
    ------
    ValueError
        If the numbers of words and vectors differ, or a word is empty or has white space in it.
    """
    vectors = np.load(vectors_path, mmap_mode="r", allow_pickle=False)
    words = words_path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    if len(words) != len(vectors):
        raise ValueError(f"{len(words)} words but {len(vectors)} vectors")
    if any(word.split() != [word] for word in words):
        raise ValueError("a word is empty or has white space in it: the peer cannot read it")
    line = "%s " + " ".join([choose_format(vectors)] * vectors.shape[1]) + "\n"
    step = 8192
    with out_path.open("w", encoding="utf-8") as out:
        for start in range(0, len(words), step):
            block = vectors[start : start + step].tolist()
            names = words[start : start + step]
            out.writelines(line % (name, *row) for name, row in zip(names, block, strict=True))
    return len(words)


def read_queries(path: Path, words_limit: int) -> list[tuple[str, str]]:
    """Read the first queries, until they have enough words.

    Parameters
    ----------
    path : pathlib.Path
        A file with an identifier, a tab and a text on every line.
    words_limit : int
        The least number of words (split at white space, as the peer does) to gather.

    Returns
    -------
    list of tuple of str
        Pairs of an identifier and a text.

    Raises
    ------
    ValueError
        If the file has fewer words than asked for.
    """
    queries: list[tuple[str, str]] = []
    count = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            identifier, _, text = line.rstrip("\n").partition("\t")
            if not text.split():
                continue
            queries.append((identifier, text))
            count += len(text.split())
            if count >= words_limit:
                return queries
    raise ValueError(f"{path} has only {count} words, {words_limit} were asked for")


def peer_version(target: Path) -> str | None:
    """Read the version of the peer from the metadata its wheel brought along.

    Parameters
    ----------
    target : pathlib.Path
        The directory which holds ``pypantera``.

    Returns
    -------
    str or None
        The version, or None where there is no metadata.
    """
    for found in importlib.metadata.distributions(path=[str(target / PACKAGE)]):
        if found.metadata["Name"] == PACKAGE:
            return found.version
    return None


def measure(
    name: str,
    target: Path,
    embeddings: Path,
    queries: list[tuple[str, str]],
    epsilon: float,
    lam: float,
    repeats: int,
) -> dict[str, Any]:
    """Load one mechanism of the peer and obfuscate the queries, timing both.

    Parameters
    ----------
    name : str
        A key of `MECHANISMS`.
    target : pathlib.Path
        The directory which holds ``pypantera``.
    embeddings : pathlib.Path
        The text file of the embeddings.
    queries : list of tuple of str
        Pairs of an identifier and a text.
    epsilon : float
        The privacy parameter.
    lam : float
        The mixing parameter of the Mahalanobis mechanism; 1 is the peer's default.
    repeats : int
        How often to go through the queries.

    Returns
    -------
    dict
        The seconds of loading, of the warm-up and of every pass, the words of a pass, the words
        of the vocabulary the peer holds, and the peak memory of this process and of the largest
        of the peer's loading processes.
    """
    sys.path.insert(0, str(target))
    pandas = importlib.import_module("pandas")
    module, attribute = MECHANISMS[name]
    factory = getattr(importlib.import_module(module), attribute)
    arguments: dict[str, Any] = {"embPath": str(embeddings), "epsilon": epsilon}
    if name == "mahalanobis":
        arguments["lam"] = lam

    start = time.perf_counter()
    mechanism = factory(arguments)
    load_seconds = time.perf_counter() - start

    np.random.seed(0)  # noqa: NPY002 - the peer draws from numpy's global generator
    longest = max(queries, key=lambda query: len(query[1].split()))
    start = time.perf_counter()
    mechanism.obfuscateText(pandas.DataFrame([longest], columns=["id", "text"]), 1)
    warm_up_seconds = time.perf_counter() - start
    seconds: list[float] = []
    for _ in range(repeats):
        frame = pandas.DataFrame(queries, columns=["id", "text"])  # the peer changes its argument
        start = time.perf_counter()
        result = mechanism.obfuscateText(frame, 1)
        seconds.append(time.perf_counter() - start)
        for (_, text), variants in zip(queries, result["obfuscatedText"], strict=True):
            if len(variants) != 1 or len(variants[0].split()) != len(text.split()):
                raise RuntimeError(f"unexpected output of the peer: {variants!r} for {text!r}")

    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loader = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {
        "load_seconds": load_seconds,
        "warm_up_seconds": warm_up_seconds,
        "seconds": seconds,
        "words": sum(len(text.split()) for _, text in queries),
        "vocabulary": len(mechanism.vocab.embeddings),
        "peak_rss_mb": own / 1024,  # Linux counts in KiB
        "largest_loader_rss_mb": loader / 1024,
    }


def measure_apart(name: str, embeddings: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Run `measure` in a process of its own.

    Parameters
    ----------
    name : str
        A key of `MECHANISMS`.
    embeddings : pathlib.Path
        The text file of the embeddings.
    args : argparse.Namespace
        The arguments of the script.

    Returns
    -------
    dict
        What `measure` returns, or ``{"error": reason}``.
    """
    command = [sys.executable, str(Path(__file__).resolve()), "--embeddings", str(embeddings)]
    command += ["--target", str(args.target), "--queries", str(args.queries)]
    command += ["--epsilon", str(args.epsilon), "--words-limit", str(args.words_limit)]
    command += ["--lam", str(args.lam), "--repeats", str(args.repeats), "--mechanisms", name]
    environment = dict(os.environ, PYTHONUTF8="1")  # the peer opens its file without an encoding
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=args.timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no result within {args.timeout:g} s"}
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"error": f"exit status {done.returncode}: {last[0]}"}
    try:
        result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {"error": f"unreadable output: {done.stdout[-200:]!r}"}
    return result


def summarise(
    results: dict[str, dict[str, Any]], version: str | None, queries: list[tuple[str, str]]
) -> dict[str, Any]:
    """Bring the results of the mechanisms into the object to print.

    Parameters
    ----------
    results : dict
        What `measure_apart` returned for every mechanism.
    version : str or None
        The version of the peer.
    queries : list of tuple of str
        The queries which were obfuscated.

    Returns
    -------
    dict
        The version, the shortest loading time, the highest peak memory, and the words per second
        of every mechanism in its fastest pass (None if it failed, the reason then under
        ``errors``).
    """
    good = {name: result for name, result in results.items() if "error" not in result}
    rates: dict[str, float | None] = dict.fromkeys(results)
    for name, result in good.items():
        rates[name] = round(result["words"] / min(result["seconds"]), 3)
    loads = [result["load_seconds"] for result in good.values()]
    peaks = [result["peak_rss_mb"] for result in good.values()]
    return {
        "version": version,
        "load_seconds": round(min(loads), 2) if loads else None,
        "peak_rss_mb": round(max(peaks), 1) if peaks else None,
        "words_per_second": rates,
        "errors": {name: r["error"] for name, r in results.items() if "error" in r},
        "sample": {
            "queries": len(queries),
            "words": sum(len(text.split()) for _, text in queries),
            "longest_query": max(len(text.split()) for _, text in queries),
        },
        "detail": good,
    }


def parse_arguments() -> argparse.Namespace:
    """Read the command line.

    Returns
    -------
    argparse.Namespace
        The arguments.
    """
    parser = argparse.ArgumentParser(description="Measure the peer package pypantera.")
    parser.add_argument("--target", type=Path, required=True, help="directory above pypantera")
    parser.add_argument("--vectors", type=Path, help=".npy file of the vectors")
    parser.add_argument("--words", type=Path, help="words, one per line")
    parser.add_argument("--queries", type=Path, required=True, help="identifier TAB text")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--lam", type=float, default=1.0, help="of Mahalanobis; the peer's is 1")
    parser.add_argument("--words-limit", type=int, default=12, help="words of a pass, at least")
    parser.add_argument("--repeats", type=int, default=3, help="timed passes")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds per mechanism")
    parser.add_argument(
        "--mechanisms", nargs="+", choices=sorted(MECHANISMS), default=sorted(MECHANISMS)
    )
    parser.add_argument("--embeddings", type=Path, help=argparse.SUPPRESS)  # in the inner process
    args = parser.parse_args()
    if args.embeddings is None and (args.vectors is None or args.words is None):
        parser.error("--vectors and --words are required")
    if args.words_limit < 1 or args.repeats < 1:
        parser.error("--words-limit and --repeats must be at least 1")
    return args


def main() -> int:
    """Measure the mechanisms asked for and print one JSON object.

    Returns
    -------
    int
        The exit status: 0, or 1 if no mechanism gave a result.
    """
    args = parse_arguments()
    queries = read_queries(args.queries, args.words_limit)
    if args.embeddings is not None:
        inner = measure(
            args.mechanisms[0],
            args.target.resolve(),
            args.embeddings,
            queries,
            args.epsilon,
            args.lam,
            args.repeats,
        )
        sys.stdout.write(json.dumps(inner) + "\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="peer-") as directory:
        embeddings = Path(directory) / "embeddings.txt"
        write_embeddings(args.vectors, args.words, embeddings)
        results = {name: measure_apart(name, embeddings, args) for name in args.mechanisms}
    summary = summarise(results, peer_version(args.target.resolve()), queries)
    sys.stdout.write(json.dumps(summary) + "\n")
    return 0 if len(summary["errors"]) < len(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
