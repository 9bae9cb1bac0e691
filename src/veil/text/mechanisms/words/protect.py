"""Release variants of texts: the one place where text meets a mechanism."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import ParameterError, UnprotectedError, VeilError
from veil.core.rng import Randomness, generator
from veil.core.types import Ids, Kernel, Released, Seeded, Variants
from veil.corpus.tokens import MAX_CHARS, Case, check_text, follow
from veil.text.mechanisms.checks import check_request
from veil.text.mechanisms.cost import premises, release_cost, scale_premise
from veil.text.mechanisms.words._decoys import Decoys
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.policy import Plan, Planner, Policy, Unknown
from veil.text.redact.redactor import Redactor, redactor_of
from veil.text.select import Select
from veil.text.vectors.embeddings import Embeddings

_DRAWS = 2**18  # words drawn and spelt at a time


def protect(
    texts: Sequence[str],
    mechanism: WordMechanism,
    space: Embeddings,
    size: int = 1,
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

    The arguments are those of `veil.protect`, which is the door for mechanisms of all kinds.
    """
    check_request(texts, size, max_chars)
    _check(mechanism, space)
    choice = mechanism.select if select is None else select
    redactor = redactor_of(redact)
    planner = Planner(space, choice, unknown, policies or {}, redactor)
    random = generator(rng)
    mark = Released if rng is None else Seeded
    kernel = mechanism.bind(space)
    stand_ins = Decoys(space.size)
    rows: list[tuple[Released, ...]] = []
    kept: list[tuple[str, ...]] = []
    protected: list[int] = []
    redacted: list[tuple[str, ...]] = []
    for plans in _batches(texts, planner, size, max_chars, in_clear=in_clear):
        rows += _release(plans, kernel, space, size, stand_ins, random, mark)
        kept += [tuple(plan.kept) for plan in plans]
        protected += [len(plan.ids) for plan in plans]
        redacted += [tuple(plan.redacted) for plan in plans if redactor is not None]
    passed = sum(map(len, kept))
    told = premises(choice, policies, scale_premise(mechanism.guarantee, space))
    told = told if redactor is None else (*told, *redactor.told)
    cost = release_cost(mechanism.guarantee, sum(protected), size, passed, told)
    return Variants(
        tuple(rows),
        str(mechanism),
        cost,
        tuple(kept),
        tuple(protected),
        rng is not None,
        tuple(redacted),
    )


def _check(mechanism: object, space: object) -> None:
    if not isinstance(mechanism, WordMechanism):
        raise ParameterError(
            "The 'mechanism' argument must be a mechanism, as veil.mechanism('cmp(epsilon=10)')"
            f" gives. Got {type(mechanism).__name__} instead."
        )
    if not isinstance(space, Embeddings):
        raise ParameterError(
            "The 'space' argument must be word vectors, as veil.load_embeddings('glove-100d')"
            f" gives. Got {type(space).__name__} instead."
        )


def _batches(
    texts: Sequence[str], planner: Planner, size: int, max_chars: int, *, in_clear: bool
) -> Iterator[list[Plan]]:
    """Plan the texts, in batches of a bounded number of draws."""
    batch: list[Plan] = []
    draws = 0
    for number, text in enumerate(texts, start=1):
        plan = planner.plan(check_text(text, f"Text {number}", max_chars))
        if plan.kept and not plan.ids and not in_clear:
            raise UnprotectedError(number)
        batch.append(plan)
        draws += len(plan.ids) * size
        if draws >= _DRAWS or len(batch) >= _DRAWS:
            yield batch
            batch, draws = [], 0
    if batch:
        yield batch


def _release(
    plans: list[Plan],
    kernel: Kernel,
    space: Embeddings,
    size: int,
    stand_ins: Decoys,
    rng: Generator,
    mark: type[Released],
) -> list[tuple[Released, ...]]:
    """Draw and spell all variants of a batch."""
    ids = np.array([i for plan in plans for i in plan.ids], dtype=np.int64)
    ids[ids < 0] = stand_ins.take([plan.ids.count(-1) for plan in plans], rng)
    cases = [(j, case) for j, case in enumerate(_cases(plans)) if case is not Case.AS_IS]
    step = max(1, _DRAWS // max(1, len(ids)))
    columns: list[list[Released]] = [[] for _ in plans]
    for start in range(0, size, step):
        count = min(step, size - start)
        words = space.spellings[draw_ids(kernel, ids, count, space.size, rng)]
        for column, case in cases:
            words[:, column] = [follow(case, word) for word in words[:, column]]
        _spell(plans, words, columns, mark)
    return [tuple(column) for column in columns]


def _cases(plans: list[Plan]) -> Iterator[Case]:
    for plan in plans:
        yield from plan.cases


def draw_ids(kernel: Kernel, ids: Ids, count: int, words: int, rng: Generator) -> Ids:
    """Draw, and refuse an answer that is not a word for every slot."""
    if not len(ids):
        return np.empty((count, 0), dtype=np.int64)
    drawn = kernel.sample(ids, count, rng)
    if drawn.shape != (count, len(ids)) or drawn.min() < 0 or drawn.max() >= words:
        raise VeilError("The mechanism did not give a word for every slot; nothing is released.")
    return drawn


def _spell(
    plans: list[Plan],
    words: NDArray[np.object_],
    columns: list[list[Released]],
    mark: type[Released],
) -> None:
    """Put the drawn words (count, n) into the layouts of the texts."""
    at = 0
    for plan, column in zip(plans, columns, strict=True):
        end = at + len(plan.ids)
        layout = plan.layout
        column += [mark(layout % tuple(row)) for row in words[:, at:end].tolist()]
        at = end
