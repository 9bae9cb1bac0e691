"""One door for all searches: their variants are mixed, sent once, and answered again from memory.

One door for all searches: their variants are mixed, sent once, and answered again from memory.
The variants of all searches under way wait in one pool, from which they are taken in random order.
Each goes to the engine in a call of its own. This hides neither the address, nor when a search is
made, nor what its variants have in common.
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

Key = tuple[str, int]  # a variant, and how many items were asked for
Answer = tuple[Hit, ...]
Outcome = Answer | str | BaseException  # hits, a reason for none, or a fault of ours


class SendJob:
    """One variant to be sent once, for all searches that want it.

    `began` tells that an engine has it, `cause` for which search it was handed over, `keep` that
    its answer may be remembered.
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
        """Jobs of the same key are the same."""
        return self.variant, self.k

    def begin(self) -> None:
        """Count it as sent, as it is handed to the engine."""
        self.began = True
        self.cause = self.searches[0]
        self.cause.sent += 1

    def take_back(self) -> None:
        """Count it as not sent: the engine could not be reached."""
        if self.cause is not None:
            self.cause.sent -= 1


class MixedSearch:
    """One search: what came for each of its variants, and the jobs that are still open.

    `sent` counts the variants that went to the engine because of it; `fault` is a fault of the
    program, not of the engine. Whoever uses it holds the lock.
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
        """Whether more may come that matters."""
        return bool(self.open) and self.fault is None

    def wait_for(self, job: SendJob) -> None:
        """Take part in a job."""
        job.searches.append(self)
        self.open.add(job)

    def leave(self, job: SendJob, reason: str) -> None:
        """Wait for a job no longer."""
        job.searches.remove(self)
        self.open.discard(job)
        self.outcomes[job.variant] = reason

    def note(self, job: SendJob, outcome: Outcome) -> bool:
        """Take in what came of a job; False when it is of no use to send more."""
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
_PER_HIT = 300  # characters that the strings, the number and the tuple of a hit are counted for


class _Kept(NamedTuple):
    until: float
    hits: Answer
    size: int


class AnswerCache:
    """What was answered in the last seconds; never written down: it tells what was sent.

    An answer is not renewed by being used. The oldest make room for new ones.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()  # the oldest first
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Key, now: float) -> Answer | None:
        """Return the answer to a variant; None if there is none any more."""
        kept = self._kept.get(key)
        return kept.hits if kept is not None and now < kept.until else None

    def keep(self, key: Key, hits: Answer, now: float) -> None:
        """Keep an answer, unless it is too large."""
        size = len(key[0]) + sum(
            len(hit.id) + len(hit.title) + len(hit.text) + _PER_HIT for hit in hits
        )
        if not self._seconds or size > MOST_CHARACTERS:
            return
        self._drop(key)
        self._kept[key] = _Kept(now + self._seconds, hits, size)
        self._size += size
        while len(self._kept) > MOST_ANSWERS or self._size > MOST_CHARACTERS:
            self._drop(next(iter(self._kept)))

    def expire(self, now: float) -> None:
        """Drop what is too old."""
        while self.soonest() <= now:
            self._drop(next(iter(self._kept)))

    def soonest(self) -> float:
        """Return when the oldest answer expires; infinity where there is none."""
        return next(iter(self._kept.values())).until if self._kept else float("inf")

    def forget(self) -> None:
        """Drop everything."""
        self._kept.clear()
        self._size = 0

    def _drop(self, key: Key) -> None:
        kept = self._kept.pop(key, None)
        self._size -= kept.size if kept is not None else 0


def join_answers(found: Sequence[Answer | str], k: int, sent: int) -> Ranking:
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


def single_answer(answer: Ranking) -> Answer | str:
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


_RANDOM = secrets.SystemRandom()


