"""Draw variants of the queries of a frame: what may be sent, or an error before anything is."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from veil.core.errors import InputError, ParameterError
from veil.core.rng import stream
from veil.core.types import Released, Variants
from veil.search.pipeline import MAX_QUERY, Words, check_query
from veil.text.mechanisms.find import mechanism as find_mechanism
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.protect import protect, variants_of
from veil.text.vectors.assets import load_embeddings
from veil.text.vectors.embeddings import Embeddings

Drawn = tuple[Released, ...]


@dataclass(frozen=True)
class Drawing:
    """Who draws, how many, and what becomes of a query that cannot be protected.

    Attributes
    ----------
    seed
        None for fresh randomness. Else the variants of a query are those of the seed and the
        query, in whatever frame it stands: for experiments, and **not private**.
    skip
        Leave a query out of which nothing would be protected, in place of raising.
    """

    mechanism: TextMechanism
    size: int
    vectors: str | Embeddings
    words: Words
    seed: int | None = None
    skip: bool = False

    def draw(self, queries: Sequence[object]) -> list[Drawn]:
        """Return the variants of each query; one that is skipped has none."""
        texts = [self._checked(query) for query in queries]
        wanted = [text for text in texts if text]
        made = iter(self._rows(wanted)) if wanted else iter(())
        rows = [next(made) if text else () for text in texts]
        lost = sum(not row for row in rows)
        if lost and not self.skip:
            raise InputError(
                f"Nothing would be protected of {lost:,} of {len(rows):,} queries, so that they"
                " would be sent as they are; nothing was sent. Choose another mechanism or"
                " selection of words, or leave them out: skip=True."
            )
        return rows

    def _checked(self, query: object) -> str:
        try:
            return check_query(query)
        except InputError:
            if self.skip:
                return ""
            raise

    def _rows(self, texts: Sequence[str]) -> list[Drawn]:
        """Draw for all queries at once; with a seed for each by itself."""
        if self.seed is None:
            return _sendable(self._protect(texts, None))
        return [_sendable(self._protect([text], self.seed))[0] for text in texts]

    def _protect(self, texts: Sequence[str], seed: int | None) -> Variants:
        rng = None if seed is None else stream(seed, _number(texts[0]))
        return protect(
            texts,
            self.mechanism,
            self._space(),
            self.size,
            max_chars=MAX_QUERY,
            in_clear=True,  # they are refused or left out by `draw`
            rng=rng,
            **self.words,
        )

    def _space(self) -> Embeddings | None:
        if "vectors" not in self.mechanism.needs:
            return None
        return load_embeddings(self.vectors) if isinstance(self.vectors, str) else self.vectors


def drawing(
    mechanism: str | TextMechanism,
    size: int | None,
    vectors: str | Embeddings,
    seed: int | None,
    skip: bool,
    usual: int = 1,
    **words: Unpack[Words],
) -> Drawing:
    """Check what a step was given; nothing is fetched or opened before it is run.

    `usual` is the size where none was given and the mechanism has none of its own.
    """
    chosen = find_mechanism(mechanism) if isinstance(mechanism, str) else mechanism
    count = variants_of(chosen, size)
    if size is None and getattr(chosen, "size", None) is None:
        count = usual
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ParameterError("The 'size' argument must be a whole number of variants from 1.")
    stream(seed, 0)  # which checks the seed
    return Drawing(chosen, count, vectors, words, seed, skip)


def _sendable(made: Variants) -> list[Drawn]:
    """Return the variants that may be sent: of queries that were protected, and not blank."""
    return [
        tuple(one for one in row if one.strip()) if words else ()
        for row, words in zip(made, made.protected, strict=True)
    ]


def _number(text: str) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")
