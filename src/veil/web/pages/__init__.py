"""The pages, as HTML that needs no script: everything in them is escaped."""

from veil.web.pages._home import Kind, held, home, plane, refused
from veil.web.pages._ledger import ledger
from veil.web.pages._places import places
from veil.web.pages._results import results
from veil.web.pages._sensitive import sensitive
from veil.web.pages._tables import tables
from veil.web.pages.markup import Common
from veil.web.pages.shell import Back, added, entered, entrance, error
from veil.web.pages.sql import database

__all__ = [
    "Back",
    "Common",
    "Kind",
    "added",
    "database",
    "entered",
    "entrance",
    "error",
    "held",
    "home",
    "ledger",
    "places",
    "plane",
    "refused",
    "results",
    "sensitive",
    "tables",
]
