"""Mix the variants of all searches: each is sent once, and answers are remembered.

The variants of all active searches wait in one pool and leave it in random order. Each is sent to
the engine in a separate call. This hides neither the IP address, nor the time of a search, nor
what its variants have in common.
"""

import heapq
import itertools
import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from veil.core.errors import EngineError, ParameterError
from veil.core.types import Engine, Ranking, Released
from veil.search.engines.engine import Hit, check_call, leaves, ranking
from veil.search.engines.network.remote import (
    GIVE_UP,
    GIVE_UP_EARLY,
    NOT_SENT,
    UnsentReason,
    commonest,
    unsendable,
)

Key = tuple[str, int]  # a variant, and the number of requested results
Answer = tuple[Hit, ...]
Outcome = Answer | str | BaseException  # hits, the reason for a missing answer, or a bug


class SendJob:
    """A variant to be sent once for all searches that need it.

    `began` is whether it was handed to the engine, `cause` the search it was sent for, `keep`
    whether its answer may be remembered.
    """

    __slots__ = ("began", "cause", "k", "keep", "searches", "variant")

    def __init__(self, variant: Released, k: int) -> None:
        self.variant = variant
        self.k = k
        self.searches: list[MixedSearch] = []
        self.began = False
        self.cause: MixedSearch | None = None
        self.keep = True

    @property
    def key(self) -> Key:
        """Jobs with the same key are the same."""
        return self.variant, self.k

    def begin(self) -> None:
        """Count it as sent, when it is handed to the engine."""
        self.began = True
        self.cause = self.searches[0]
        self.cause.sent += 1

    def take_back(self) -> None:
        """Count it as not sent, because the engine could not be reached."""
        if self.cause is not None:
            self.cause.sent -= 1


class MixedSearch:
    """A search: the outcomes of its variants, and its open jobs.

    `sent` counts the variants sent to the engine for it; `fault` is a bug rather than an error of
    the engine. Callers must hold the lock.
    """

    __slots__ = ("_arrived", "_failed", "deadline", "fault", "open", "outcomes", "over", "sent")

    def __init__(self, lock: threading.Lock) -> None:
        self.outcomes: dict[str, Answer | str] = {}
        self.open: set[SendJob] = set()
        self.over = threading.Condition(lock)
        self.fault: BaseException | None = None
        self.deadline = 0.0
        self.sent = 0
        self._arrived = 0
        self._failed = 0  # in a row, up to now

    @property
    def waits(self) -> bool:
        """Whether outcomes that matter may still arrive."""
        return bool(self.open) and self.fault is None

    def wait_for(self, job: SendJob) -> None:
        """Join a job."""
        job.searches.append(self)
        self.open.add(job)

    def leave(self, job: SendJob, reason: str) -> None:
        """Stop waiting for a job."""
        job.searches.remove(self)
        self.open.discard(job)
        self.outcomes[job.variant] = reason

    def note(self, job: SendJob, outcome: Outcome) -> bool:
        """Record the outcome of a job; False if sending more is pointless."""
        self.open.discard(job)
        if isinstance(outcome, BaseException):
            self.fault = outcome
            return False
        self.outcomes[job.variant] = outcome
        self._arrived += 1
        self._failed = self._failed + 1 if isinstance(outcome, str) else 0
        most = GIVE_UP_EARLY if self._failed == self._arrived else GIVE_UP
        return self._failed < most


MOST_ANSWERS = 5_000
MOST_CHARACTERS = 50_000_000  # of all answers together
_PER_HIT = 300  # overhead of a hit's objects, counted in characters


class _CacheEntry(NamedTuple):
    until: float
    hits: Answer
    size: int


