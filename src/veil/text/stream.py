"""Any number of texts in constant memory, here or in many processes."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from itertools import islice
from typing import TypedDict, Unpack

from veil.core.errors import InputError, ParameterError, UnprotectedError
from veil.core.rng import stream
from veil.core.types import Variants
from veil.corpus.tokens import MAX_CHARS, check_text
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.policy import Policy, Unknown
from veil.text.protect import protect
from veil.text.redact.redactor import Redactor
from veil.text.select import Select
from veil.text.vectors.embeddings import Embeddings


class Choices(TypedDict, total=False):
    """The choices of `protect` that `protect_stream` hands on."""

    unknown: Unknown
    policies: dict[str, Policy]
    select: Select | None
    max_chars: int
    in_clear: bool
    redact: str | Redactor | None


def protect_stream(
    texts: Iterable[str],
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int = 1,
    *,
    batch: int = 4096,
    executor: Executor | None = None,
    in_flight: int = 4,
    seed: int | None = None,
    **choices: Unpack[Choices],
) -> Iterator[Variants]:
    """Protect any number of texts in constant memory: one `Variants` per batch, in order.

    With an `executor` (processes, threads, or a cluster's) batches run there, `in_flight` at a
    time. Every batch has randomness of its own: fresh, or the batch's stream of the seed, so that
    a seeded result does not depend on the number of workers.
    """
    if isinstance(texts, str | bytes):
        raise InputError("The 'texts' argument must give strings; put a single text into a list.")
    if batch < 1 or in_flight < 1:
        raise ParameterError("The 'batch' and 'in_flight' arguments must be at least 1.")
    source = _numbered(texts, choices.get("max_chars", MAX_CHARS))
    waiting: deque[Future[Variants]] = deque()
    number = 0
    while chunk := list(islice(source, batch)):
        job = (number, batch, chunk, mechanism, space, size, seed, choices)
        number += 1
        if executor is None:
            yield _protect_batch(*job)
            continue
        waiting.append(executor.submit(_protect_batch, *job))
        if len(waiting) >= in_flight:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _numbered(texts: Iterable[str], max_chars: int) -> Iterator[str]:
    """Check each text, so that a message tells its place in the whole stream."""
    for number, text in enumerate(texts, start=1):
        yield check_text(text, f"Text {number:,}", max_chars)


def _protect_batch(
    number: int,
    batch: int,
    texts: Sequence[str],
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    seed: int | None,
    choices: Choices,
) -> Variants:
    rng = None if seed is None else stream(seed, number)
    try:
        return protect(texts, mechanism, space, size, rng=rng, **choices)
    except UnprotectedError as error:  # tell the place in the whole stream
        raise UnprotectedError(number * batch + error.number) from None
