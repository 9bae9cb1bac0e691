"""The page of places: open a file, move a method along the plane, see the map, take the file."""

from veil.places.plane import LADDERS
from veil.web.pages.markup import ON, Common, Markup, tag, void
from veil.web.pages.shell import document

_WHAT = (
    "Mask the points of a file. It is read by this server alone and not kept; what you download"
    " holds masked coordinates in a random order, and nothing else."
)
_ONCE = (
    "Each masked file that you publish is a release of its own: fresh noise on the same points"
    " averages out. Try here as often as you like, and publish one."
)


def places(common: Common) -> str:
    """Return the page; a script does the rest."""
    return document(
        "Places",
        tag("h1", "Places"),
        tag("p", _WHAT, class_="lead"),
        tag(
            "noscript",
            tag("p", "This page needs scripts; without them use 'veil places' in a terminal."),
        ),
        _form(),
        tag("p", "", id="places-told", role="status", class_="working"),
        tag("div", _slider(), _map(), id="places-found", hidden=ON, class_="places-found"),
        common=common,
        here="/places",
        kind="places",
        scripts=("places.js",),
    )


def _form() -> Markup:
    methods = [tag("option", name, value=name) for name in LADDERS]
    files = ".csv,.geojson,.json"
    return tag(
        "div",
        _field(
            "Points", void("input", type="file", id="places-file", accept=files), "places-file"
        ),
        _field(
            "Addresses that an attacker has (optional)",
            void("input", type="file", id="places-register", accept=files),
            "places-register",
        ),
        _field(
            "Coordinates",
            tag(
                "select",
                tag("option", "as the file says", value=""),
                tag("option", "metres of a plane", value="metres"),
                tag("option", "longitude and latitude (EPSG:4326)", value="EPSG:4326"),
                tag("option", "British National Grid (EPSG:27700)", value="EPSG:27700"),
                tag("option", "Web Mercator (EPSG:3857)", value="EPSG:3857"),
                id="places-crs",
            ),
            "places-crs",
        ),
        _field("Method", tag("select", *methods, id="places-method"), "places-method"),
        class_="places-form",
    )


def _field(label: str, control: Markup, name: str) -> Markup:
    return tag("p", tag("label", label, for_=name), control)


def _slider() -> Markup:
    return tag(
        "div",
        tag("div", id="places-plane"),
        tag("label", "Weaker to stronger", for_="places-stop"),
        void("input", type="range", id="places-stop", min="0", max="8", value="4"),
        tag("p", tag("code", "", id="places-spec")),
        tag("p", "", id="places-figures"),
        tag("p", "", id="places-cost", class_="hint"),
        tag(
            "p",
            void("input", type="checkbox", id="places-original"),
            tag("label", " show the true points (not for release)", for_="places-original"),
        ),
        tag(
            "p",
            tag("label", "File ", for_="places-out"),
            tag(
                "select",
                tag("option", "CSV", value="csv"),
                tag("option", "GeoJSON", value="geojson"),
                id="places-out",
            ),
            " ",
            tag("a", "Download", id="places-download", class_="button"),
        ),
        tag("p", _ONCE, class_="hint"),
        class_="places-side",
    )


def _map() -> Markup:
    return tag("div", id="places-map", class_="places-map")
