"""Measure whether an engine can tell that two unrelated queries have the same unknown word.

Pairs of queries that have nothing in common but one word that the vectors do not know, and as many
pairs of which each has another such word, go through the search page's own ledger. The attacker
sees the draws at the place of the unknown word and compares their mean vectors: draws that stand
for one decoy lie around one place. The figure is how often a pair with the same word looks more
alike than one without (AUC): 1 tells them apart, 0.5 is a blind guess. Before, one decoy
stood for a word in all queries.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import stats

import veil
from veil.core.types import Floats
from veil.proxy.ledger.key import Key
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.sticky import StickyVariants
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.vectors.embeddings import Embeddings

PAIRS, VARIANTS, WORDS = 100, 20, 20_000
SPECS = ("cmp(epsilon=5)", "cmp(epsilon=10)", "santext(epsilon=4)")


def main() -> int:
    """Print the figures, and return 1 if unknown words can be linked."""
    whole = veil.load_embeddings("glove-100d")
    space = Embeddings(whole.words[:WORDS], whole.vectors[:WORDS])  # to be quick
    print(f"Linking an unknown word over {PAIRS} pairs of unrelated queries, {VARIANTS} variants:")
    worst = 0.0
    for spec in SPECS:
        mechanism = veil.mechanism(spec)
        with _one_decoy_per_word():
            before = linked(mechanism, space)
        after = linked(mechanism, space)
        worst = max(worst, after)
        print(f"  {spec}: AUC {before:.2f} with one decoy per word, {after:.2f} now", flush=True)
    return int(worst > 0.65)  # a blind guess is within 0.12 of 0.5, by three standard errors


def linked(mechanism: TextMechanism, space: Embeddings) -> float:
    """Return how well the same unknown word can be told from another one."""
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "veil") as ledger:
        sticky = StickyVariants(ledger)
        words = (word for word in space.words[2000:] if word.isalpha())  # each used once

        def seen(unknown: str) -> Floats:
            """Return the mean vector of what stands for an unknown word in a query of its own."""
            query = f"{unknown} {next(words)}"
            variants = sticky.take(query, mechanism, space, VARIANTS).variants[0]
            drawn = [variant.split()[0] for variant in variants]
            mean: Floats = space.points(space.ids(drawn)).mean(axis=0)
            return mean

        same = [_alike(seen(f"xqz{i}"), seen(f"xqz{i}")) for i in range(PAIRS)]
        other = [_alike(seen(f"xqy{i}"), seen(f"xqw{i}")) for i in range(PAIRS)]
    wins = stats.mannwhitneyu(same, other).statistic
    return float(wins) / (PAIRS * PAIRS)


def _alike(one: Floats, two: Floats) -> float:
    return float(one @ two / (np.linalg.norm(one) * np.linalg.norm(two)))


@contextmanager
def _one_decoy_per_word() -> Iterator[None]:
    """Take decoys for the word alone, as it was before."""
    own = Key.decoy
    with mock.patch.object(Key, "decoy", lambda key, word, _, count: own(key, word, b"", count)):
        yield


if __name__ == "__main__":
    sys.exit(main())
