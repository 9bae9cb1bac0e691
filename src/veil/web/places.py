"""The places page: a file that the user opens is measured, masked and drawn on this machine.

The points are in memory during a request, and never in a file. True coordinates are only in the
map that a request asks for with the original points; no other answer and no message contains them.
"""

from functools import partial
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from veil.core.registry import read_spec
from veil.data.lines import HeldFile
from veil.drawing.plane import draw_stops, figure_of
from veil.places.formats.files import load, text_of
from veil.places.links import ASSUMED, assumes_metres, distinct
from veil.places.measures import LEAST
from veil.places.mechanisms import MECHANISMS
from veil.places.pictures import drawing
from veil.places.plane import METRES, ladder, plane
from veil.places.points import Points
from veil.places.protect import protect
from veil.places.release import Release
from veil.proxy.answers import Answer, CostAnswer
from veil.web.asks import Ask, offered, require_offered
from veil.web.messages import Request, Response, StatusError, page
from veil.web.operation import Operation, without_service
from veil.web.pages import render
from veil.web.service import Service

DEFAULT = "donut"
MOST = 3_000  # points, and addresses, of a request
_BYTES = 900_000  # of a file
Kind = Literal["csv", "geojson"]


async def show(service: Service, request: Request) -> Response:
    """Show the page where a file of points is opened, masked and drawn."""
    classes = await service.looks.run(request, partial(offered, MECHANISMS, DEFAULT))
    values = {"common": await service.common(request), "mechanisms": list(classes)}
    return page(render("places.html", values))


class File(BaseModel):
    """A file of points, as text."""

    text: str = Field(
        max_length=_BYTES, description="content of the file", examples=["x,y\n1,2\n"]
    )
    format: Kind = Field(default="csv", description="csv or geojson")


class PlacesAsk(Ask):
    """Points, and their coordinate system."""

    verb: ClassVar[str] = "places"

    points: File = Field(description="the file of the points")
    crs: str | None = Field(
        default=None,
        max_length=20,
        description="EPSG:4326, or metres of a plane; null: as the file says",
    )

    def opened(self, file: File, what: str) -> Points:
        """Read points from memory: the user's file is never written to disk."""
        memory_file = HeldFile(f"{what}.{file.format}", file.text)
        points = load(memory_file, crs=self.crs if file.format == "csv" else None)
        if len(points) > MOST:
            raise StatusError(
                422,
                f"The file must have at most {MOST:,} rows on this page. Try 'veil places' on"
                " the command line.",
            )
        return points


class PlacesPlaneAsk(PlacesAsk):
    """Points to place on the risk-utility plane, with several strengths of a mechanism."""

    method: str = Field(default=DEFAULT, max_length=200, description="name of a mechanism")
    addresses: File | None = Field(
        default=None,
        description="addresses among which the attacker guesses; null: the points themselves",
    )

    @property
    def weight(self) -> int:
        """Every strength is a release, an attack and a comparison."""
        return len(METRES)

    def check(self) -> None:
        """Reject a mechanism that the page does not offer."""
        require_offered(MECHANISMS, self.method, DEFAULT)


class PlacesProtectAsk(PlacesAsk):
    """Points to mask. Samples are fresh: a seed is not accepted."""

    method: str = Field(
        max_length=200, description="spec of a mechanism", examples=["donut(low=5, high=50)"]
    )
    out: Kind = Field(default="csv", description="format of the masked file")
    original: bool = Field(
        default=False, description="whether the map shows the true points: not for release"
    )

    def check(self) -> None:
        """Reject a mechanism that the page does not offer, because others open files."""
        require_offered(MECHANISMS, read_spec(self.method)[0], DEFAULT)


class StopAnswer(Answer):
    """One strength of a mechanism, and its risk and utility, measured once."""

    spec: str
    metres: int
    risk: float = Field(description="share of points that the first guess identifies")
    utility: float = Field(description="structure kept, from 0 to 1")


class PlacesPlaneAnswer(Answer):
    """The strengths of a mechanism on the plane, weakest first."""

    stops: list[StopAnswer]
    points: int
    addresses: int = Field(description="number of addresses among which the attacker guesses")
    svg: str = Field(description="the plane, as a drawing")


class PlacesProtectAnswer(Answer):
    """A release: its file, its map, and what is proved."""

    method: str
    file: str = Field(description="the masked points, in a random order")
    svg: str = Field(description="the map, as a drawing")
    beside: list[str] = Field(
        description="drawings with the true points: density before and after, and displacements"
    )
    cost: CostAnswer


def compare_strengths(ask: PlacesPlaneAsk) -> PlacesPlaneAnswer:
    """Mask points with each strength of a mechanism, attack the releases, and compare them."""
    points = ask.opened(ask.points, "points")
    register = distinct(points)
    if ask.addresses is not None:
        register = ask.opened(ask.addresses, "register")
    rows = plane(points, ladder(ask.method), register, "bayes")
    return PlacesPlaneAnswer(
        stops=[
            StopAnswer(spec=row.spec, metres=metres, risk=row.risk, utility=row.utility)
            for row, metres in zip(rows, METRES, strict=True)
        ],
        points=len(points),
        addresses=len(register),
        svg=draw_stops(
            ask.method,
            [(row.spec, figure_of(row.risk), figure_of(row.utility)) for row in rows],
        ),
    )


def _comparisons(release: Release, points: Points) -> list[str]:
    if len(points) < LEAST:  # too few for a density
        return []
    return [drawing(release, points, kind="density"), drawing(release, points, kind="rose")]


def protect_points(ask: PlacesProtectAsk) -> PlacesProtectAnswer:
    """Mask points, draw them, and write them to a file."""
    points = ask.opened(ask.points, "points")
    release = protect(points, ask.method)
    cost = release.cost
    if assumes_metres(f"points.{ask.points.format}", points, ask.crs):
        cost = cost.with_caveat(f"{ASSUMED}.")
    return PlacesProtectAnswer(
        method=release.method,
        file=text_of(release, f".{ask.out}"),
        svg=drawing(release, points if ask.original else None),
        beside=_comparisons(release, points) if ask.original else [],
        cost=CostAnswer.of(cost),
    )


OPERATIONS = (
    Operation(
        "POST",
        "/api/places/plane",
        (
            "Measure the risk and utility of masked points at several strengths of a mechanism."
            " Nothing is stored."
        ),
        without_service(compare_strengths),
        PlacesPlaneAsk,
        PlacesPlaneAnswer,
    ),
    Operation(
        "POST",
        "/api/places/protect",
        "Mask points, and draw them. Nothing is stored or counted in the ledger.",
        without_service(protect_points),
        PlacesProtectAsk,
        PlacesProtectAnswer,
    ),
)
