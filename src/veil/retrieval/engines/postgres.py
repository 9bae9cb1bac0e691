"""PostgreSQL full text search."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from veil.core.errors import MissingExtraError
from veil.core.types import Released
from veil.retrieval.engines._answer import MAX_TEXT, MAX_TITLE, label, number, plain
from veil.retrieval.engines._fields import Timeout, shaped
from veil.retrieval.engines._network import NoAnswer, Remote
from veil.retrieval.engines.engine import Hit

try:
    import psycopg
    from psycopg import conninfo, sql
except ImportError as error:
    raise MissingExtraError(
        "The postgres engine needs psycopg: pip install 'veil[postgres]'."
    ) from error

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
    timeout: Timeout = 15.0

    def _ask(self, query: Released, k: int) -> list[Hit]:
        try:
            rows = self._rows(query, k)
        except (psycopg.Error, TimeoutError) as error:
            raise self._failure(error) from None
        hits = (
            Hit(label(name), number(score), plain(title, MAX_TITLE), plain(text, MAX_TEXT))
            for name, score, title, text in rows
        )
        return [hit for hit in hits if hit.id]

    def _rows(self, query: str, k: int) -> list[tuple[Any, ...]]:
        given = {"query": str(query), "config": self.config, "k": k}
        given |= {"title": MAX_TITLE, "text": MAX_TEXT}
        connection = psycopg.connect(
            self.dsn,
            connect_timeout=max(2, round(self.timeout)),  # 2 is the least that libpq knows
            application_name="search",
            client_encoding="UTF8",
        )
        with closing(connection), _watched(connection, self.timeout):
            connection.read_only = True
            limit = f"{max(1, round(1000 * self.timeout))}"
            connection.execute("SELECT set_config('statement_timeout', %s, true)", [limit])
            rows: list[tuple[Any, ...]] = connection.execute(self._statement(), given).fetchall()
        return rows

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

    def _failure(self, error: psycopg.Error | TimeoutError) -> NoAnswer:
        host = str(conninfo.conninfo_to_dict(self.dsn).get("host") or "")
        name = f"The database at {host}" if host and "/" not in host else "The database"
        if isinstance(error, TimeoutError | psycopg.errors.ConnectionTimeout):
            return NoAnswer(f"{name} gave no answer within {self.timeout:g} s.", again=True)
        if error.sqlstate is not None:
            meaning = _MEANING.get(error.sqlstate, "refused the query")
            again = error.sqlstate[:2] in _AGAIN
            return NoAnswer(f"{name} {meaning} ({error.sqlstate}).", again=again)
        said = str(error)  # of a failed connection there is no state, only the server's words
        if "FATAL:" in said or "password" in said:
            again = any(words in said for words in ("too many", "starting up", "shutting down"))
            return NoAnswer(
                f"{name} does not let this user in; check the 'dsn' parameter and PGPASSWORD.",
                again=again,
            )
        return NoAnswer(f"{name} cannot be reached; check that it runs.", again=True)


def _text(column: str) -> sql.Composed:
    return sql.SQL("coalesce({}::text, '')").format(sql.Identifier("t", column))


_ALL = """
SELECT {id}::text, ts_rank({vector}, asked.q), left({title}, %(title)s), left({text}, %(text)s)
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


@contextmanager
def _watched(connection: Any, seconds: float) -> Iterator[None]:  # noqa: ANN401 - psycopg's
    """Cut a connection after some seconds: a server need not keep to its own time limit."""
    with closing(socket.socket(fileno=socket.dup(connection.fileno()))) as sock:
        late = threading.Event()
        timer = threading.Timer(seconds, _cut, [sock, late])
        timer.daemon = True
        timer.start()
        try:
            yield
        except psycopg.Error:
            if late.is_set():
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()
            timer.join()


def _cut(sock: socket.socket, late: threading.Event) -> None:
    late.set()
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is gone already
