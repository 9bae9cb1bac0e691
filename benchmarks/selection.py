"""Count how often a protected word's near neighbour would have passed as it is.

A bound on words says nothing of two texts of which one has a word protected that the other lets
through. Selection by tags depends on the words, so that such pairs are near; a list does not.
"""

from itertools import islice

import numpy as np

import veil
from veil.corpus.tokens import tokens
from veil.text.select import selector
from veil.text.vectors.embeddings import Embeddings

SELECTIONS = ("pos:NN NNS NNP NNPS JJ JJR JJS", "pos:NN NNS", "content", "all")
NEAREST, QUERIES = 5, 300


def swaps(texts: list[str], space: Embeddings, select: str) -> tuple[int, int]:
    """Return how many swaps of a selected word for a near one pass, and how many were tried."""
    choose = selector(select)
    passing = tried = 0
    for text in texts:
        words = [text[token.start : token.end] for token in tokens(text)]
        ids = [space.id(word) for word in words]
        for place in np.flatnonzero(choose(words)).tolist():
            if ids[place] < 0:
                continue
            near, _ = space.searcher.nearest(space.points(np.array([ids[place]])), NEAREST + 1)
            for other in islice((i for i in near[0].tolist() if i != ids[place]), NEAREST):
                swapped = [*words[:place], space.words[other], *words[place + 1 :]]
                passing += not choose(swapped)[place]
                tried += 1
    return passing, tried


def main() -> None:
    """Print a row for each selection, over queries of the embedded collection."""
    space = veil.load_embeddings("glove-100d")
    queries = list(veil.load_collection("icd10cm").queries.values())
    texts = queries[:: max(1, len(queries) // QUERIES)][:QUERIES]
    for select in SELECTIONS:
        passing, tried = swaps(texts, space, select)
        print(f"{select}: {passing:,} of {tried:,} swaps pass ({passing / tried:.1%})")


if __name__ == "__main__":
    main()
