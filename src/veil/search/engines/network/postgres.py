"""PostgreSQL full text search."""

import ipaddress
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import zip_longest
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from veil.core.errors import MissingExtraError
from veil.core.types import Released
from veil.search.engines.engine import Hit
from veil.search.engines.network.answer import MAX_ID, MAX_TEXT, MAX_TITLE, hit, label
from veil.search.engines.network.connection import Deadline, TooMuchError
from veil.search.engines.network.remote import NoAnswer, Remote, Timeout, shaped

try:
    import psycopg
    from psycopg import conninfo, sql
    from psycopg.adapt import AdaptersMap
    from psycopg.types.string import TextBinaryLoader, TextLoader
except ImportError as error:
    raise MissingExtraError(
        "The postgres engine needs psycopg: pip install 'veil[postgres]'."
    ) from error


MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")  # weakest first


def mode_of(given: Mapping[str, object], declared: str) -> str:
    """Return libpq's sslmode for a connection.

    What is declared counts. With ``auto`` it is what the connection string says, or the
    environment; on the way to another machine it is at least ``require``, whatever these say.

    Parameters
    ----------
    given
        The connection string, taken apart.
    declared
        The parameter of the engine.
    """
    if declared != "auto":
        return declared
    asked = str(given.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer")
    if asked not in MODES:
        return "require"  # libpq would refuse it, or take it from somewhere else
    return asked if stays_here(given) else max(asked, "require", key=MODES.index)


def stays_here(given: Mapping[str, object]) -> bool:
    """Tell whether all places that libpq may connect to are on this machine, for sure.

    A service can name any host, and so counts as another machine.
    """
    if given.get("service") or given.get("servicefile") or os.environ.get("PGSERVICE"):
        return False
    hosts, addresses = (
        str(given.get(name) or os.environ.get(variable) or "").split(",")
        for name, variable in (("host", "PGHOST"), ("hostaddr", "PGHOSTADDR"))
    )
    places = zip_longest(addresses, hosts, fillvalue="")
    return all(_is_here((address or host).strip()) for address, host in places)


def _is_here(place: str) -> bool:
    if not place or place.startswith(("/", "@")) or place == "localhost":
        return True  # a socket, or the machine itself; the default is one of them
    try:
        return ipaddress.ip_address(place).is_loopback
    except ValueError:
        return False


_LOOK = 0.02  # seconds from one look at a connection to the next
_RECEIVED = 128  # place of tcpi_bytes_received in Linux's struct tcp_info


@contextmanager
def watched(number: int, seconds: float, most: int, failure: type[Exception]) -> Iterator[None]:
    """Cut a connection after some seconds or bytes: a server need not keep to any limit.

    Bytes are counted where the system tells them: on Linux, over TCP.

    Parameters
    ----------
    number
        The file descriptor of the connection.
    failure
        What the library raises when its connection is cut.

    Raises
    ------
    TimeoutError, TooMuchError
        In place of that failure.
    """
    with closing(socket.socket(fileno=socket.dup(number))) as sock:
        ended, reasons = threading.Event(), list[Exception]()
        arguments = (sock, Deadline(seconds), received(sock) + most, ended, reasons)
        thread = threading.Thread(target=_watch, args=arguments, daemon=True)
        thread.start()
        try:
            yield
        except failure:
            if reasons:
                raise reasons[0] from None
            raise
        finally:
            ended.set()
            thread.join()


def received(sock: socket.socket) -> int:
    """Return how many bytes came so far; 0 where that is not told."""
    if sys.platform != "linux":
        return 0
    try:
        told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED + 8)
        (count,) = struct.unpack_from("=Q", told, _RECEIVED)
    except (OSError, struct.error):
        return 0
    return int(count)


def _watch(
    sock: socket.socket,
    deadline: Deadline,
    most: int,
    ended: threading.Event,
    reasons: list[Exception],
) -> None:
    try:
        while received(sock) <= most:
            if ended.wait(deadline.left(_LOOK)):
                return
        reasons.append(TooMuchError())
    except TimeoutError as late:
        reasons.append(late)
    with suppress(OSError):  # it is gone already
        sock.shutdown(socket.SHUT_RDWR)


_MEANING = {  # by SQLSTATE: the server's own messages quote the query
    "42501": "does not let this user read the table",
    "42703": "has no such column; check 'id', 'title', 'text' and 'vector'",
    "42704": "has no such text search configuration; check the 'config' parameter",
    "42804": "cannot search that column; check the 'vector' parameter",
    "42883": "cannot search that column; check the 'vector' parameter",
    "42P01": "has no such table; check the 'table' parameter",
    "57014": "did not finish in time",
}
_AGAIN = ("08", "40", "53", "57")  # classes: connection, rollback, resources, operator
_BYTES = 2**20  # of any answer
_BYTES_PER_ITEM = 4 * (MAX_ID + MAX_TITLE + MAX_TEXT)  # a character has at most four


