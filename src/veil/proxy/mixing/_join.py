"""Answers to one query each, put together as if the engine had been asked with all of them."""

from collections.abc import Sequence

from veil.core.errors import EngineError
from veil.core.types import Ranking
from veil.proxy.mixing._mixing import Answer
from veil.search.engines.engine import Hit, ranking
from veil.search.engines.network.remote import commonest


def joined(found: Sequence[Answer | str], k: int, sent: int) -> Ranking:
    """Put answers into one ranking, in their order; `sent` variants left for them.

    Raises
    ------
    EngineError
        If there is no answer at all; the message is the commonest reason, where there is one of
        those that were sent.
    """
    gaps = [str(each) if isinstance(each, str) else "" for each in found]
    if gaps and all(gaps):
        raise EngineError(commonest(gaps), sent=sent)
    return ranking([each if isinstance(each, tuple) else () for each in found], k, gaps)


def outcome(answer: Ranking) -> Answer | str:
    """Return the only list of a ranking, without what pads it; or why it has no answer."""
    if answer.gaps and answer.gaps[0]:
        return answer.gaps[0]
    texts = answer.texts or ("",) * len(answer.items)
    titles = answer.titles or ("",) * len(answer.items)
    (places,), (scores,) = answer.index.tolist(), answer.scores.tolist()
    return tuple(
        Hit(answer.items[place], score, titles[place], texts[place])
        for place, score in zip(places, scores, strict=True)
        if place >= 0
    )
