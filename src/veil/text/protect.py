"""Release variants of texts: all at once (`protect`), as a stream, or in two steps.

The two steps are `draft`, which splits a text into its layout and the words to replace, and
`draw`. Callers that store draws can put released ones into another text without sampling again.
Reused draws reveal nothing more about the word itself, but they reveal that the same word occurs
again.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypedDict, Unpack

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError, UnprotectedError, VeilError
from veil.core.formatting import brief
from veil.core.rng import Randomness, generator, stream
from veil.core.types import Ids, Kernel, Released, Seeded, Variants
from veil.corpus.tokens import MAX_CHARS, Case, apply_case, check_text
from veil.text.mechanisms.mechanism import (
    QueryMechanism,
    TextMechanism,
    WordMechanism,
    check_request,
    premises,
    release_cost,
    scale_premise,
)
from veil.text.mechanisms.queries.scramble import scramble, size_of
from veil.text.policy import Planner, Policy, Unknown, WordPlan
from veil.text.redact.redactor import Redactor, redactor_of
from veil.text.select import Select
from veil.text.vectors.embeddings import Embeddings


class Decoys:
    """Words sampled uniformly from the vocabulary, independent of the unknown words.

    The mechanism's output for a decoy replaces the unknown word, so that the variants look as if
    the word were known. Each text has its own decoys, because shared ones would reveal that texts
    have the same source. The decoys within a text are distinct.
    """

    def __init__(self, words: int) -> None:
        self._words = words

    def take(self, counts: list[int], rng: Generator) -> Ids:
        """Return `counts[i]` decoys for text i, one text after the other."""
        decoys = [self._draw(count, rng) for count in counts if count]
        return np.concatenate(decoys) if decoys else np.empty(0, dtype=np.int64)

    def _draw(self, count: int, rng: Generator) -> Ids:
        # A tiny vocabulary may have fewer words than there are slots.
        return rng.choice(self._words, size=count, replace=count > self._words)


_DRAWS = 2**18  # words per batch


def protect_words(
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
    """Release `size` variants of each text; see `veil.protect`, which takes any mechanism."""
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
    unchanged: list[tuple[str, ...]] = []
    protected: list[int] = []
    redacted: list[tuple[str, ...]] = []
    for plans in _batches(texts, planner, size, max_chars, in_clear=in_clear):
        rows += _release(plans, kernel, space, size, stand_ins, random, mark)
        unchanged += [tuple(plan.kept) for plan in plans]
        protected += [len(plan.ids) for plan in plans]
        redacted += [tuple(plan.redacted) for plan in plans if redactor is not None]
    passed = sum(map(len, unchanged))
    limits = premises(choice, policies, scale_premise(mechanism.guarantee, space))
    limits = limits if redactor is None else (*limits, *redactor.told)
    cost = release_cost(mechanism.guarantee, sum(protected), size, passed, limits)
    return Variants(
        tuple(rows),
        str(mechanism),
        cost,
        tuple(unchanged),
        tuple(protected),
        rng is not None,
        tuple(redacted),
    )


def _check(mechanism: object, space: object) -> None:
    if not isinstance(mechanism, WordMechanism):
        raise ParameterError(
            "The 'mechanism' argument must be a mechanism, for example"
            f" veil.mechanism('cmp(epsilon=10)'). Got {type(mechanism).__name__} instead."
        )
    if not isinstance(space, Embeddings):
        raise ParameterError(
            "The 'space' argument must be word vectors, for example"
            f" veil.load_embeddings('glove-100d'). Got {type(space).__name__} instead."
        )


def _batches(
    texts: Sequence[str], planner: Planner, size: int, max_chars: int, *, in_clear: bool
) -> Iterator[list[WordPlan]]:
    """Yield plans of the texts, in batches with a bounded number of draws."""
    batch: list[WordPlan] = []
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
    plans: list[WordPlan],
    kernel: Kernel,
    space: Embeddings,
    size: int,
    stand_ins: Decoys,
    rng: Generator,
    mark: type[Released],
) -> list[tuple[Released, ...]]:
    ids = np.array([i for plan in plans for i in plan.ids], dtype=np.int64)
    ids[ids < 0] = stand_ins.take([plan.ids.count(-1) for plan in plans], rng)
    cases = [(j, case) for j, case in enumerate(_cases(plans)) if case is not Case.AS_IS]
    step = max(1, _DRAWS // max(1, len(ids)))
    columns: list[list[Released]] = [[] for _ in plans]
    for start in range(0, size, step):
        count = min(step, size - start)
        words = space.spellings[draw_ids(kernel, ids, count, space.size, rng)]
        for column, case in cases:
            words[:, column] = [apply_case(case, word) for word in words[:, column]]
        _spell(plans, words, columns, mark)
    return [tuple(column) for column in columns]


def _cases(plans: list[WordPlan]) -> Iterator[Case]:
    for plan in plans:
        yield from plan.cases


def draw_ids(kernel: Kernel, ids: Ids, count: int, words: int, rng: Generator) -> Ids:
    """Return words (count, n) sampled for `ids` (n,), or raise if a slot has no valid word."""
    if not len(ids):
        return np.empty((count, 0), dtype=np.int64)
    samples = kernel.sample(ids, count, rng)
    if samples.shape != (count, len(ids)) or samples.min() < 0 or samples.max() >= words:
        raise VeilError("The mechanism did not return a word for every slot; nothing is released.")
    return samples


def _spell(
    plans: list[WordPlan],
    words: NDArray[np.object_],
    columns: list[list[Released]],
    mark: type[Released],
) -> None:
    """Fill the layouts of the texts with words (count, n)."""
    at = 0
    for plan, column in zip(plans, columns, strict=True):
        end = at + len(plan.ids)
        layout = plan.layout
        column += [mark(layout % tuple(row)) for row in words[:, at:end].tolist()]
        at = end


@brief()
@dataclass(frozen=True, slots=True)
class Draft:
    """The words of a text that a mechanism replaces, and the layout around them.

    It contains words of the text and is therefore as private as the text.

    Attributes
    ----------
    words
        The words to replace, in order, spelt as in the vectors, or as in the text if unknown.
    known
        Whether each word is in the vocabulary.
    kept
        Words that pass unchanged by policy, in order.
    """

    words: tuple[str, ...]
    known: tuple[bool, ...]
    kept: tuple[str, ...]
    _ids: tuple[int, ...]
    _cases: tuple[Case, ...]
    _layout: str

    def spell(self, drawn: Sequence[str]) -> Released:
        """Return the variant with one sampled word in each slot."""
        if len(drawn) != len(self.words):
            raise InputError("There must be one sampled word for each slot of the text.")
        return Released(self._layout % tuple(map(apply_case, self._cases, drawn)))

    @property
    def original(self) -> str:
        """The text in the layout of its variants."""
        return self._layout % tuple(map(apply_case, self._cases, self.words))

    @property
    def form(self) -> str:
        """Layout and capitals, which every variant shows, without the words to replace."""
        return json.dumps([self._layout, [case.value for case in self._cases]])

    def in_form(self, form: str, order: Sequence[int]) -> "Draft":
        """Return the same words in the order and form of an earlier text."""
        layout, cases = json.loads(form)
        return replace(
            self,
            words=tuple(self.words[i] for i in order),
            known=tuple(self.known[i] for i in order),
            _ids=tuple(self._ids[i] for i in order),
            _cases=tuple(map(Case, cases)),
            _layout=layout,
        )


def draft(
    text: str,
    mechanism: WordMechanism,
    space: Embeddings,
    *,
    unknown: Unknown = "random",
    policies: Mapping[str, Policy] | None = None,
    select: Select | None = None,
    max_chars: int = MAX_CHARS,
) -> Draft:
    """Return a text split into the words that `protect` would replace, and its layout."""
    check_text(text, "The text", max_chars)
    choice = mechanism.select if select is None else select
    plan = Planner(space, choice, unknown, policies or {}).plan(text)
    spelt = [
        space.words[i] if i >= 0 else word for i, word in zip(plan.ids, plan.words, strict=True)
    ]
    return Draft(
        words=tuple(spelt),
        known=tuple(i >= 0 for i in plan.ids),
        kept=tuple(plan.kept),
        _ids=tuple(plan.ids),
        _cases=tuple(plan.cases),
        _layout=plan.layout,
    )


def draw(
    text: Draft,
    slots: Sequence[int],
    mechanism: WordMechanism,
    space: Embeddings,
    size: int,
    decoys: Sequence[int],
) -> list[tuple[str, ...]]:
    """Return `size` fresh draws for each of these slots, one tuple per slot.

    `decoys` are word numbers of the space, one per slot. If the slot's word is out of vocabulary,
    all its draws are sampled from the decoy, which must not depend on the word.
    """
    random = generator(None)
    ids = np.array([text._ids[slot] for slot in slots], dtype=np.int64)
    ids[ids < 0] = np.asarray(decoys, dtype=np.int64)[ids < 0]
    words = space.spellings[draw_ids(mechanism.bind(space), ids, size, space.size, random)]
    return [tuple(column) for column in words.T.tolist()]


def variants_of(mechanism: TextMechanism, size: int | None) -> int:
    """Return the number of variants per text: `size`, or by default one or a whole group."""
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
        The mechanism that replaces words, and its word vectors. A mechanism that rewrites whole
        queries (``aea``, ``fea``) needs no vectors, is deterministic, and may find fewer than
        `size` variants. If it finds none, the row is empty.
    size
        Variants per text; each one is another release and adds to the cost. None means the
        mechanism's default: one, or for ``cover`` a whole group of texts.
    unknown
        Policy for out-of-vocabulary words. ``random`` replaces the word by the mechanism's output
        for a uniformly sampled word, the same one for all variants, so that the release does not
        depend on the word. The others are ``drop``, ``mask`` and ``keep``.
    policies
        Policy by kind of word (number, email, url, identifier, symbol): ``keep``, ``drop``,
        ``mask`` or ``replace``. The default ``replace`` applies the mechanism to a word in the
        vocabulary and `unknown` to any other.
    select
        Which words are protected, see `veil.text.select`; the mechanism's own choice by default.
    max_chars
        Longest text accepted.
    in_clear
        Whether to release a text unchanged if none of its words is protected. By default it
        raises `UnprotectedError`.
    redact
        ``patterns`` or ``presidio``: replace recognised personal data by its kind, such as
        ``[EMAIL]``, before the mechanism runs. A `Redactor` can use pseudonyms instead.
    rng
        None for fresh randomness of the operating system. A seed or a generator makes the release
        repeatable, for experiments: it is marked as seeded and **not private**.

    Notes
    -----
    Each slot is replaced independently in every variant. The variants reveal the number of words,
    spacing, punctuation, case patterns, and which words were selected.
    """
    if isinstance(mechanism, QueryMechanism):
        if policies or select is not None or unknown != "random" or redact is not None:
            raise ParameterError(
                f"{mechanism.name} rewrites whole queries. Leave out 'unknown', 'policies',"
                " 'select' and 'redact', which are for mechanisms that replace words."
            )
        return scramble(texts, mechanism, size, max_chars=max_chars)
    return protect_words(
        texts,
        mechanism,  # type: ignore[arg-type]  # checked there, like the space
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


class ProtectOptions(TypedDict, total=False):
    """Options that `protect_stream` passes to `protect`."""

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
    **choices: Unpack[ProtectOptions],
) -> Iterator[Variants]:
    """Yield one `Variants` per batch of texts, in order and in constant memory.

    With an `executor` (processes, threads, or a cluster), up to `in_flight` batches run there at
    a time. Each batch has its own randomness, fresh or derived from the seed and the batch
    number, so that a seeded result does not depend on the number of workers.
    """
    if isinstance(texts, str | bytes):
        raise InputError("The 'texts' argument must be strings. Put a single text into a list.")
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
    """Yield checked texts; an error message has the text's number in the whole stream."""
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
    choices: ProtectOptions,
) -> Variants:
    rng = None if seed is None else stream(seed, number)
    try:
        return protect(texts, mechanism, space, size, rng=rng, **choices)
    except UnprotectedError as error:  # number in the whole stream
        raise UnprotectedError(number * batch + error.number) from None