def _check_dsn(dsn: str) -> str:
    try:
        given = conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        raise PydanticCustomError("dsn", "must be a connection string of PostgreSQL") from None
    if any(key in given for key in ("password", "sslpassword")):
        raise PydanticCustomError(
            "dsn", "must hold no password; use PGPASSWORD, a .pgpass file or a service"
        )
    return dsn


_NAME = r"[^.\0]{1,63}"
Name = Annotated[str, shaped(_NAME, "a name of 1 to 63 characters without a dot")]
NoName = Annotated[str, shaped(rf"({_NAME})?", "a name of at most 63 characters without a dot")]
Table = Annotated[str, shaped(rf"{_NAME}(\.{_NAME})?", "a name such as documents or web.pages")]


class Postgres(Remote):
    r"""Full text search of one table, over a connection of its own for each query.

    Documents are ranked by ``ts_rank``, equal ones by their name.

    Each query is one read-only transaction with a time limit. What is not in `dsn` comes from the
    usual places (``PGHOST``, ``PGPASSWORD``, ``.pgpass``, a service); note that the name of the
    user of this machine is what the server is told if no other is given.

    With `sslmode` ``auto`` a connection to another machine is encrypted or not made, whatever
    `dsn`, the environment or a service say; stricter modes that they name count. Sockets and the
    loopback are left to them. ``require`` does not check whose certificate it is; ``verify-full``
    does.
    """

    name: ClassVar[str] = "postgres"

    dsn: Annotated[str, AfterValidator(_check_dsn)] = Field(
        default="",
        max_length=2_000,
        description="connection string without a password",
        examples=["host=localhost dbname=library"],
    )
    table: Table = Field(
        description="name of the table or view, with its schema if need be",
        examples=["documents"],
    )
    id: Name = Field(default="id", description="column with the name of a document")
    title: NoName = Field(default="", description="column with the title; '' for none")
    text: Name = Field(default="text", description="column with the text")
    vector: NoName = Field(
        default="", description="column of type tsvector to search; '' makes one of the text"
    )
    config: Name = Field(default="english", description="text search configuration")
    match: Literal["any", "all"] = Field(
        default="any", description="whether a document must hold any or all words of the query"
    )
    sslmode: Literal["auto", "disable", "prefer", "require", "verify-ca", "verify-full"] = Field(
        default="auto",
        validate_default=True,
        description="encryption; auto: at least 'require', but for sockets and the loopback",
    )
    timeout: Timeout = 15.0

    @field_validator("sslmode")
    @classmethod
    def _check_sslmode(cls, mode: str, info: ValidationInfo) -> str:
        other = conninfo.conninfo_to_dict(info.data.get("dsn", "")).get("sslmode")
        if mode != "auto" and other and other != mode:
            raise PydanticCustomError("sslmode", "must not differ from the sslmode in 'dsn'")
        return mode

    def require_reachable(self) -> None:
        """Connect, as the user of the database, and ask nothing."""
        self._connect().close()

    def ask(self, query: Released, k: int) -> list[Hit]:
        """Send one query, and return what the server lists."""
        try:
            rows = self._rows(query, k)
            hits = [hit(label(name), score, title, text) for name, score, title, text in rows]
        except (psycopg.Error, TimeoutError, TooMuchError, ValueError) as error:
            raise self._failure(error) from None
        return [each for each in hits if each.id]

    def _rows(self, query: str, k: int) -> list[tuple[Any, ...]]:
        given = {"query": str(query), "config": self.config, "k": k}
        given |= {"id": MAX_ID + 1, "title": MAX_TITLE, "text": MAX_TEXT}
        connection = self._connect()
        most = _BYTES + _BYTES_PER_ITEM * k
        with closing(connection), watched(connection.fileno(), self.timeout, most, psycopg.Error):
            connection.read_only = True
            limit = f"{max(1, round(1000 * self.timeout))}"
            connection.execute("SELECT set_config('statement_timeout', %s, true)", [limit])
            rows: list[tuple[Any, ...]] = []
            for row in connection.cursor().stream(self._statement(), given):
                rows.append(row)
                if len(rows) > k:  # closed first: such a server is asked for nothing any more
                    connection.close()
                    raise TooMuchError
        return rows

    def _connect(self) -> Any:  # noqa: ANN401 - psycopg's
        """Connect, encrypted as `sslmode` says; until this is done, no query is sent."""
        try:
            return psycopg.connect(
                self.dsn,
                connect_timeout=max(2, round(self.timeout)),  # 2 is the least that libpq knows
                application_name="search",
                client_encoding="UTF8",
                sslmode=mode_of(conninfo.conninfo_to_dict(self.dsn), self.sslmode),
                context=_texts(),
            )
        except psycopg.errors.ConnectionTimeout:
            late = f"gave no answer within {self.timeout:g} s"
            raise NoAnswer(f"{self._who} {late}.", again=True, sent=False) from None
        except (psycopg.Error, ValueError) as error:
            raise _unconnected(self._who, str(error)) from None

    @property
    def _who(self) -> str:
        host = str(conninfo.conninfo_to_dict(self.dsn).get("host") or "")
        return f"The database at {host}" if host and "/" not in host else "The database"

    def _statement(self) -> sql.Composed:
        """Put names, and only names, into the statement; the query is a parameter."""
        text = _text(self.text)
        title = _text(self.title) if self.title else sql.SQL("''")
        words = sql.SQL(" || ' ' || ").join([title, text]) if self.title else text
        vector = sql.SQL("to_tsvector(%(config)s::regconfig, {})").format(words)
        return sql.SQL(_ANY if self.match == "any" else _ALL).format(
            id=sql.Identifier("t", self.id),
            title=title,
            text=text,
            vector=sql.Identifier("t", self.vector) if self.vector else vector,
            table=sql.Identifier(*self.table.split(".")),
        )

    def _failure(self, error: Exception) -> NoAnswer:
        name = self._who
        if isinstance(error, TimeoutError):
            return NoAnswer(f"{name} gave no answer within {self.timeout:g} s.", again=True)
        if isinstance(error, TooMuchError):
            return NoAnswer(f"{name} answered with more than what was asked for.")
        if not isinstance(error, psycopg.Error):
            return NoAnswer(f"{name} answered with something that is not what was asked for.")
        if error.sqlstate is not None:
            meaning = _MEANING.get(error.sqlstate, "refused the query")
            again = error.sqlstate[:2] in _AGAIN
            return NoAnswer(f"{name} {meaning} ({error.sqlstate}).", again=again)
        return NoAnswer(f"{name} closed the connection without an answer.", again=True)