class WaitingPool:
    """The pending jobs of all searches; whoever uses it holds a lock."""

    def __init__(self) -> None:
        self._later: list[tuple[float, int, SendJob]] = []  # a heap, by the time they are due
        self._due: list[SendJob] = []
        self._count = itertools.count()  # jobs cannot be compared

    def __len__(self) -> int:
        return len(self._later) + len(self._due)

    def add(self, job: SendJob, now: float, spread: float) -> None:
        """Let a job wait for a uniformly random time from nothing to `spread` seconds."""
        due = now + _RANDOM.uniform(0.0, spread)
        heapq.heappush(self._later, (due, next(self._count), job))

    def take(self, now: float) -> SendJob | None:
        """Take any job that is due, each as likely as the others; None if none is."""
        while self._later and self._later[0][0] <= now:
            self._due.append(heapq.heappop(self._later)[2])
        if not self._due:
            return None
        place = _RANDOM.randrange(len(self._due))
        self._due[place], self._due[-1] = self._due[-1], self._due[place]
        return self._due.pop()

    def soonest(self) -> float:
        """Return when the next job is due, where none is yet; infinity where there is none."""
        return self._later[0][0] if self._later else float("inf")

    def withdraw(self, jobs: AbstractSet[SendJob]) -> None:
        """Drop jobs, wherever they stand."""
        self._due = [job for job in self._due if job not in jobs]
        self._later = [each for each in self._later if each[2] not in jobs]
        heapq.heapify(self._later)


WORKERS = 4  # where an engine does not say how many requests it takes at a time
MOST_WORKERS = 64
_PARTING = 1.0  # seconds that closing waits for threads to end

_TOO_MANY = f"{NOT_SENT}too many before it failed."
_STOPPED = f"{NOT_SENT}the program was stopped."


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """What an engine answered.

    Attributes
    ----------
    ranking
        One list per query, in their order; its `gaps` say which had no answer, and why.
    sent
        How many distinct variants went to the engine now. Those are not counted whose answer was
        remembered, or which another search had sent already.
    """

    ranking: Ranking
    sent: int


