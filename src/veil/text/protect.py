"""Release variants of texts by any mechanism: the one door for words and for whole queries."""

from collections.abc import Mapping, Sequence

from veil.core.errors import ParameterError
from veil.core.rng import Randomness
from veil.core.types import Variants
from veil.corpus.tokens import MAX_CHARS
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.queries.mechanism import QueryMechanism
from veil.text.mechanisms.queries.scramble import scramble, size_of
from veil.text.mechanisms.words.protect import protect as protect_words
from veil.text.policy import Policy, Unknown
from veil.text.redact.redactor import Redactor
from veil.text.select import Select
from veil.text.vectors.embeddings import Embeddings


def variants_of(mechanism: TextMechanism, size: int | None) -> int:
    """Return how many variants of a text there are: as asked for, else one, or a whole group."""
    if isinstance(mechanism, QueryMechanism):
        return size_of(mechanism, size)
    return 1 if size is None else size


def protect(
    texts: Sequence[str],
    mechanism: TextMechanism,
    space: Embeddings | None = None,
    size: int | None = None,
    *,
    unknown: Unknown = "random",
    policies: Mapping[str, Policy] | None = None,
    select: Select | None = None,
    max_chars: int = MAX_CHARS,
    in_clear: bool = False,
    redact: str | Redactor | None = None,
    rng: Randomness = None,
) -> Variants:
    """Release `size` variants of each text.

    Parameters
    ----------
    texts
        A sequence of strings.
    mechanism, space
        What replaces a word, and the vectors it works in. A mechanism that rewrites whole queries
        (``aea``, ``fea``) needs no vectors, draws nothing at random, and may find fewer than
        `size` variants, or none: then the row is empty.
    size
        Variants per text; each one is another release and adds to the cost. None for one, or for
        as many as the mechanism has by itself: ``cover`` sends a whole group of texts.
    unknown
        What happens to a word that the vectors do not know: ``random`` puts the mechanism's
        output for a uniformly drawn word in its place (one word behind all variants), so that
        the release does not depend on the word; ``drop``, ``mask`` and, on request, ``keep``.
    policies
        Per kind of word (number, email, url, identifier, symbol): ``replace`` (the default: by the
        mechanism if known, else as `unknown` says), ``keep``, ``drop`` or ``mask``.
    select
        Which words are protected, see `veil.text.select`; the mechanism's own choice by default.
    max_chars
        Longest text accepted.
    in_clear
        Whether a text may be released as it is where none of its words is protected; else such a
        text raises `UnprotectedError`.
    redact
        ``patterns`` or ``presidio``: personal data that is recognised is replaced by its kind, as
        ``[EMAIL]``, before the mechanism sees the rest; a `Redactor` can use pseudonyms instead.
    rng
        None for fresh randomness of the operating system. A seed or a generator makes the release
        repeatable, which is for experiments: it is marked as seeded and **not private**.

    Notes
    -----
    Every text has the same words in the same slots in all its variants, replaced independently.
    What stays visible: the number of words, spacing, punctuation, case patterns, and which words
    were selected.
    """
    if isinstance(mechanism, QueryMechanism):
        if policies or select is not None or unknown != "random" or redact is not None:
            raise ParameterError(
                f"{mechanism.name} rewrites whole queries: 'unknown', 'policies', 'select' and"
                " 'redact' are for mechanisms that replace words."
            )
        return scramble(texts, mechanism, size, max_chars=max_chars)
    return protect_words(
        texts,
        mechanism,  # type: ignore[arg-type]  # checked there, with a sentence, as is the space
        space,  # type: ignore[arg-type]
        1 if size is None else size,
        unknown=unknown,
        policies=policies,
        select=select,
        max_chars=max_chars,
        in_clear=in_clear,
        redact=redact,
        rng=rng,
    )
