"""Base class of engines on a network: address, parameters, and one request per distinct query."""

import os
import queue
import re
import secrets
import threading
import urllib.parse
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from veil.core.errors import EngineError, ParameterError
from veil.core.types import Ranking, Released
from veil.search.engines.engine import EngineSpec, Hit, check_call, ranking
from veil.search.engines.network.connection import basic

_HOST = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+")
_SAFE = "%/:=&?~#+!$,;'@()*[]"  # not quoted in the path and query of an address


class EngineAddress(NamedTuple):
    """The parts of an engine's URL."""

    scheme: str
    host: str
    port: int
    where: str  # host and port as written; messages contain nothing else of the address
    path: str  # with the query string


def target(url: str) -> EngineAddress:
    """Parse a URL, or raise ValueError with a message that does not quote it."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("must be an address such as http://localhost:9200") from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        raise ValueError("must start with http:// or https:// and an ASCII host name")
    if "@" in parts.netloc:
        raise ValueError(
            "must not contain a user or password. Put them in an environment variable and name it"
            " with 'auth'"
        )
    if parts.fragment or any(ord(character) < 33 for character in url):
        raise ValueError("must not contain spaces or a fragment (#)")
    path = urllib.parse.quote(parts.path or "/", safe=_SAFE)
    path += f"?{urllib.parse.quote(parts.query, safe=_SAFE)}" if parts.query else ""
    default = 443 if parts.scheme == "https" else 80
    return EngineAddress(parts.scheme, host, port or default, parts.netloc, path)


def check_url(url: str) -> str:
    """Return the URL if it is valid, else raise an error for pydantic."""
    try:
        target(url)
    except ValueError as error:
        raise PydanticCustomError("url", "{wanted}", {"wanted": str(error)}) from None
    return url


def authorization(variable: str) -> str:
    """Return the Authorization header from an environment variable. Errors do not quote it."""
    if not variable:
        return ""
    value = os.environ.get(variable, "")
    if not value:
        raise ParameterError(
            f"The environment variable {variable}, named by 'auth', is not set. Set it to"
            " user:password or to a complete Authorization value."
        )
    scheme, space, _ = value.partition(" ")
    whole = bool(space) and ":" not in scheme
    if not value.isprintable() or (whole and not value.isascii()) or not (whole or ":" in value):
        raise ParameterError(
            f"The environment variable {variable} must be user:password, or a scheme and a token"
            " separated by a space."
        )
    return value if whole else basic(value)


def shaped(pattern: str, rule: str) -> AfterValidator:
    """Return a validator for strings that match `pattern`. Its error is "must be `rule`"."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise PydanticCustomError("shape", "{wanted}", {"wanted": f"must be {rule}"})
        return value

    return AfterValidator(check)


def _check_base(url: str) -> str:
    if "?" in url:
        raise PydanticCustomError("url", "must not contain a query string (?)")
    return check_url(url)


Url = Annotated[
    str, AfterValidator(_check_base), Field(max_length=2_000, description="address of the engine")
]
Auth = Annotated[
    str,
    shaped(r"([A-Za-z_][A-Za-z0-9_]*)?", "the name of an environment variable"),
    Field(
        description="environment variable with user:password, or a complete Authorization value",
        examples=["ENGINE_AUTH"],
    ),
]
Timeout = Annotated[
    float,
    Field(
        gt=0, le=600, description="seconds for one request, until its last byte", examples=[15.0]
    ),
]
Megabytes = Annotated[
    int,
    Field(
        ge=0,
        le=256,
        description="maximum size of one answer in MB; 0: 1 MB plus 40 kB per requested item",
        examples=[16],
    ),
]
Concurrency = Annotated[
    int, Field(ge=1, le=64, description="maximum number of parallel requests", examples=[4])
]
Attempts = Annotated[
    int, Field(ge=1, le=10, description="maximum number of attempts for a query", examples=[3])
]


Ask = Callable[[Released, int], Sequence[Hit]]  # query and k to hits
Outcome = Sequence[Hit] | str | BaseException  # hits, a reason without hits, or an internal error

BACK_OFF = 0.5  # seconds before the second attempt; doubles with each further attempt
LONGEST_PAUSE = 60.0  # seconds; there is no retry if an engine asks for more
NOT_SENT = "The query was not sent: "
GIVE_UP = 16  # consecutive failures after which the remaining queries are not sent
GIVE_UP_EARLY = 8  # the same before any answer: a wrong address must not see more queries

_RANDOM = secrets.SystemRandom()


class NoAnswer(EngineError):  # noqa: N818 - not a fault of the program
    """A query had no answer. The message is one sentence that quotes nothing.

    `again` is True if a retry may help, `wait` the seconds before it at the earliest, and `sent`
    whether any part of the query may have left.
    """

    def __init__(
        self, reason: str, *, again: bool = False, wait: float = 0.0, sent: bool = True
    ) -> None:
        super().__init__(reason, sent=int(sent))
        self.reason = reason
        self.again = again
        self.wait = wait


class UnsentReason(str):
    """Why a query has no answer, if no part of the query left this machine."""

    __slots__ = ()


