"""The style sheets and the script of a report; both optional to the reader."""

from importlib.resources import files


def _read(name: str) -> str:
    return (files("veil.studies.report") / name).read_text(encoding="utf-8")


PLANES = _read("colours.css") + _read("plane.css")  # what planes need wherever they stand
STYLE = _read("colours.css") + _read("page.css") + _read("plane.css") + _read("paper.css")
SCRIPT = _read("page.js")
