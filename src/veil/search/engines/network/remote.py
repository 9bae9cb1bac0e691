"""The contract of engines on a network: addresses, parameters, and each query sent once."""

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
_SAFE = "%/:=&?~#+!$,;'@()*[]"  # left as they are in the path and query of an address


class EngineAddress(NamedTuple):
    """An address in its parts."""

    scheme: str
    host: str
    port: int
    where: str  # host and port as given: all that a message may name
    path: str  # with the query string


def target(url: str) -> EngineAddress:
    """Take an address apart, or raise ValueError with a sentence's end that does not quote it."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("must be an address such as http://localhost:9200") from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        raise ValueError("must begin with http:// or https:// and a host name in ASCII")
    if "@" in parts.netloc:
        raise ValueError(
            "must hold no user and no password; put them into an environment variable and name"
            " that with 'auth'"
        )
    if parts.fragment or any(ord(character) < 33 for character in url):
        raise ValueError("must hold no spaces and no fragment (#)")
    path = urllib.parse.quote(parts.path or "/", safe=_SAFE)
    path += f"?{urllib.parse.quote(parts.query, safe=_SAFE)}" if parts.query else ""
    default = 443 if parts.scheme == "https" else 80
    return EngineAddress(parts.scheme, host, port or default, parts.netloc, path)


def check_url(url: str) -> str:
    """Let an address pass, for a pydantic field."""
    try:
        target(url)
    except ValueError as error:
        raise PydanticCustomError("url", "{wanted}", {"wanted": str(error)}) from None
    return url


def authorization(variable: str) -> str:
    """Read a secret from the environment; no message quotes it."""
    if not variable:
        return ""
    value = os.environ.get(variable, "")
    if not value:
        raise ParameterError(
            f"The environment variable {variable}, which 'auth' names, is not set; set it to"
            " user:password or to a whole Authorization value."
        )
    scheme, space, _ = value.partition(" ")
    whole = bool(space) and ":" not in scheme
    if not value.isprintable() or (whole and not value.isascii()) or not (whole or ":" in value):
        raise ParameterError(
            f"The environment variable {variable} must hold user:password, or a scheme and a"
            " token with a space between."
        )
    return value if whole else basic(value)


def shaped(pattern: str, wanted: str) -> AfterValidator:
    """Let strings of a pattern pass; of any other say what is wanted, without quoting it."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise PydanticCustomError("shape", "{wanted}", {"wanted": f"must be {wanted}"})
        return value

    return AfterValidator(check)


def _check_base(url: str) -> str:
    if "?" in url:
        raise PydanticCustomError("url", "must hold no query string (?)")
    return check_url(url)


Url = Annotated[
    str, AfterValidator(_check_base), Field(max_length=2_000, description="address of the engine")
]
Auth = Annotated[
    str,
    shaped(r"([A-Za-z_][A-Za-z0-9_]*)?", "the name of an environment variable"),
    Field(
        description="environment variable with user:password, or a whole Authorization value",
        examples=["ENGINE_AUTH"],
    ),
]
Timeout = Annotated[
    float,
    Field(gt=0, le=600, description="seconds for one request, to its last byte", examples=[15.0]),
]
Megabytes = Annotated[
    int,
    Field(
        ge=0,
        le=256,
        description="size of one answer at most; 0: 1, and 40 kB more for each item asked for",
        examples=[16],
    ),
]
Concurrency = Annotated[
    int, Field(ge=1, le=64, description="requests under way at a time", examples=[4])
]
Attempts = Annotated[
    int, Field(ge=1, le=10, description="times to ask before giving a query up", examples=[3])
]


Ask = Callable[[Released, int], Sequence[Hit]]  # one query, at most so many items
Outcome = Sequence[Hit] | str | BaseException  # hits, a reason for none, or a fault of ours

BACK_OFF = 0.5  # seconds before the second attempt; doubles with each further one
LONGEST_PAUSE = 60.0  # seconds; an engine that asks for more is not asked again
NOT_SENT = "The query was not sent: "
GIVE_UP = 16  # failures in a row after which the rest is not sent
GIVE_UP_EARLY = 8  # the same where nothing was answered at all: a wrong address need not see more

_RANDOM = secrets.SystemRandom()


class NoAnswer(EngineError):  # noqa: N818 - not a fault of the program
    """A query had no answer, for a reason told in one sentence that quotes nothing.

    `again` tells whether asking again may help, `wait` after how many seconds at the earliest;
    `sent` whether any of the query may have left.
    """

    def __init__(
        self, reason: str, *, again: bool = False, wait: float = 0.0, sent: bool = True
    ) -> None:
        super().__init__(reason, sent=int(sent))
        self.reason = reason
        self.again = again
        self.wait = wait


class UnsentReason(str):
    """A reason for no answer of a query of which nothing left."""

    __slots__ = ()


