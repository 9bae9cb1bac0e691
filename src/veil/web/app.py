"""Build the web application: routes behind access control and error handling."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from veil.proxy.desk import Desk
from veil.proxy.preparation import LazyEmbeddings
from veil.proxy.slider import MeasuredPlane
from veil.text.vectors.catalogue import load_embeddings
from veil.text.vectors.embeddings import Embeddings
from veil.web.guard import Entrance, Guard, origins
from veil.web.messages import ASGIApp, ErrorHandler, SecurityHeaders
from veil.web.routes import application
from veil.web.sensitive import Room
from veil.web.service import RateLimit, Service, Slider, WorkQueue

if TYPE_CHECKING:
    from veil.dp.sql.database import Database
    from veil.sensitive.index import Stored

_LOOKS = 4  # concurrent pages and short calls


def _ignore(message: str) -> None:
    del message


def make_app(
    desk: Desk,
    plane: MeasuredPlane,
    *,
    token: str,
    hosts: Collection[str],
    vectors: Callable[[], Embeddings] = lambda: load_embeddings("glove-100d"),
    rate: int = 120,
    at_once: int = 8,
    waiting: int = 64,
    patience: float = 10.0,
    note: Callable[[str], None] = _ignore,
    database: "Database | None" = None,
    sensitive: "Stored | None" = None,
) -> ASGIApp:
    """Return the application that serves the pages and the HTTP interface.

    Parameters
    ----------
    desk, plane
        The private search, and the measured plane of the slider.
    token
        Token that callers must send; `veil.web.token.own_token` returns this installation's.
    hosts
        Accepted values of ``Host``, such as ``127.0.0.1:8765``; with ``https://`` in front if a
        proxy encrypts.
    vectors
        Opens the word vectors for ``/api/protect`` and ``/api/explain`` when first needed.
    rate
        Searches and API calls per minute, by all callers together.
    at_once, waiting
        Concurrent searches, and waiting ones; more are refused.
    patience
        Seconds within which a request must arrive completely.
    note
        Receives the location of an unexpected error, which quotes nothing.
    database
        The database for questions in SQL (`veil.dp.connect`), or None.
    sensitive
        An opened index of ``veil sensitive index``, or None.
    """
    service = Service(
        desk,
        plane,
        LazyEmbeddings(vectors),
        RateLimit(rate),
        WorkQueue(at_once, waiting),
        WorkQueue(_LOOKS, 16 * _LOOKS),
        Slider.of(desk, plane),
        patience=patience,
        database=database,
        sensitive=None if sensitive is None else Room(sensitive),
    )
    inside = Entrance(application(service), token, patience)
    return SecurityHeaders(ErrorHandler(Guard(inside, origins(hosts)), note))
