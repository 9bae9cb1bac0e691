"""Variants, runs, judgements and a log of a pipeline of somebody's own, made on the spot."""

from pathlib import Path

import numpy as np
from tests.conftest import make_space

WORDS = make_space(60, 4).words
QUERIES = {f"q{i}": f"{WORDS[3 * i]} {WORDS[3 * i + 1]}" for i in range(12)}


def write_variants(file: Path, mechanism: str, value: float, kept: float) -> None:
    """Write two variants of each query, in which a share of the words is kept."""
    rng = np.random.default_rng(int(100 * kept) + len(mechanism))
    lines = ["id,text,obfuscatedText,mechanism,epsilon"]
    for name, text in QUERIES.items():
        for _ in range(2):
            words = zip(text.split(), rng.random(2) < kept, rng.choice(WORDS, 2), strict=True)
            drawn = [str(word if same else other) for word, same, other in words]
            lines.append(f"{name},{text},{' '.join(drawn)},{mechanism},{value:g}")
    file.write_text("\n".join(lines) + "\n")


def write_run(file: Path, right: int, prefix: str = "q") -> None:
    """Write lists that have the relevant document first for so many queries, and last else."""
    lines = []
    for i in range(12):
        listed = [f"d{i}", "x", "y"] if i < right else ["x", "y", "z"]
        lines += [f"{prefix}{i} Q0 {one} {j} {9 - j} own" for j, one in enumerate(listed)]
    file.write_text("\n".join(lines) + "\n")


def write_pipeline(folder: Path) -> None:
    """Write two mechanisms of two points each, where the second is worse at the same risk."""
    for name in ("variants", "runs"):
        (folder / name).mkdir()
    for mechanism, rights in (("CMP", (4, 11)), ("Mine", (1, 2))):
        for value, kept, right in zip((1, 10), (0.0, 0.9), rights, strict=True):
            stem = f"set_{mechanism}_{value}"
            write_variants(folder / "variants" / f"{stem}.csv", mechanism, value, kept)
            write_run(folder / "runs" / f"{stem}.run", right)
    write_run(folder / "plain.run", 12)
    judged = [f"q{i} 0 d{i} 1" for i in range(11)] + ["q11 0 d11 0"]
    (folder / "qrels.txt").write_text("\n".join(judged) + "\n")
    log = [*QUERIES.values(), *(f"{word} {word}" for word in WORDS)]
    (folder / "log.txt").write_text("\n".join(log[1:]) + "\n")
