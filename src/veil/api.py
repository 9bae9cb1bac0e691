"""The functions of text protection and search, in one module."""

from collections.abc import Iterable, Sequence

from veil.core.outcome import Ranks
from veil.core.types import Encoder, Released, Variants
from veil.corpus.catalogue import load_collection
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import encoder
from veil.measures.quipu import quipu
from veil.measures.risk import risk
from veil.search.api import ask, came_back, engine, search
from veil.text.attack import Attack
from veil.text.attack import attack as rank_truth
from veil.text.explain import explain, law, log_ratio
from veil.text.log import QueryLog
from veil.text.measures.similarity import similarity
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.protect import protect, protect_stream
from veil.text.vectors.catalogue import load_embeddings
from veil.text.vectors.embeddings import Embeddings

__all__ = [
    "ask",
    "attack",
    "came_back",
    "declassify",
    "encoder",
    "engine",
    "explain",
    "law",
    "load_collection",
    "load_embeddings",
    "log_ratio",
    "mechanism",
    "protect",
    "protect_stream",
    "quipu",
    "risk",
    "search",
    "similarity",
]


def declassify(text: str) -> Released:
    """Return a text as released, so that it may leave this machine unprotected."""
    return Released(text)


def attack(
    variants: Variants | Sequence[Sequence[str]],
    originals: Sequence[str],
    log: QueryLog | Iterable[str] | None = None,
    attacker: str | Attack = "inference",
    *,
    encoder: str | Encoder | None = None,
    mechanism: str | TextMechanism | None = None,
    space: Embeddings | str | None = None,
    report: Report = no_progress,
) -> Ranks:
    """Return the rank of each original among an attacker's guesses; 1 is the first guess.

    `veil.risk` computes the risk from ranks. It treats guesses that tie with the truth (attribute
    `ties`) as tried in any order. An original that the log lacks has rank len(log) + 1, so the
    risk is then a lower bound. `space` may be the name or path of word vectors. See
    `veil.text.attack.attack` for details, and for the number of texts the attacker chose among.
    """
    if isinstance(space, str):
        space = load_embeddings(space, report)
    outcome = rank_truth(
        variants,
        originals,
        log,
        attacker,
        encoder=encoder,
        mechanism=mechanism,
        space=space,
        report=report,
    )
    return Ranks(outcome.ranks, outcome.ties)
