"""The pages, as HTML that needs no script: everything in them is escaped."""

from collections.abc import Sequence
from typing import Literal

from veil.proxy.types import Decision, Found, Release
from veil.web.pages.common import Common

__all__ = ["Common", "Kind", "error", "held", "home", "ledger", "plane", "refused", "results"]

Kind = Literal["budget", "gate", "risk", "engine", "input", "busy"]


def home(common: Common) -> str:
    """Return the page with the search box."""
    return "<!doctype html><title>Veil</title>"


def results(common: Common, query: str, found: Found) -> str:
    """Return the results, and beside them what the engine saw."""
    return "<!doctype html><title>Veil</title>"


def held(common: Common, query: str, reason: str) -> str:
    """Return a search that another site started: it runs when the user presses the button."""
    return "<!doctype html><title>Veil</title>"


def refused(
    common: Common, query: str, kind: Kind, message: str, gate: Decision | None = None
) -> str:
    """Return why a search was not done, or not to its end."""
    return "<!doctype html><title>Veil</title>"


def plane(common: Common) -> str:
    """Return the risk-utility plane of the last audit."""
    return "<!doctype html><title>Veil</title>"


def ledger(common: Common, releases: Sequence[Release], older: int | None) -> str:
    """Return what was released when."""
    return "<!doctype html><title>Veil</title>"


def error(status: int, message: str) -> str:
    """Return the page for an address or a request that cannot be served."""
    return "<!doctype html><title>Veil</title>"