class Mixer:
    """An engine that hands the variants of all searches to another one, mixed.

    An engine on this machine is asked at once with all variants, one search at a time: nobody
    watches there. Use one mixer for all searches, from as many threads as there are.

    Parameters
    ----------
    engine
        Who answers.
    spread
        Seconds over which the variants of a search are spread, each to a random moment. With 0
        they are sent as soon as there is a free thread.
    remember
        Seconds for which an answer is kept in memory: asking again sends nothing. 0 keeps none.
    timeout
        Seconds that a search may take, from the end of the spread.
    workers
        Threads, and so variants under way at a time; the engine's own `concurrency` if not given.
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
        self._flights: dict[Key, SendJob] = {}  # pending, or at the engine
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)  # for the threads: a job, or the end
        self._turn = threading.Lock()  # local engines: a stemmer is for one thread at a time
        self._threads: list[threading.Thread] = []
        self._closed = False

    @property
    def network(self) -> bool:
        """Whether queries leave the machine."""
        return leaves(self._engine)

    @property
    def collection(self) -> object:
        """The collection that the engine searches; there is no such attribute if it has none."""
        return cast(Any, self._engine).collection

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Answer each query with at most `k` items, best first."""
        return self.ask(queries, k).ranking

    def ask(self, queries: Sequence[Released], k: int) -> EngineAnswer:
        """Answer each query, and say how many variants had to be sent for it.

        Raises
        ------
        EngineError
            If no query at all was answered; the message is the commonest reason.
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
        finally:  # also when the caller is interrupted: what is pending is not sent any more
            with self._lock:
                self._leave(search)
        if search.fault is not None:
            raise search.fault
        found = [search.outcomes[query] for query in queries]
        return EngineAnswer(join_answers(found, int(k), search.sent), search.sent)

    def recall(self, queries: Sequence[Released], k: int) -> Ranking | None:
        """Return what was answered lately to all of these queries; None if any is missing.

        Whoever is given it need ask nobody. A local engine is always asked.
        """
        check_call(queries, k, network=self.network)
        if not self.network:
            return None
        with self._lock:
            self._require_open()
            now = _now()
            found = [self._answers.find((query, int(k)), now) for query in queries]
        if any(each is None for each in found):
            return None
        return join_answers([each for each in found if each is not None], int(k), 0)

    def forget(self) -> None:
        """Remember no answer, not even of what is under way."""
        with self._lock:
            self._answers.forget()
            for job in self._flights.values():
                job.keep = False

    def close(self) -> None:
        """Send nothing any more: what is pending has a gap, what is under way is not awaited."""
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
            raise EngineError("The search was closed, and asks nobody any more; open it again.")

    def _queue(self, search: MixedSearch, queries: Sequence[Released], k: int) -> None:
        """Put what is neither known nor under way into the pool, all at once."""
        self._require_open()
        now = _now()
        for variant in dict.fromkeys(queries):
            known = unsendable(variant) or self._answers.find((variant, k), now)
            if known is not None:
                search.outcomes[variant] = known
                continue
            job = self._flights.get((variant, k)) or SendJob(variant, k)
            search.wait_for(job)  # first of all: a job that nobody waits for is not sent
            if job.key not in self._flights:
                self._flights[job.key] = job
                self._pool.add(job, now, self._spread)
        search.deadline = now + self._spread + self._timeout
        self._hire()
        self._news.notify_all()

    def _hire(self) -> None:
        """Start threads as they are needed; they end with the program."""
        while len(self._threads) < min(self._workers, len(self._flights)):
            name = f"veil-mixer-{len(self._threads) + 1}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def _await(self, search: MixedSearch) -> None:
        """Wait until all is done, or broken, or the time is over, or the program stops."""
        while search.waits and not self._closed and (left := search.deadline - _now()) > 0:
            search.over.wait(left)

    def _leave(self, search: MixedSearch) -> None:
        """Let go of all that is still open."""
        late = f"within {self._timeout:g} s"
        self._withdraw(
            search, _STOPPED if self._closed else f"{NOT_SENT}its turn did not come {late}."
        )
        when = "before the program was stopped" if self._closed else late
        for job in list(search.open):
            search.leave(job, f"The query was sent, and had no answer {when}.")

    def _withdraw(self, search: MixedSearch, reason: str) -> None:
        """Take back what a search has not sent yet, unless another one wants it, too."""
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
            pass  # a step leaves no variant behind in a thread that waits

    def _step(self) -> bool:
        """Send one variant; False at the end."""
        job = self._next()
        if job is None:
            return False
        what = self._fetch(job)
        with self._lock:
            self._finish(job, what)
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
        except BaseException as fault:  # noqa: BLE001 - raised by the caller's thread
            return fault

    def _finish(self, job: SendJob, what: Outcome) -> None:
        """Hand an outcome to all who wait for it."""
        del self._flights[job.key]
        if isinstance(what, UnsentReason):
            job.take_back()
        if job.keep and isinstance(what, tuple):
            self._answers.keep(job.key, what, _now())
        for search in job.searches:
            if not search.note(job, what):
                self._withdraw(search, _TOO_MANY)
            if not search.waits:
                search.over.notify()


def _seconds(name: str, value: float, least: float, most: int) -> float:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not least <= value <= most:  # which is false of nan
        raise ParameterError(f"The '{name}' argument must be seconds from {least} to {most:,}.")
    return float(value)


def _workers(engine: Engine, given: int | None) -> int:
    """Return the number of threads: as given, as the engine says, or a few."""
    if given is None:
        own = getattr(engine, "concurrency", None)
        return min(max(own, 1), MOST_WORKERS) if isinstance(own, int) else WORKERS
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST_WORKERS:
        raise ParameterError(
            f"The 'workers' argument must be a whole number from 1 to {MOST_WORKERS}."
        )
    return given


def _now() -> float:
    return time.monotonic()


def _idle(news: threading.Condition, seconds: float) -> None:
    news.wait(seconds if math.isfinite(seconds) else None)


class CountingMixer:
    """Sends through a mixer, and counts what went out now.

    Where the `answers` are remembered, they are given, and nothing is sent.
    """

    def __init__(self, mixer: Mixer, answers: Ranking | None = None) -> None:
        self._mixer, self._answers = mixer, answers
        self.sent = 0

    @property
    def network(self) -> bool:
        """Whether variants leave the machine."""
        return self._mixer.network

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Ask through the mixer, which remembers what was answered before."""
        if self._answers is not None:
            return self._answers
        answered = self._mixer.ask(queries, k)
        self.sent += answered.sent
        return answered.ranking