class Remote(EngineSpec):
    """An engine on a network, which searches its own documents."""

    @property
    def network(self) -> bool:
        """True: queries leave this machine."""
        return True

    concurrency: Concurrency = 4
    attempts: Attempts = 3

    @abstractmethod
    def ask(self, query: Released, k: int) -> Sequence[Hit]:
        """Send one query and return its hits, or raise `NoAnswer`."""

    def require_reachable(self) -> None:
        """Connect without sending a query, or raise `EngineError`.

        It is called before slow preparations, and before a release is counted. By default it does
        nothing.
        """

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Return at most `k` items for each query, best first."""
        return fan_out(queries, k, self.ask, concurrency=self.concurrency, attempts=self.attempts)

    def open(self, collection: object = None, report: object = None) -> Self:
        """Return the engine itself. It takes no collection."""
        del report  # there is nothing to prepare
        if collection is not None:
            raise ParameterError(
                f"The {self.name} engine searches its own documents. Remove the collection."
            )
        return self


def fan_out(
    queries: Sequence[Released], k: int, ask: Ask, *, concurrency: int, attempts: int
) -> Ranking:
    """Send each distinct query once and return the answers in the order of `queries`.

    The queries are sent in a random order, from the randomness of the operating system. Blank
    queries are not sent. A query without an answer has an empty list and its reason in `gaps`.

    Raises
    ------
    EngineError
        If no query was answered. The message is the most common reason.
    """
    check_call(queries, k, network=True)
    outcomes: dict[str, Outcome] = {query: unsendable(query) for query in queries}
    waiting = [query for query in dict.fromkeys(queries) if not outcomes[query]]
    _RANDOM.shuffle(waiting)
    outcomes |= dict.fromkeys(waiting, UnsentReason(f"{NOT_SENT}too many before it failed."))
    outcomes |= _collect(waiting, ask, int(k), concurrency, attempts)
    results = [outcomes[query] for query in queries]
    gaps = [str(result) if isinstance(result, str) else "" for result in results]
    if gaps and all(gaps):
        attempted = sum(not isinstance(outcome, UnsentReason) for outcome in outcomes.values())
        raise EngineError(commonest(gaps), sent=attempted)
    lists = [() if isinstance(result, str | BaseException) else result for result in results]
    return ranking(lists, int(k), gaps)


def commonest(gaps: Sequence[str]) -> str:
    """Return the most common reason, preferably of queries that were tried."""
    reasons = [gap for gap in gaps if not gap.startswith(NOT_SENT)]
    return Counter(reasons or gaps).most_common(1)[0][0]


def unsendable(query: str) -> str:
    """Return why a query cannot be sent, or ""."""
    if not query.strip():
        return UnsentReason("The query is blank, so it was not sent.")
    if "\0" in query or any("\ud800" <= character <= "\udfff" for character in query):
        return UnsentReason("The query contains a character that is not text, so it was not sent.")
    return ""


def _collect(
    waiting: Sequence[Released], ask: Ask, k: int, concurrency: int, attempts: int
) -> dict[str, Outcome]:
    """Query in daemon threads, so that an interrupt does not wait for them."""
    todo: queue.SimpleQueue[Released] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Released, Outcome]] = queue.SimpleQueue()
    stop = threading.Event()
    tally = _Tally(stop)
    for query in waiting:
        todo.put(query)

    def work() -> None:
        for query in iter(lambda: _next(todo, stop), None):
            outcome = _persist(query, ask, k, attempts, stop)
            tally.note(outcome)  # in the sending thread, so that it stops before its next query
            done.put((query, outcome))

    count = min(concurrency, len(waiting))
    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    outcomes: dict[str, Outcome] = {}
    try:
        for thread in threads:
            thread.start()
        while len(outcomes) < len(waiting) and not stop.is_set():
            outcomes |= dict(_arrived(done))
    finally:
        stop.set()
    for thread in threads:  # idle, or in their last request
        thread.join()
    outcomes |= dict(_arrived(done, seconds=0.0))
    return outcomes


class _Tally:
    """Counts consecutive failures, and stops sending after too many of them."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._arrived = self._failures = 0

    def note(self, outcome: Outcome) -> None:
        with self._lock:
            self._arrived += 1
            self._failures = self._failures + 1 if isinstance(outcome, str) else 0
            most = GIVE_UP_EARLY if self._failures == self._arrived else GIVE_UP
            if self._failures >= most:
                self._stop.set()


def _next(todo: queue.SimpleQueue[Released], stop: threading.Event) -> Released | None:
    """Return the next query, or None if there is none or sending has stopped."""
    try:
        return None if stop.is_set() else todo.get_nowait()
    except queue.Empty:
        return None


def _arrived(
    done: queue.SimpleQueue[tuple[Released, Outcome]], seconds: float = 0.2
) -> Iterator[tuple[Released, Outcome]]:
    """Yield finished queries, after a short wait for the first. Internal errors are raised."""
    try:
        while True:
            query, outcome = done.get(timeout=seconds) if seconds else done.get_nowait()
            if isinstance(outcome, BaseException):
                raise outcome
            yield query, outcome
            seconds = 0.0
    except queue.Empty:
        return


def _persist(query: Released, ask: Ask, k: int, attempts: int, stop: threading.Event) -> Outcome:
    """Query until there is an answer, or a retry is pointless."""
    reason, may_have_left = "", False
    for attempt in range(attempts):
        try:
            return ask(query, k)
        except NoAnswer as failure:
            reason, may_have_left = failure.reason, may_have_left or bool(failure.sent)
            last = attempt == attempts - 1 or not failure.again
            if last or failure.wait > LONGEST_PAUSE:
                break
            pause = max(failure.wait, BACK_OFF * 2**attempt) * _RANDOM.uniform(1.0, 1.5)
            if _pause(stop, min(pause, LONGEST_PAUSE)):
                break
        except BaseException as fault:  # noqa: BLE001 - raised by the caller's thread
            return fault
    return reason if may_have_left else UnsentReason(reason)


def _pause(stop: threading.Event, seconds: float) -> bool:
    return stop.wait(seconds)  # True if sending has stopped; tests replace this
