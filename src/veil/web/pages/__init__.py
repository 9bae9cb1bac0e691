"""The pages, as HTML that needs no script: everything in them is escaped."""

from veil.web.pages._added import added
from veil.web.pages._database import database
from veil.web.pages._entrance import Back, entered, entrance
from veil.web.pages._error import error
from veil.web.pages._home import held, home
from veil.web.pages._ledger import ledger
from veil.web.pages._places import places
from veil.web.pages._plane import plane
from veil.web.pages._refused import Kind, refused
from veil.web.pages._results import results
from veil.web.pages._sensitive import sensitive
from veil.web.pages._tables import tables
from veil.web.pages.common import Common

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
