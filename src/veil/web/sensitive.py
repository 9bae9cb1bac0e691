"""The page of sensitive documents: one search, for people without and with clearance.

The index is set when the server starts, never by a request. The mechanism alone determines the
answer for people without clearance, and nothing is added to it: a count of withheld documents
would reveal that they exist. The other answer is for people who may see everything, which includes
everybody with the token of this server.
"""

import math
import threading
from collections import OrderedDict
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.registry import read_spec
from veil.proxy.answers import Answer, CostAnswer, Figure, Text
from veil.sensitive.candidates import best, matcher
from veil.sensitive.index import Stored
from veil.sensitive.inputs import check_query
from veil.sensitive.mechanism import Mechanism, Searcher
from veil.sensitive.mechanisms import MECHANISMS
from veil.sensitive.mechanisms import mechanism as strategy_of
from veil.web.asks import Ask, offered, require_offered, settable
from veil.web.messages import Request, Response, StatusError, page
from veil.web.operation import Operation
from veil.web.pages import render
from veil.web.service import Service

DEFAULT = "postfilter"
START = "veil serve --sensitive INDEX"
NONE = f"No index of sensitive documents is open. Start the server with: {START}."
_OPENED = 8  # mechanisms kept open
_TEXT, _TITLE = 240, 200  # characters of a document shown in a list


class Room:
    """An index with the mechanisms most recently opened on it."""

    def __init__(self, stored: Stored) -> None:
        self.stored, self.scene = stored, stored.scene
        self._lock = threading.Lock()
        self._opened: OrderedDict[str, Searcher] = OrderedDict()

    def searcher(self, strategy: Mechanism) -> Searcher:
        """Return a mechanism opened on the index; prefilter builds its own index once."""
        with self._lock:
            spec = str(strategy)
            if spec not in self._opened:
                self._opened[spec] = strategy.open(self.scene)
            self._opened.move_to_end(spec)
            while len(self._opened) > _OPENED:
                self._opened.popitem(last=False)
            return self._opened[spec]


async def show(service: Service, request: Request) -> Response:
    """Show the page that searches an index with and without clearance."""
    room = service.sensitive
    classes = await service.looks.run(request, partial(offered, MECHANISMS, DEFAULT))
    values = {
        "common": await service.common(request),
        "documents": None if room is None else len(room.stored.collection.documents),
        "presets": {name: cls.presets for name, cls in classes.items()},
    }
    return page(render("sensitive.html", values))


class SensitiveAsk(Ask):
    """A search among sensitive documents."""

    verb: ClassVar[str] = "sensitive"

    query: str = Field(
        min_length=1, max_length=1_000, description="query", examples=["gas prices"]
    )
    strategy: str = Field(
        default="postfilter(threshold=0.1)",
        max_length=200,
        description="a mechanism that does not learn",
        examples=["prefilter(threshold=0.1)"],
    )
    k: int = Field(default=10, ge=1, le=50, description="documents per list")

    def check(self) -> None:
        """Reject mechanisms that are not on the page, and empty queries."""
        try:
            check_query(self.query)
        except InputError as error:
            raise StatusError(422, str(error)) from None
        name, parameters = read_spec(self.strategy)
        cls = require_offered(MECHANISMS, name, DEFAULT)
        if not parameters.keys() <= set(settable(cls)) or MECHANISMS.parse(self.strategy).learns:
            raise StatusError(
                422,
                (
                    "The strategy must be a mechanism that does not learn, with numbers and"
                    " choices as parameters."
                ),
            )


class ShownAnswer(Answer):
    """A listed document."""

    id: Text
    title: Text
    text: Text = Field(description="start of the text")


class UnclearedAnswer(Answer):
    """What people without clearance see."""

    strategy: str
    shown: list[ShownAnswer]
    total: int = Field(description="documents that match and may be shown")
    cost: CostAnswer


class SeenAnswer(ShownAnswer):
    """A document listed for people with clearance."""

    p: Figure = Field(description="probability that it is sensitive; null if unknown")
    label: bool | None = Field(description="label given by a human; null if there is no label")
    rank: int | None = Field(
        description=("rank for people without clearance; null if hidden from them")
    )


class ClearedAnswer(Answer):
    """What people with clearance see. Do not show it to anybody else."""

    shown: list[SeenAnswer]
    total: int = Field(description="documents that match")
    withheld: int = Field(
        description=("documents in this list that are withheld from people without clearance")
    )


def uncleared(service: Service, ask: SensitiveAsk) -> UnclearedAnswer:
    """Search for a person without clearance: only the mechanism decides what is shown."""
    room, strategy = _room(service), strategy_of(ask.strategy)
    answer = room.searcher(strategy).answer(ask.query, ask.k)
    return UnclearedAnswer(
        strategy=strategy.brief,
        shown=[ShownAnswer(**_document(room, place)) for place in answer.positions.tolist()],
        total=answer.total,
        cost=CostAnswer.of(strategy.guarantee),
    )


def cleared(service: Service, ask: SensitiveAsk) -> ClearedAnswer:
    """Search for a person with clearance: all documents by relevance, with their rank for others.

    Others are people without clearance.
    """
    room, strategy = _room(service), strategy_of(ask.strategy)
    scores = matcher(room.stored.collection).scores(ask.query)
    every = np.ones(len(scores), dtype=np.bool_)
    others = room.searcher(strategy).answer(ask.query, ask.k).positions.tolist()
    ranks = {place: rank for rank, place in enumerate(others, start=1)}
    shown = [
        _cleared_document(room, place, ranks) for place in best(scores, ask.k, every).tolist()
    ]
    return ClearedAnswer(
        shown=shown,
        total=int((scores > 0).sum()),
        withheld=sum(document.rank is None for document in shown),
    )


def _cleared_document(room: Room, place: int, ranks: dict[int, int]) -> SeenAnswer:
    label = int(room.stored.collection.sensitive[place])
    p = float(room.scene.p[place])
    return SeenAnswer(
        **_document(room, place),
        p=None if math.isnan(p) else p,
        label=None if label < 0 else bool(label),
        rank=ranks.get(place),
    )


def _document(room: Room, place: int) -> dict[str, str]:
    documents = room.stored.collection.documents
    text = " ".join(documents.texts[place][: 4 * _TEXT].split())
    return {
        "id": documents.ids[place][:_TITLE],
        "title": documents.titles[place][:_TITLE],
        "text": text if len(text) <= _TEXT else f"{text[:_TEXT].rstrip()} …",
    }


def _room(service: Service) -> Room:
    if service.sensitive is None:
        raise StatusError(404, NONE)
    return service.sensitive


OPERATIONS = (
    Operation(
        "POST",
        "/api/sensitive/search",
        "Search sensitive documents without clearance. Nothing is stored.",
        uncleared,
        SensitiveAsk,
        UnclearedAnswer,
    ),
    Operation(
        "POST",
        "/api/sensitive/cleared",
        "Search sensitive documents with clearance, and show what people without it see.",
        cleared,
        SensitiveAsk,
        ClearedAnswer,
    ),
)
