"""One door for all searches: their variants are mixed, sent once, and answered again from memory.

The variants of all searches under way wait in one pool, from which they are taken in random order.
Each goes to the engine in a call of its own. This hides neither the address, nor when a search is
made, nor what its variants have in common.
"""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast

from veil.core.errors import EngineError, ParameterError
from veil.core.types import Engine, Ranking, Released
from veil.proxy.mixing._answers import Answers
from veil.proxy.mixing._join import joined, outcome
from veil.proxy.mixing._mixing import Job, Key, Outcome, Search
from veil.proxy.mixing._pool import Pool
from veil.search.engines.engine import check_call, leaves
from veil.search.engines.network.remote import NOT_SENT, Unsent, unsendable

WORKERS = 4  # where an engine does not say how many requests it takes at a time
MOST_WORKERS = 64
_PARTING = 1.0  # seconds that closing waits for threads to end

_TOO_MANY = f"{NOT_SENT}too many before it failed."
_STOPPED = f"{NOT_SENT}the program was stopped."


@dataclass(frozen=True, slots=True)
class Answered:
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
        self._answers = Answers(_seconds("remember", remember, 0, 86_400))
        self._pool = Pool()
        self._flights: dict[Key, Job] = {}  # pending, or at the engine
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

    def ask(self, queries: Sequence[Released], k: int) -> Answered:
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
                return Answered(self._engine.search(queries, k), len(set(queries)))
        search = Search(self._lock)
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
        return Answered(joined(found, int(k), search.sent), search.sent)

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
        return joined([each for each in found if each is not None], int(k), 0)

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

    def _queue(self, search: Search, queries: Sequence[Released], k: int) -> None:
        """Put what is neither known nor under way into the pool, all at once."""
        self._require_open()
        now = _now()
        for variant in dict.fromkeys(queries):
            known = unsendable(variant) or self._answers.find((variant, k), now)
            if known is not None:
                search.outcomes[variant] = known
                continue
            job = self._flights.get((variant, k)) or Job(variant, k)
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

    def _await(self, search: Search) -> None:
        """Wait until all is done, or broken, or the time is over, or the program stops."""
        while search.waits and not self._closed and (left := search.deadline - _now()) > 0:
            search.over.wait(left)

    def _leave(self, search: Search) -> None:
        """Let go of all that is still open."""
        late = f"within {self._timeout:g} s"
        self._withdraw(
            search, _STOPPED if self._closed else f"{NOT_SENT}its turn did not come {late}."
        )
        when = "before the program was stopped" if self._closed else late
        for job in list(search.open):
            search.leave(job, f"The query was sent, and had no answer {when}.")

    def _withdraw(self, search: Search, reason: str) -> None:
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

    def _next(self) -> Job | None:
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

    def _fetch(self, job: Job) -> Outcome:
        try:
            return outcome(self._engine.search([job.variant], job.k))
        except EngineError as failure:
            reason = str(failure) or "The engine gave no answer."
            return Unsent(reason) if failure.sent == 0 else reason
        except BaseException as fault:  # noqa: BLE001 - raised by the caller's thread
            return fault

    def _finish(self, job: Job, what: Outcome) -> None:
        """Hand an outcome to all who wait for it."""
        del self._flights[job.key]
        if isinstance(what, Unsent):
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