def _unconnected(name: str, said: str) -> NoAnswer:
    """Say why there is no connection; what was said itself is not told."""
    if ("SSL" in said or "certificate" in said) and "FATAL:" not in said:
        return NoAnswer(
            f"{name} does not speak TLS as 'sslmode' asks for, so that it was told nothing; switch"
            " TLS on there, check its certificate, or set 'sslmode'.",
            sent=False,
        )
    if "FATAL:" in said or "password" in said:
        again = any(words in said for words in ("too many", "starting up", "shutting down"))
        return NoAnswer(
            f"{name} does not let this user in; check the 'dsn' parameter and PGPASSWORD.",
            again=again,
            sent=False,
        )
    return NoAnswer(f"{name} cannot be reached; check that it runs.", again=True, sent=False)


@cache
def _texts() -> AdaptersMap:
    """Read every column as a text, whatever type a server says that it has."""
    adapters = AdaptersMap(psycopg.adapters)
    for kind in psycopg.adapters.types:
        for number_ in (kind.oid, kind.array_oid):
            adapters.register_loader(number_, TextLoader)
            adapters.register_loader(number_, TextBinaryLoader)
    return adapters


def _text(column: str) -> sql.Composed:
    return sql.SQL("coalesce({}::text, '')").format(sql.Identifier("t", column))


_ALL = """
SELECT left({id}::text, %(id)s), ts_rank({vector}, asked.q), left({title}, %(title)s),
    left({text}, %(text)s)
FROM {table} AS t, (SELECT plainto_tsquery(%(config)s::regconfig, %(query)s) AS q) AS asked
WHERE {vector} @@ asked.q
ORDER BY 2 DESC, 1
LIMIT %(k)s
"""
# The text form of a query is 'one' & 'two': a quote inside a word is doubled, so that the string
# quote-blank-ampersand-blank-quote is found between words only.
_ANY = _ALL.replace(
    "plainto_tsquery(%(config)s::regconfig, %(query)s)",
    "replace(plainto_tsquery(%(config)s::regconfig, %(query)s)::text,"
    " $$' & '$$, $$' | '$$)::tsquery",
)
