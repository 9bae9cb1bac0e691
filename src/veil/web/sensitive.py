"""The page of sensitive documents: one search, for people without and with clearance.

The index is named when the server starts, and never by a request. The strategy alone makes the
answer for people without clearance, which holds nothing else: a count of what is withheld would
reveal that it exists. The other answer is for people who may see everything, as everybody with the
token of this server can: it is their index.
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
NONE = f"No index of sensitive documents was named when this server was started: {START}."
_OPENED = 8  # strategies that are kept open
_TEXT, _TITLE = 240, 200  # characters of a document that a list shows


class Room:
    """An index with the strategies that were opened on it last."""

    def __init__(self, stored: Stored) -> None:
        self.stored, self.scene = stored, stored.scene
        self._lock = threading.Lock()
        self._opened: OrderedDict[str, Searcher] = OrderedDict()

    def searcher(self, strategy: Mechanism) -> Searcher:
        """Return a strategy opened on the index; prefilter indexes anew, once."""
        with self._lock:
            spec = str(strategy)
            if spec not in self._opened:
                self._opened[spec] = strategy.open(self.scene)
            self._opened.move_to_end(spec)
            while len(self._opened) > _OPENED:
                self._opened.popitem(last=False)
            return self._opened[spec]


async def show(service: Service, request: Request) -> Response:
    """Show where an index is searched as somebody who is not cleared, and as somebody who is."""
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
        min_length=1, max_length=1_000, description="what is looked for", examples=["gas prices"]
    )
    strategy: str = Field(
        default="postfilter(threshold=0.1)",
        max_length=200,
        description="what decides: a strategy that does not learn",
        examples=["prefilter(threshold=0.1)"],
    )
    k: int = Field(default=10, ge=1, le=50, description="documents of a list")

    def check(self) -> None:
        """Refuse strategies that are not on the page, and empty queries."""
        try:
            check_query(self.query)
        except InputError as error:
            raise StatusError(422, str(error)) from None
        name, parameters = read_spec(self.strategy)
        cls = require_offered(MECHANISMS, name, DEFAULT)
        if not parameters.keys() <= set(settable(cls)) or MECHANISMS.parse(self.strategy).learns:
            raise StatusError(
                422, "This page knows strategies that do not learn, by their numbers and choices."
            )


class ShownAnswer(Answer):
    """A document of a list."""

    id: Text
    title: Text
    text: Text = Field(description="how it begins")


class UnclearedAnswer(Answer):
    """What people without clearance see, and nothing else."""

    strategy: str
    shown: list[ShownAnswer]
    total: int = Field(description="documents that match and may be shown")
    cost: CostAnswer


class SeenAnswer(ShownAnswer):
    """A document of the list for people with clearance."""

    p: Figure = Field(description="how likely it is sensitive; null where nothing is known")
    label: bool | None = Field(description="what a human said; null: nothing")
    rank: int | None = Field(description="its rank for the others; null where it is not shown")


class ClearedAnswer(Answer):
    """What people with clearance see. Not to be shown to anybody else."""

    shown: list[SeenAnswer]
    total: int = Field(description="documents that match")
    withheld: int = Field(description="documents of this list that the others do not see")


def uncleared(service: Service, ask: SensitiveAsk) -> UnclearedAnswer:
    """Search for somebody who is not cleared: the strategy alone decides what is shown."""
    room, strategy = _room(service), strategy_of(ask.strategy)
    answer = room.searcher(strategy).answer(ask.query, ask.k)
    return UnclearedAnswer(
        strategy=strategy.brief,
        shown=[ShownAnswer(**_document(room, place)) for place in answer.positions.tolist()],
        total=answer.total,
        cost=CostAnswer.of(strategy.guarantee),
    )


def cleared(service: Service, ask: SensitiveAsk) -> ClearedAnswer:
    """Search for somebody who is cleared: all by relevance, and which of it the others see."""
    room, strategy = _room(service), strategy_of(ask.strategy)
    scores = matcher(room.stored.collection).scores(ask.query)
    every = np.ones(len(scores), dtype=np.bool_)
    others = room.searcher(strategy).answer(ask.query, ask.k).positions.tolist()
    ranks = {place: rank for rank, place in enumerate(others, start=1)}
    shown = [_seen(room, place, ranks) for place in best(scores, ask.k, every).tolist()]
    return ClearedAnswer(
        shown=shown,
        total=int((scores > 0).sum()),
        withheld=sum(document.rank is None for document in shown),
    )


def _seen(room: Room, place: int, ranks: dict[int, int]) -> SeenAnswer:
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
        "Search among sensitive documents as somebody who is not cleared. Nothing is kept.",
        uncleared,
        SensitiveAsk,
        UnclearedAnswer,
    ),
    Operation(
        "POST",
        "/api/sensitive/cleared",
        "Search among them as somebody who is cleared, beside what the others see.",
        cleared,
        SensitiveAsk,
        ClearedAnswer,
    ),
)
