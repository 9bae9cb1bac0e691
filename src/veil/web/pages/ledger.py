"""The ledger page: all releases, without the queries, which are not stored."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from veil.proxy.settings import Release
from veil.text.mechanisms.queries.cover import Cover
from veil.web.pages.shell import Common, render
from veil.web.pages.words import amount, bits


class Entry(NamedTuple):
    """A release as a row of the table."""

    release: Release
    words: str
    spent: str


def ledger(common: Common, releases: Sequence[Release], older: int | None) -> str:
    """Return the releases, newest first; `older` is where the next page starts."""
    entries = [Entry(release, _words(release), _spent(release)) for release in releases]
    values = {"common": common, "entries": entries, "older": older, "iso": _iso}
    return render("ledger.html", values)


def _iso(when: datetime) -> str:
    return when.isoformat(timespec="seconds")


def _spent(release: Release) -> str:
    if release.plain:
        return "not measured"
    return bits(release.bits) if _is_group(release) else amount(release.spent)


def _is_group(release: Release) -> bool:
    return release.bits > 0 or release.mechanism.partition("(")[0] == Cover.name


def _words(release: Release) -> str:
    if release.plain or _is_group(release):
        return "–"
    shared = f", {release.shared:,} shared" if release.shared else ""
    return f"{release.words:,}{shared}"