class Remote(EngineSpec):
    """An engine on a network, with documents of its own: its parameters are all it needs."""

    @property
    def network(self) -> bool:
        """Queries leave the machine."""
        return True

    concurrency: Concurrency = 4
    attempts: Attempts = 3

    @abstractmethod
    def ask(self, query: Released, k: int) -> Sequence[Hit]:
        """Send one query; raise `NoAnswer` where there is none."""

    def require_reachable(self) -> None:
        """Connect and send nothing; raise `EngineError` where that fails.

        It is called before anything long is prepared, and before a release is counted. An engine
        that cannot tell lets everything pass.
        """

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Answer each query with at most `k` items, best first."""
        return fan_out(queries, k, self.ask, concurrency=self.concurrency, attempts=self.attempts)

    def open(self, collection: object = None, report: object = None) -> Self:
        """Return the engine itself; it takes no documents."""
        del report  # there is nothing to prepare
        if collection is not None:
            raise ParameterError(f"{self.name} searches its own documents; give no collection.")
        return self


def fan_out(
    queries: Sequence[Released], k: int, ask: Ask, *, concurrency: int, attempts: int
) -> Ranking:
    """Ask each distinct query once and put the answers where the queries were.

    The order on the wire is drawn afresh from the operating system. A query that is blank is not
    sent. A query without an answer leaves an empty list and a sentence in `gaps`.

    Raises
    ------
    EngineError
        If no query at all was answered; the message is the commonest reason.
    """
    check_call(queries, k, network=True)
    outcomes: dict[str, Outcome] = {query: unsendable(query) for query in queries}
    waiting = [query for query in dict.fromkeys(queries) if not outcomes[query]]
    _RANDOM.shuffle(waiting)
    outcomes |= dict.fromkeys(waiting, UnsentReason(f"{NOT_SENT}too many before it failed."))
    outcomes |= _collect(waiting, ask, int(k), concurrency, attempts)
    found = [outcomes[query] for query in queries]
    gaps = [str(each) if isinstance(each, str) else "" for each in found]
    if gaps and all(gaps):
        sent = sum(not isinstance(outcome, UnsentReason) for outcome in outcomes.values())
        raise EngineError(commonest(gaps), sent=sent)
    lists = [() if isinstance(each, str | BaseException) else each for each in found]
    return ranking(lists, int(k), gaps)


def commonest(gaps: Sequence[str]) -> str:
    """Return the commonest reason, where there is one of those that it was tried to send."""
    told = [gap for gap in gaps if not gap.startswith(NOT_SENT)]
    return Counter(told or gaps).most_common(1)[0][0]


def unsendable(query: str) -> str:
    """Say why a query is not sent, or nothing."""
    if not query.strip():
        return UnsentReason("The query is blank, so that it was not sent.")
    if "\0" in query or any("\ud800" <= character <= "\udfff" for character in query):
        return UnsentReason(
            "The query holds a character that is not text, so that it was not sent."
        )
    return ""


def _collect(
    waiting: Sequence[Released], ask: Ask, k: int, concurrency: int, attempts: int
) -> dict[str, Outcome]:
    """Ask in threads that end with the program, so that an interrupt waits for none of them."""
    todo: queue.SimpleQueue[Released] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Released, Outcome]] = queue.SimpleQueue()
    stop = threading.Event()
    tally = _Tally(stop)
    for query in waiting:
        todo.put(query)

    def work() -> None:
        for query in iter(lambda: _next(todo, stop), None):
            outcome = _persist(query, ask, k, attempts, stop)
            tally.note(outcome)  # by whom it is sent: nobody need be quick to stop the others
            done.put((query, outcome))

    count = min(concurrency, len(waiting))
    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    found: dict[str, Outcome] = {}
    try:
        for thread in threads:
            thread.start()
        while len(found) < len(waiting) and not stop.is_set():
            found |= dict(_arrived(done))
    finally:
        stop.set()
    for thread in threads:  # each is idle, or in its last request
        thread.join()
    found |= dict(_arrived(done, seconds=0.0))
    return found


class _Tally:
    """Counts failures in a row, and stops the sending after too many of them."""

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
    """Take the next query; None when there is none, or no more is to be sent."""
    try:
        return None if stop.is_set() else todo.get_nowait()
    except queue.Empty:
        return None


def _arrived(
    done: queue.SimpleQueue[tuple[Released, Outcome]], seconds: float = 0.2
) -> Iterator[tuple[Released, Outcome]]:
    """Yield what has come, waiting a little for the first; a fault of ours is raised."""
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
    """Ask until there is an answer, or no use in asking again."""
    reason, sent = "", False
    for attempt in range(attempts):
        try:
            return ask(query, k)
        except NoAnswer as failure:
            reason, sent = failure.reason, sent or bool(failure.sent)
            last = attempt == attempts - 1 or not failure.again
            if last or failure.wait > LONGEST_PAUSE:
                break
            pause = max(failure.wait, BACK_OFF * 2**attempt) * _RANDOM.uniform(1.0, 1.5)
            if _pause(stop, min(pause, LONGEST_PAUSE)):
                break
        except BaseException as fault:  # noqa: BLE001 - raised by the caller's thread
            return fault
    return reason if sent else UnsentReason(reason)


def _pause(stop: threading.Event, seconds: float) -> bool:
    """Wait, unless told to stop; True if so."""
    return stop.wait(seconds)
