"""The whole application: routes behind the entrance, the guard and the handler of errors."""

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

_LOOKS = 4  # pages and short calls at once


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
    """Return the application that serves the pages and the interface.

    Parameters
    ----------
    desk, plane
        The desk that searches, and the measured plane of the slider.
    token
        Callers need it; `veil.web.token.own_token` returns that of this installation.
    hosts
        Accepted values of ``Host``, as ``127.0.0.1:8765``; with ``https://`` in front if a proxy
        encrypts.
    vectors
        Opens the word vectors for ``/api/protect`` and ``/api/explain`` when first needed.
    rate
        Searches and calls of the interface in a minute, of all callers together.
    at_once, waiting
        Searches that run at the same time, and that wait; more are refused.
    patience
        Seconds for a request to arrive as a whole.
    note
        Receives the place of an unexpected error, in words that quote nothing.
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