class AnswerCache:
    """Answers of the last seconds, in memory only because they reveal what was sent.

    Use does not renew an answer. The oldest answers are dropped first.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: OrderedDict[Key, _CacheEntry] = OrderedDict()  # the oldest first
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Key, now: float) -> Answer | None:
        """Return the remembered answer to a variant, or None."""
        entry = self._kept.get(key)
        return entry.hits if entry is not None and now < entry.until else None

    def keep(self, key: Key, hits: Answer, now: float) -> None:
        """Remember an answer, unless it is too large."""
        size = len(key[0]) + sum(
            len(hit.id) + len(hit.title) + len(hit.text) + _PER_HIT for hit in hits
        )
        if not self._seconds or size > MOST_CHARACTERS:
            return
        self._drop(key)
        self._kept[key] = _CacheEntry(now + self._seconds, hits, size)
        self._size += size
        while len(self._kept) > MOST_ANSWERS or self._size > MOST_CHARACTERS:
            self._drop(next(iter(self._kept)))

    def expire(self, now: float) -> None:
        """Drop expired answers."""
        while self.soonest() <= now:
            self._drop(next(iter(self._kept)))

    def soonest(self) -> float:
        """Return when the oldest answer expires; infinity if there is none."""
        return next(iter(self._kept.values())).until if self._kept else float("inf")

    def forget(self) -> None:
        """Drop all answers."""
        self._kept.clear()
        self._size = 0

    def _drop(self, key: Key) -> None:
        entry = self._kept.pop(key, None)
        self._size -= entry.size if entry is not None else 0


def join_answers(answers: Sequence[Answer | str], k: int, sent: int) -> Ranking:
    """Return answers as one ranking, in order; `sent` variants were sent for them.

    Raises
    ------
    EngineError
        If there is no answer at all; the message is the commonest reason, preferably one of a
        variant that was sent.
    """
    gaps = [str(answer) if isinstance(answer, str) else "" for answer in answers]
    if gaps and all(gaps):
        raise EngineError(commonest(gaps), sent=sent)
    return ranking([answer if isinstance(answer, tuple) else () for answer in answers], k, gaps)


def single_answer(answer: Ranking) -> Answer | str:
    """Return the only list of a ranking without padding, or why it has no answer."""
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


_RANDOM = secrets.SystemRandom()


class WaitingPool:
    """The pending jobs of all searches; callers must hold a lock."""

    def __init__(self) -> None:
        self._later: list[tuple[float, int, SendJob]] = []  # a heap, by the time they are due
        self._due: list[SendJob] = []
        self._count = itertools.count()  # jobs cannot be compared

    def __len__(self) -> int:
        return len(self._later) + len(self._due)

    def add(self, job: SendJob, now: float, spread: float) -> None:
        """Add a job that becomes due after a uniformly random time of at most `spread` seconds."""
        due = now + _RANDOM.uniform(0.0, spread)
        heapq.heappush(self._later, (due, next(self._count), job))

    def take(self, now: float) -> SendJob | None:
        """Remove and return a uniformly random job that is due; None if there is none."""
        while self._later and self._later[0][0] <= now:
            self._due.append(heapq.heappop(self._later)[2])
        if not self._due:
            return None
        place = _RANDOM.randrange(len(self._due))
        self._due[place], self._due[-1] = self._due[-1], self._due[place]
        return self._due.pop()

    def soonest(self) -> float:
        """Return when the next job becomes due; infinity if none is waiting."""
        return self._later[0][0] if self._later else float("inf")

    def withdraw(self, jobs: AbstractSet[SendJob]) -> None:
        """Remove jobs."""
        self._due = [job for job in self._due if job not in jobs]
        self._later = [item for item in self._later if item[2] not in jobs]
        heapq.heapify(self._later)


WORKERS = 4  # default for engines that do not declare their concurrency
MOST_WORKERS = 64
_PARTING = 1.0  # seconds that `close` waits for threads to end

_TOO_MANY = f"{NOT_SENT}too many before it failed."
_STOPPED = f"{NOT_SENT}the program was stopped."


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """The answer of an engine.

    Attributes
    ----------
    ranking
        One list per query, in order; `gaps` has the reason for each missing answer.
    sent
        Number of distinct variants sent to the engine now, without those whose answer was
        remembered or that another search had already sent.
    """

    ranking: Ranking
    sent: int


class Mixer:
    """An engine that forwards the variants of all searches to another engine, mixed.

    A local engine gets all variants of a search at once, one search at a time, because nobody
    observes it. Use one mixer for all searches; it is thread-safe.

    Parameters
    ----------
    engine
        The engine that answers.
    spread
        Seconds over which the variants of a search are spread, each sent at a random time. With 0,
        they are sent as soon as a thread is free.
    remember
        Seconds for which answers are remembered, so that repeating a query sends nothing. 0 turns
        it off.
    timeout
        Seconds a search may take after the spread.
    workers
        Threads, and thus concurrent variants; by default the engine's `concurrency`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        spread: float = 0.0,
        remember: float = 600.0,
        timeout: float = 120.0,
        workers: int | None = None,
    ) -> None:
        self._engine = engine
        self._spread = _seconds("spread", spread, 0, 600)
        self._timeout = _seconds("timeout", timeout, 0.01, 3_600)
        self._workers = _workers(engine, workers)
        self._answers = AnswerCache(_seconds("remember", remember, 0, 86_400))
        self._pool = WaitingPool()
        self._flights: dict[Key, SendJob] = {}  # pending or sent
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)  # signals a new job, or the end
        self._turn = threading.Lock()  # local engines: stemmers are not thread-safe
        self._threads: list[threading.Thread] = []
        self._closed = False

    @property
    def network(self) -> bool:
        """Whether queries leave the machine."""
        return leaves(self._engine)

    @property
    def collection(self) -> object:
        """The collection the engine searches; `AttributeError` if the engine has no collection."""
        return cast(Any, self._engine).collection

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Return at most `k` results for each query, best first."""
        return self.ask(queries, k).ranking

    def ask(self, queries: Sequence[Released], k: int) -> EngineAnswer:
        """Answer each query, and count the variants that had to be sent.

        Raises
        ------
        EngineError
            If no query was answered; the message is the commonest reason.
        """
        check_call(queries, k, network=self.network)
        if not self.network:
            with self._turn:
                self._require_open()
                return EngineAnswer(self._engine.search(queries, k), len(set(queries)))
        search = MixedSearch(self._lock)
        try:
            with self._lock:
                self._queue(search, queries, int(k))
                self._await(search)
        finally:  # also when the caller is interrupted: pending variants are not sent
            with self._lock:
                self._leave(search)
        if search.fault is not None:
            raise search.fault
        answers = [search.outcomes[query] for query in queries]
        return EngineAnswer(join_answers(answers, int(k), search.sent), search.sent)

    def recall(self, queries: Sequence[Released], k: int) -> Ranking | None:
        """Return the remembered answers to all of these queries; None if any is missing.

        With these, nothing need be sent. Local engines always return None.
        """
        check_call(queries, k, network=self.network)
        if not self.network:
            return None
        with self._lock:
            self._require_open()
            now = _now()
            answers = [self._answers.find((query, int(k)), now) for query in queries]
        if any(answer is None for answer in answers):
            return None
        return join_answers([answer for answer in answers if answer is not None], int(k), 0)

    def forget(self) -> None:
        """Forget all answers, including those still under way."""
        with self._lock:
            self._answers.forget()
            for job in self._flights.values():
                job.keep = False

    def close(self) -> None:
        """Stop sending: pending variants get no answer, and those under way are not awaited."""
        with self._lock:
            self._closed = True
            self._answers.forget()
            for job in self._flights.values():
                job.keep = False
                for search in job.searches:
                    search.over.notify()
            self._news.notify_all()
        end = _now() + _PARTING
        for thread in self._threads:
            thread.join(max(0.0, end - _now()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        if self._closed:
            raise EngineError("The search is closed and sends nothing. Open it again.")

    def _queue(self, search: MixedSearch, queries: Sequence[Released], k: int) -> None:
        """Add the variants that are neither remembered nor under way to the pool, all at once."""
        self._require_open()
        now = _now()
        for variant in dict.fromkeys(queries):
            outcome = unsendable(variant) or self._answers.find((variant, k), now)
            if outcome is not None:
                search.outcomes[variant] = outcome
                continue
            job = self._flights.get((variant, k)) or SendJob(variant, k)
            search.wait_for(job)  # before adding it: a job nobody waits for is not sent
            if job.key not in self._flights:
                self._flights[job.key] = job
                self._pool.add(job, now, self._spread)
        search.deadline = now + self._spread + self._timeout
        self._hire()
        self._news.notify_all()

    def _hire(self) -> None:
        """Start the threads that are needed; they end with the program."""
        while len(self._threads) < min(self._workers, len(self._flights)):
            name = f"veil-mixer-{len(self._threads) + 1}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def _await(self, search: MixedSearch) -> None:
        """Wait for the outcomes, an error, the timeout or the end of the program."""
        while search.waits and not self._closed and (remaining := search.deadline - _now()) > 0:
            search.over.wait(remaining)

    def _leave(self, search: MixedSearch) -> None:
        """Leave all open jobs."""
        late = f"within {self._timeout:g} s"
        self._withdraw(
            search, _STOPPED if self._closed else f"{NOT_SENT}its turn did not come {late}."
        )
        when = "before the program was stopped" if self._closed else late
        for job in list(search.open):
            search.leave(job, f"The query was sent but not answered {when}.")

    def _withdraw(self, search: MixedSearch, reason: str) -> None:
        """Withdraw the unsent jobs of a search, unless another search needs them."""
        unwanted = set()
        for job in [job for job in search.open if not job.began]:
            search.leave(job, reason)
            if not job.searches:
                unwanted.add(job)
                self._flights.pop(job.key, None)
        if unwanted:
            self._pool.withdraw(unwanted)

    def _work(self) -> None:
        while self._step():
            pass  # `_step` is a function so that a waiting thread holds no variant

    def _step(self) -> bool:
        """Send a variant; False at the end."""
        job = self._next()
        if job is None:
            return False
        outcome = self._fetch(job)
        with self._lock:
            self._finish(job, outcome)
        return True

    def _next(self) -> SendJob | None:
        """Wait for a job that is due; None at the end."""
        with self._lock:
            while not self._closed:
                now = _now()
                self._answers.expire(now)
                job = self._pool.take(now)
                if job is not None:
                    job.begin()
                    return job
                _idle(self._news, min(self._pool.soonest(), self._answers.soonest()) - now)
        return None

    def _fetch(self, job: SendJob) -> Outcome:
        try:
            return single_answer(self._engine.search([job.variant], job.k))
        except EngineError as failure:
            reason = str(failure) or "The engine gave no answer."
            return UnsentReason(reason) if failure.sent == 0 else reason
        except BaseException as fault:  # noqa: BLE001 - raised in the caller's thread
            return fault

    def _finish(self, job: SendJob, outcome: Outcome) -> None:
        """Hand an outcome to all searches that wait for it."""
        del self._flights[job.key]
        if isinstance(outcome, UnsentReason):
            job.take_back()
        if job.keep and isinstance(outcome, tuple):
            self._answers.keep(job.key, outcome, _now())
        for search in job.searches:
            if not search.note(job, outcome):
                self._withdraw(search, _TOO_MANY)
            if not search.waits:
                search.over.notify()


def _seconds(name: str, value: float, least: float, most: int) -> float:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not least <= value <= most:  # also rejects nan
        raise ParameterError(
            f"The '{name}' argument must be a number of seconds from {least} to {most:,}."
        )
    return float(value)


def _workers(engine: Engine, given: int | None) -> int:
    """Return the number of threads: `given`, the engine's concurrency, or a default."""
    if given is None:
        concurrency = getattr(engine, "concurrency", None)
        return min(max(concurrency, 1), MOST_WORKERS) if isinstance(concurrency, int) else WORKERS
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST_WORKERS:
        raise ParameterError(
            f"The 'workers' argument must be an integer from 1 to {MOST_WORKERS}."
        )
    return given


def _now() -> float:
    return time.monotonic()


def _idle(news: threading.Condition, seconds: float) -> None:
    news.wait(seconds if math.isfinite(seconds) else None)


class CountingMixer:
    """A mixer that counts the variants it sends.

    If `answers` are remembered, it returns them and sends nothing.
    """

    def __init__(self, mixer: Mixer, answers: Ranking | None = None) -> None:
        self._mixer, self._answers = mixer, answers
        self.sent = 0

    @property
    def network(self) -> bool:
        """Whether variants leave the machine."""
        return self._mixer.network

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Search with the mixer, which may remember answers."""
        if self._answers is not None:
            return self._answers
        answered = self._mixer.ask(queries, k)
        self.sent += answered.sent
        return answered.ranking
