"""How a connection to PostgreSQL is encrypted: always, unless it stays on this machine."""

import ipaddress
import os
from collections.abc import Mapping
from itertools import zip_longest

MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")  # weakest first


def mode_of(given: Mapping[str, object], declared: str) -> str:
    """Return libpq's sslmode for a connection.

    What is declared counts. With ``auto`` it is what the connection string says, or the
    environment; on the way to another machine it is at least ``require``, whatever these say.

    Parameters
    ----------
    given
        The connection string, taken apart.
    declared
        The parameter of the engine.
    """
    if declared != "auto":
        return declared
    asked = str(given.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer")
    if asked not in MODES:
        return "require"  # libpq would refuse it, or take it from somewhere else
    return asked if stays_here(given) else max(asked, "require", key=MODES.index)


def stays_here(given: Mapping[str, object]) -> bool:
    """Tell whether all places that libpq may connect to are on this machine, for sure.

    A service can name any host, and so counts as another machine.
    """
    if given.get("service") or given.get("servicefile") or os.environ.get("PGSERVICE"):
        return False
    hosts, addresses = (
        str(given.get(name) or os.environ.get(variable) or "").split(",")
        for name, variable in (("host", "PGHOST"), ("hostaddr", "PGHOSTADDR"))
    )
    places = zip_longest(addresses, hosts, fillvalue="")
    return all(_is_here((address or host).strip()) for address, host in places)


def _is_here(place: str) -> bool:
    if not place or place.startswith(("/", "@")) or place == "localhost":
        return True  # a socket, or the machine itself; the default is one of them
    try:
        return ipaddress.ip_address(place).is_loopback
    except ValueError:
        return False
