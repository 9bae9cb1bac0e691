"""The pages, as HTML that works without scripts; the templates escape everything."""

from veil.web.pages.home import Kind, confirm, home, plane, refused
from veil.web.pages.ledger import ledger
from veil.web.pages.results import results
from veil.web.pages.shell import Back, Common, added, entered, entrance, error, render

__all__ = [
    "Back",
    "Common",
    "Kind",
    "added",
    "confirm",
    "entered",
    "entrance",
    "error",
    "home",
    "ledger",
    "plane",
    "refused",
    "render",
    "results",
]
