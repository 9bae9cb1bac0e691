"""The files that the pages load: all of them, by name; nothing else is ever read from a disk."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from veil.studies.report import drawing

_CSS, _JS, _SVG = "text/css; charset=utf-8", "text/javascript; charset=utf-8", "image/svg+xml"
_FILES = {"page.css": _CSS, "page.js": _JS, "places.js": _JS, "plane.js": _JS, "icon.svg": _SVG}
_FILES |= dict.fromkeys(("database.js", "sensitive.js", "tables.js"), _JS)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that a page loads from ``/static/``, and of which kind it is."""

    kind: str
    content: bytes


@cache
def assets() -> dict[str, Asset]:
    """Return every file that is served under ``/static/``, by its name.

    The style and the script of the planes are those of `veil.studies.report.drawing`.
    """
    folder = files("veil.web") / "static"
    found = {name: Asset(kind, (folder / name).read_bytes()) for name, kind in _FILES.items()}
    found["drawing.css"] = Asset(_CSS, drawing.STYLE.encode())
    found["drawing.js"] = Asset(_JS, drawing.SCRIPT.encode())
    return found
