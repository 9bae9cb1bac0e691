"""Release variants of texts by any mechanism: one text, or any number in constant memory.

A text cut into its layout and the words to replace, for whoever keeps draws and reuses them.

`protect` draws and spells in one go. Here the two are apart: draws of a word that were released
before can be put into another text without drawing anew. They tell nothing more about the word
itself; but that the same draws come again tells that the same word does.
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
    """Words drawn uniformly from the vocabulary, whatever the unknown words are.

    The mechanism's output for a decoy takes the unknown word's place, so that the variants of a
    text look as if it were a known word. Each text has its own: decoys that serve several texts
    would tell that these come from one place. The words of one text have different ones.
    """

    def __init__(self, words: int) -> None:
        self._words = words

    def take(self, counts: list[int], rng: Generator) -> Ids:
        """Return `counts[i]` decoys for text i, one text after the other."""
        drawn = [self._draw(count, rng) for count in counts if count]
        return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.int64)

    def _draw(self, count: int, rng: Generator) -> Ids:
        # In a tiny vocabulary the same word may stand in two slots.
        return rng.choice(self._words, size=count, replace=count > self._words)


_DRAWS = 2**18  # words drawn and spelt at a time


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
) -> Iterator[list[WordPlan]]:
    """Plan the texts, in batches of a bounded number of draws."""
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
            words[:, column] = [apply_case(case, word) for word in words[:, column]]
        _spell(plans, words, columns, mark)
    return [tuple(column) for column in columns]


def _cases(plans: list[WordPlan]) -> Iterator[Case]:
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
    plans: list[WordPlan],
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


@brief()
@dataclass(frozen=True, slots=True)
class Draft:
    """The words of a text that a mechanism replaces, and what stands around them.

    It holds words of the text, and so stays where the text is.

    Attributes
    ----------
    words
        The words to replace, in order: as the vectors spell them, or else as they are written.
    known
        Which of them the vectors know.
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
        """Put one drawn word into each slot."""
        if len(drawn) != len(self.words):
            raise InputError("There must be one drawn word for each slot of the text.")
        return Released(self._layout % tuple(map(apply_case, self._cases, drawn)))

    @property
    def original(self) -> str:
        """The text itself, as its variants are laid out."""
        return self._layout % tuple(map(apply_case, self._cases, self.words))

    @property
    def form(self) -> str:
        """Layout and capitals, which every variant shows; none of the words to replace."""
        return json.dumps([self._layout, [case.value for case in self._cases]])

    def in_form(self, form: str, order: Sequence[int]) -> "Draft":
        """Return the same words in another order and form, as an earlier text had them."""
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
    """Decide, as `protect` does, which words of a text are replaced."""
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
    """Draw `size` words for each of these slots, with fresh randomness.

    `decoys` are numbers of words of the space, one for each of the slots: it stands behind all
    draws of a word that the vectors do not know, and must not depend on that word for anybody
    else. Returns one tuple of draws for each slot.
    """
    random = generator(None)
    ids = np.array([text._ids[slot] for slot in slots], dtype=np.int64)
    ids[ids < 0] = np.asarray(decoys, dtype=np.int64)[ids < 0]
    drawn = space.spellings[draw_ids(mechanism.bind(space), ids, size, space.size, random)]
    return [tuple(column) for column in drawn.T.tolist()]


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


class ProtectOptions(TypedDict, total=False):
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
    **choices: Unpack[ProtectOptions],
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
    choices: ProtectOptions,
) -> Variants:
    rng = None if seed is None else stream(seed, number)
    try:
        return protect(texts, mechanism, space, size, rng=rng, **choices)
    except UnprotectedError as error:  # tell the place in the whole stream
        raise UnprotectedError(number * batch + error.number) from None
