"""PostgreSQL full-text search."""

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


def mode_of(settings: Mapping[str, object], declared: str) -> str:
    """Return libpq's sslmode for a connection.

    `declared`, the engine's parameter, takes precedence. With ``auto`` the mode comes from
    `settings` (the parsed connection string) or the environment, but is at least ``require`` if
    the connection leaves this machine.
    """
    if declared != "auto":
        return declared
    mode = str(settings.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer")
    if mode not in MODES:
        return "require"  # libpq would refuse the mode, or read it from another source
    return mode if stays_here(settings) else max(mode, "require", key=MODES.index)


def stays_here(settings: Mapping[str, object]) -> bool:
    """Return whether every host that libpq may connect to is certainly this machine.

    A service can name any host, so it counts as another machine.
    """
    if settings.get("service") or settings.get("servicefile") or os.environ.get("PGSERVICE"):
        return False
    hosts, addresses = (
        str(settings.get(name) or os.environ.get(variable) or "").split(",")
        for name, variable in (("host", "PGHOST"), ("hostaddr", "PGHOSTADDR"))
    )
    targets = zip_longest(addresses, hosts, fillvalue="")
    return all(_is_here((address or host).strip()) for address, host in targets)


def _is_here(target: str) -> bool:
    if not target or target.startswith(("/", "@")) or target == "localhost":
        return True  # a Unix socket or this machine; libpq's default is one of the two
    try:
        return ipaddress.ip_address(target).is_loopback
    except ValueError:
        return False


_INTERVAL = 0.02  # seconds between two checks of a connection
_RECEIVED = 128  # offset of tcpi_bytes_received in Linux's struct tcp_info


@contextmanager
def watched(number: int, seconds: float, most: int, failure: type[Exception]) -> Iterator[None]:
    """Close a connection after `seconds` or `most` bytes, because a server may ignore limits.

    Bytes are counted only on Linux over TCP.

    Parameters
    ----------
    number
        The file descriptor of the connection.
    failure
        The exception that the library raises when its connection is closed.

    Raises
    ------
    TimeoutError, TooMuchError
        Instead of `failure`.
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
    """Return the number of bytes received so far, or 0 if the system does not report it."""
    if sys.platform != "linux":
        return 0
    try:
        tcp_info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED + 8)
        (count,) = struct.unpack_from("=Q", tcp_info, _RECEIVED)
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
            if ended.wait(deadline.remaining(_INTERVAL)):
                return
        reasons.append(TooMuchError())
    except TimeoutError as late:
        reasons.append(late)
    with suppress(OSError):  # already closed
        sock.shutdown(socket.SHUT_RDWR)


_MEANING = {  # by SQLSTATE: the server's messages quote the query
    "42501": "does not allow this user to read the table",
    "42703": "has no such column: check 'id', 'title', 'text' and 'vector'",
    "42704": "has no such text search configuration: check the 'config' parameter",
    "42804": "cannot search that column: check the 'vector' parameter",
    "42883": "cannot search that column: check the 'vector' parameter",
    "42P01": "has no such table: check the 'table' parameter",
    "57014": "did not finish in time",
}
_AGAIN = ("08", "40", "53", "57")  # classes: connection, rollback, resources, operator
_BYTES = 2**20  # of any answer
_BYTES_PER_ITEM = 4 * (MAX_ID + MAX_TITLE + MAX_TEXT)  # a character takes at most four bytes


def _check_dsn(dsn: str) -> str:
    try:
        settings = conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        raise PydanticCustomError("dsn", "must be a PostgreSQL connection string") from None
    if any(key in settings for key in ("password", "sslpassword")):
        raise PydanticCustomError(
            "dsn", "must not contain a password. Use PGPASSWORD, a .pgpass file or a service"
        )
    return dsn


_NAME = r"[^.\0]{1,63}"
Name = Annotated[str, shaped(_NAME, "a name of 1 to 63 characters without a dot")]
NoName = Annotated[str, shaped(rf"({_NAME})?", "a name of at most 63 characters without a dot")]
Table = Annotated[str, shaped(rf"{_NAME}(\.{_NAME})?", "a name such as documents or web.pages")]


class Postgres(Remote):
    r"""Full-text search of one table, with a new connection for each query.

    Documents are ranked by ``ts_rank``, ties by id.

    Each query is one read-only transaction with a time limit. Settings that `dsn` lacks come from
    the usual sources (``PGHOST``, ``PGPASSWORD``, ``.pgpass``, a service). Without a user name,
    the server receives the login name of this machine's user.

    With `sslmode` ``auto``, a connection to another machine is always encrypted, even if `dsn`,
    the environment or a service names a weaker mode; stricter modes apply. For Unix sockets and
    the loopback, the named mode applies. ``require`` does not verify the certificate;
    ``verify-full`` does.
    """

    name: ClassVar[str] = "postgres"

    dsn: Annotated[str, AfterValidator(_check_dsn)] = Field(
        default="",
        max_length=2_000,
        description="connection string without a password",
        examples=["host=localhost dbname=library"],
    )
    table: Table = Field(
        description="name of the table or view, with its schema if needed",
        examples=["documents"],
    )
    id: Name = Field(default="id", description="column with the id of a document")
    title: NoName = Field(default="", description="column with the title; '' for none")
    text: Name = Field(default="text", description="column with the text")
    vector: NoName = Field(
        default="", description="column of type tsvector to search; '' computes it from the text"
    )
    config: Name = Field(default="english", description="text search configuration")
    match: Literal["any", "all"] = Field(
        default="any", description="whether a document must contain any or all words of the query"
    )
    sslmode: Literal["auto", "disable", "prefer", "require", "verify-ca", "verify-full"] = Field(
        default="auto",
        validate_default=True,
        description="encryption; auto: at least 'require', except for sockets and the loopback",
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
        """Connect as the database user, without sending a query."""
        self._connect().close()

    def ask(self, query: Released, k: int) -> list[Hit]:
        """Send one query and return the hits."""
        try:
            rows = self._rows(query, k)
            hits = [hit(label(name), score, title, text) for name, score, title, text in rows]
        except (psycopg.Error, TimeoutError, TooMuchError, ValueError) as error:
            raise self._failure(error) from None
        return [item for item in hits if item.id]

    def _rows(self, query: str, k: int) -> list[tuple[Any, ...]]:
        params = {"query": str(query), "config": self.config, "k": k}
        params |= {"id": MAX_ID + 1, "title": MAX_TITLE, "text": MAX_TEXT}
        connection = self._connect()
        most = _BYTES + _BYTES_PER_ITEM * k
        with closing(connection), watched(connection.fileno(), self.timeout, most, psycopg.Error):
            connection.read_only = True
            limit = f"{max(1, round(1000 * self.timeout))}"
            connection.execute("SELECT set_config('statement_timeout', %s, true)", [limit])
            rows: list[tuple[Any, ...]] = []
            for row in connection.cursor().stream(self._statement(), params):
                rows.append(row)
                if len(rows) > k:  # close first, so that nothing more is read from this server
                    connection.close()
                    raise TooMuchError
        return rows

    def _connect(self) -> Any:  # noqa: ANN401 - psycopg's
        """Connect, encrypted as `sslmode` requires. No query is sent before that."""
        try:
            return psycopg.connect(
                self.dsn,
                connect_timeout=max(2, round(self.timeout)),  # libpq's minimum is 2
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
        """Return the statement with the names filled in. The query stays a parameter."""
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
            return NoAnswer(f"{name} answered with more than was requested.")
        if not isinstance(error, psycopg.Error):
            return NoAnswer(f"{name} answered with unexpected data.")
        if error.sqlstate is not None:
            meaning = _MEANING.get(error.sqlstate, "refused the query")
            again = error.sqlstate[:2] in _AGAIN
            return NoAnswer(f"{name} {meaning} ({error.sqlstate}).", again=again)
        return NoAnswer(f"{name} closed the connection without an answer.", again=True)


def _unconnected(name: str, message: str) -> NoAnswer:
    """Return the reason why the connection failed, without quoting libpq's message."""
    if ("SSL" in message or "certificate" in message) and "FATAL:" not in message:
        return NoAnswer(
            f"{name} does not support TLS as 'sslmode' requires. No query was sent. Enable TLS on"
            " the server, check its certificate, or set 'sslmode'.",
            sent=False,
        )
    if "FATAL:" in message or "password" in message:
        again = any(words in message for words in ("too many", "starting up", "shutting down"))
        return NoAnswer(
            f"{name} rejects this user. Check the 'dsn' parameter and PGPASSWORD.",
            again=again,
            sent=False,
        )
    return NoAnswer(f"{name} cannot be reached. Check that it is running.", again=True, sent=False)


@cache
def _texts() -> AdaptersMap:
    """Read every column as text, regardless of the declared type."""
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
# The text form of a query is 'knee' & 'pain'. Quotes inside a word are doubled, so the string
# quote-space-ampersand-space-quote only occurs between words.
_ANY = _ALL.replace(
    "plainto_tsquery(%(config)s::regconfig, %(query)s)",
    "replace(plainto_tsquery(%(config)s::regconfig, %(query)s)::text,"
    " $$' & '$$, $$' | '$$)::tsquery",
)
