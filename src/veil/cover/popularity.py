r"""Estimate how often texts are searched, from the public frequencies of their words.

Veil ships no query log, but it ships the 60,000 most frequent words of GloVe's vocabulary,
most frequent first (public domain, PDDL 1.0; written by ``tools/cover_words.py``). The weight
of a text is the geometric mean of its words' frequencies, halved for each word beyond two,
because people type few words:

.. math:: w(t) = 2^{-\max(0, m - 2)} \Bigl(\prod_{i=1}^{m} f(r_i)\Bigr)^{1/m},
   \qquad f(r) = (r + 2.7)^{-3/4}

with the rank r of each of its m words. These are rough estimates: compared with a log of web
queries, the weights are off by a factor of about 2, and ``python -m benchmarks.cover_popular``
prints what that costs.
"""

import gzip
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

import numpy as np

from veil.core.types import Floats, Ids

Popularity = Literal["counts", "words"]
POPULARITIES: tuple[Popularity, ...] = get_args(Popularity)
MEASURED = (
    "The estimates are rough: with the words of real web queries, ten guesses are right in 7.7"
    " % of the cases on the default table, and in 3.9 % before anything is sent."
)
_WORD = re.compile(r"[^\W\d_]+")
_LETTER = 100  # rank of a single letter: frequent in queries, missing from the list
_OFFSET, _POWER = 2.7, 0.75  # of Mandelbrot's law; queries repeat words less than prose does
_FREE = 2  # words of a text; each further word halves its weight
_LARGEST = 10**9  # count of the text with the largest weight


def geometric_weight(words: Sequence[str], frequency: Mapping[str, float], rare: float) -> float:
    """Return the weight of a text with these words; `rare` is the frequency of unknown words.

    >>> geometric_weight(["skin", "cancer", "clinic"], {"skin": 4, "cancer": 16}, 1)
    2.0
    """
    if not words:
        return 0.0
    logs = [math.log(frequency.get(word, rare)) for word in words]
    return round(math.exp(math.fsum(logs) / len(logs)), 12) * 0.5 ** max(0, len(words) - _FREE)


def estimate_counts(texts: Iterable[Sequence[str]]) -> Ids:
    """Estimate how often each text is searched, from 1 to a thousand million.

    Each text is a sequence of names that people might type; the likeliest name counts.
    """
    frequencies = _frequencies()
    rare = _frequency(2 * len(frequencies))
    weights = np.array(
        [
            max(
                (geometric_weight(words_in(name), frequencies, rare) for name in names),
                default=0.0,
            )
            for names in texts
        ],
        dtype=np.float64,
    )
    return as_counts(weights)


def as_counts(weights: Floats) -> Ids:
    """Scale weights to integers >= 1."""
    largest = float(weights.max(initial=0.0))
    scaled = weights * (_LARGEST / largest) if largest > 0 else weights
    return np.maximum(1, np.rint(scaled)).astype(np.int64)


def words_in(text: str) -> list[str]:
    """Return the runs of letters in a text, in lower case, without digits.

    >>> words_in("Potter's syndrome (A54.-)")
    ['potter', 's', 'syndrome', 'a']
    """
    return _WORD.findall(text.casefold())


def _frequency(rank: int) -> float:
    return float((rank + _OFFSET) ** -_POWER)


@cache
def _frequencies() -> Mapping[str, float]:
    data = (files("veil.cover") / "frequent-words.txt.gz").read_bytes()
    words = gzip.decompress(data).decode().split("\n")
    letters = dict.fromkeys("abcdefghijklmnopqrstuvwxyz", _frequency(_LETTER))
    return letters | {word: _frequency(rank) for rank, word in enumerate(words, start=1)}
