"""The query mechanisms as plain loops: everything is listed, nothing is pruned."""

import itertools
import math
from collections.abc import Callable, Sequence


def product(places: Sequence[Sequence[float]]) -> list[tuple[int, ...]]:
    """List all combinations, the largest product first, then by their indices."""
    every = itertools.product(*(range(len(values)) for values in places))
    return sorted(
        every,
        key=lambda chosen: (
            -math.prod(values[i] for values, i in zip(places, chosen, strict=True)),
            chosen,
        ),
    )


def bm25(query: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """Score analysed texts for an analysed query."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        score = 0.0
        for term in query:
            df = sum(term in each for each in texts)
            tf = text.count(term)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            score += idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * len(text) / mean))
        scores.append(round(score, 5))  # the index has single precision
    return scores


def ranking(query: Sequence[str], texts: Sequence[Sequence[str]], k: int) -> list[int]:
    scores = bm25(query, texts)
    found = [i for i, score in enumerate(scores) if score > 0]
    return sorted(found, key=lambda i: (-scores[i], i))[:k]


def ndcg(query: Sequence[str], texts: Sequence[Sequence[str]], targets: Sequence[int]) -> float:
    found = ranking(query, texts, 100)
    gain = sum(1 / math.log2(2 + rank) for rank, each in enumerate(found) if each in targets)
    return gain / sum(1 / math.log2(2 + rank) for rank in range(len(targets)))


def pmi(query: Sequence[str], texts: Sequence[Sequence[str]], targets: Sequence[int]) -> float:
    hits = {i for i, text in enumerate(texts) if set(query) <= set(text)}
    return math.log(len(hits & set(targets)) * len(texts) / (len(hits) * len(targets)))


def keyqueries(
    query: Sequence[str],
    spelt: Sequence[Sequence[str]],
    term: Callable[[str], str],
    forbidden: set[str],
    *,
    window: int,
    longest: int,
    targets: int,
    score: Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[int]], float],
) -> list[tuple[float, str]]:
    """List every candidate of every window with its score, the best first."""
    texts = [[term(word) for word in words] for words in spelt]
    aims = ranking(query, texts, targets)
    found: dict[frozenset[str], tuple[int, tuple[int, ...], str]] = {}
    for rank, aim in enumerate(aims):
        for start in range(len(texts[aim])):
            places = range(start, min(start + window, len(texts[aim])))
            for count in range(1, longest + 1):
                for chosen in itertools.combinations(places, count):
                    terms = frozenset(texts[aim][place] for place in chosen)
                    if len(terms) < count or terms & forbidden:
                        continue
                    words = " ".join(spelt[aim][place] for place in chosen)
                    this = (rank, chosen, words)
                    found[terms] = min(found.get(terms, this), this)
    scored = [
        (round(score(sorted(terms), texts, aims), 4), words)
        for terms, (_, _, words) in found.items()
    ]
    return sorted(scored, key=lambda each: (-each[0], len(each[1].split()), each[1]))
