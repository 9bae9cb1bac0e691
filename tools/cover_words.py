"""Write the list of frequent words that ships with Veil, from the vocabulary of GloVe.

    python tools/cover_words.py

GloVe 6B (Pennington, Socher and Manning; Wikipedia and Gigaword) is in the public domain (PDDL
1.0), and its files have the most frequent word first. Kept are the first 60,000 words of two
letters or more that have nothing but letters, in that order.
"""

import gzip
from pathlib import Path

from veil.text.vectors.catalogue import load_embeddings

WORDS = 60_000
OUT = Path(__file__).parents[1] / "src" / "veil" / "cover" / "frequent-words.txt.gz"


def main() -> None:
    """Write the list."""
    words = load_embeddings("glove-100d").words
    kept = [word for word in words if len(word) > 1 and word.isalpha()][:WORDS]
    OUT.write_bytes(gzip.compress("\n".join(kept).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
