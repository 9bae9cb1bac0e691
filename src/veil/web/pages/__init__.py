"""The pages, as HTML that needs no script; their templates escape everything."""

from veil.web.pages.home import Kind, held, home, plane, refused
from veil.web.pages.ledger import ledger
from veil.web.pages.results import results
from veil.web.pages.shell import Back, Common, added, entered, entrance, error, render

__all__ = [
    "Back",
    "Common",
    "Kind",
    "added",
    "entered",
    "entrance",
    "error",
    "held",
    "home",
    "ledger",
    "plane",
    "refused",
    "render",
    "results",
]
