"""The text of a cell: the words that say most about its members, or its only member."""

import math
from collections import Counter
from collections.abc import Sequence

from veil.core.types import Ids, Singles


def words_of(text: str) -> list[str]:
    """Return the words of a text, in small letters, each once; single letters are none.

    >>> words_of("Type-2 diabetes, DIABETES")
    ['type', 'diabetes']
    """
    spaced = "".join(c if c.isalnum() else " " for c in text.casefold())
    return list(dict.fromkeys(word for word in spaced.split() if len(word) > 1))


class Naming:
    """Names cells of one universe."""

    def __init__(self, texts: Sequence[str], vectors: Singles, words: int) -> None:
        self._texts, self._vectors, self._most = texts, vectors, words
        self._words = [words_of(text) for text in texts] if words else []
        seen = Counter(word for each in self._words for word in each)
        self._idf = {word: math.log(len(texts) / count) for word, count in seen.items()}

    def name(self, ids: Ids) -> str:
        """Return the words of the cell with the largest sum of idf over its members.

        A member that is alone stands for itself if it is no longer than that; with `words` 0 the
        member nearest to the mean of all does.
        """
        if not self._most:
            middle = self._vectors[ids].mean(axis=0)
            return self._texts[int(ids[int((self._vectors[ids] @ middle).argmax())])]
        if len(ids) == 1 and len(self._words[int(ids[0])]) <= self._most:
            return self._texts[int(ids[0])]
        weights: Counter[str] = Counter()
        for i in ids.tolist():
            for word in self._words[i]:
                weights[word] += self._idf[word]  # type: ignore[assignment]  # a float
        best = sorted(weights, key=lambda word: (-round(weights[word], 9), word))
        return " ".join(best[: self._most]) or self._texts[int(ids[0])]
