"""Variants under way, and the searches that wait for them."""

import threading

from veil.core.types import Released
from veil.search.engines.engine import Hit
from veil.search.engines.network.remote import GIVE_UP, GIVE_UP_EARLY

Key = tuple[str, int]  # a variant, and how many items were asked for
Answer = tuple[Hit, ...]
Outcome = Answer | str | BaseException  # hits, a reason for none, or a fault of ours


class Job:
    """One variant to be sent once, for all searches that want it.

    `began` tells that an engine has it, `cause` for which search it was handed over, `keep` that
    its answer may be remembered.
    """

    __slots__ = ("began", "cause", "k", "keep", "searches", "variant")

    def __init__(self, variant: Released, k: int) -> None:
        self.variant = variant
        self.k = k
        self.searches: list[Search] = []
        self.began = False
        self.cause: Search | None = None
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


class Search:
    """One search: what came for each of its variants, and the jobs that are still open.

    `sent` counts the variants that went to the engine because of it; `fault` is a fault of the
    program, not of the engine. Whoever uses it holds the lock.
    """

    __slots__ = ("_arrived", "_failed", "deadline", "fault", "open", "outcomes", "over", "sent")

    def __init__(self, lock: threading.Lock) -> None:
        self.outcomes: dict[str, Answer | str] = {}
        self.open: set[Job] = set()
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

    def wait_for(self, job: Job) -> None:
        """Take part in a job."""
        job.searches.append(self)
        self.open.add(job)

    def leave(self, job: Job, reason: str) -> None:
        """Wait for a job no longer."""
        job.searches.remove(self)
        self.open.discard(job)
        self.outcomes[job.variant] = reason

    def note(self, job: Job, outcome: Outcome) -> bool:
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
