"""Documents to numbers, once for all folds: counts of words, and the families beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veil.core.types import Floats
from veil.sensitive.features.attachments import attachments
from veil.sensitive.features.lexical import Sparse, Vocabulary
from veil.sensitive.features.metadata import metadata, organisation
from veil.sensitive.features.style import style
from veil.sensitive.features.temporal import temporal
from veil.sensitive.mails import Mail

Features = Literal["lexical", "context", "all"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Documents as a classifier computes with them; either part may be missing.

    Attributes
    ----------
    counts
        (n, V) counts of words and pairs of words.
    context
        (n, d) time, metadata, attachments, style.
    lengths
        (n,) logarithm of the number of characters, for those who look at words alone.
    """

    counts: Sparse | None
    context: Floats | None
    lengths: Floats


class Reader:
    """Reads documents into numbers; its vocabulary is that of the documents it was made of."""

    def __init__(self, mails: Sequence[Mail], features: Features) -> None:
        lexical, context = features in ("lexical", "all"), features in ("context", "all")
        self._vocabulary = Vocabulary(mails) if lexical else None
        self._inside = organisation(mails) if context else None
        counts = None if self._vocabulary is None else self._vocabulary.learn()
        self.learnt = Numbers(counts, self._context(mails), _lengths(mails))

    def read(self, mails: Sequence[Mail]) -> Numbers:
        """Read other documents."""
        counts = None if self._vocabulary is None else self._vocabulary.count(mails)
        return Numbers(counts, self._context(mails), _lengths(mails))

    def _context(self, mails: Sequence[Mail]) -> Floats | None:
        inside = self._inside
        if inside is None:
            return None
        rows = [
            [*temporal(mail), *metadata(mail, inside), *attachments(mail), *style(mail)]
            for mail in mails
        ]
        return np.array(rows, dtype=np.float64)


def _lengths(mails: Sequence[Mail]) -> Floats:
    return np.log([1.0 + len(mail.title) + len(mail.text) for mail in mails])
