"""``veil serve``: the private search page."""

import ipaddress
import os
import sys
import threading
import webbrowser
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click
from rich.markup import escape

from veil.cli.options import VECTORS_OPTION, DeskFlags, desk_options
from veil.cli.screen import warn_scale
from veil.cli.terminal import progress_bar, stderr
from veil.core.errors import MissingExtraError, ParameterError
from veil.core.formatting import bits_of, printable
from veil.data.files import clear_temporary
from veil.proxy.desk import Desk
from veil.proxy.folder import data_folder
from veil.proxy.slider import MeasuredPlane
from veil.search.engines import ENGINES
from veil.search.locality import HERE, stand_in_notice

if TYPE_CHECKING:
    from veil.dp.sql.database import Database

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - and the address to open on this machine


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8765,
    show_default=True,
    help="Port to listen at; 0: any free port.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Additional host name to accept, as NAME, NAME:PORT or https://NAME; repeatable. Required"
    " to listen beyond this machine.",
)
@desk_options
@click.option(
    "--audit",
    type=click.Path(path_type=Path),
    help="Folder of the audit with the settings of the slider, or 'shipped' for Veil's own."
    "  [default: the last audit, else the one shipped with Veil]",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 1_000_000),
    default=120,
    show_default=True,
    help="Limit of searches and API calls per minute.",
)
@click.option("--dp-db", metavar="URL", help="Database for SQL queries: duckdb:FILE, ...")
@click.option(
    "--dp-policy",
    type=click.Path(path_type=Path, dir_okay=False),
    help="TOML file with the allowed queries for --dp-db and the budget.",
)
@click.option(
    "--sensitive",
    "index",
    type=click.Path(path_type=Path),
    metavar="INDEX",
    help="Index that 'veil sensitive index' wrote, to search on a separate page.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
def serve(
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    audit: Path | None,
    rate: int,
    dp_db: str | None,
    dp_policy: Path | None,
    index: Path | None,
    no_browser: bool,
    **flags: Unpack[DeskFlags],
) -> None:
    """Open the private search page on this machine.

    Remote engines see only variants of your queries.

    Your own documents (--collection, or an engine with an index) and their engine are on this
    machine: they are searched with the unprotected query, and private search is a simulation.

    Press Ctrl-C to stop after the running searches, and again to stop at once.
    """
    _require_extras(flags["engine"], flags["encoder"])
    from veil.proxy.opening import open_desk
    from veil.proxy.slider import (
        SHIPPED,
        load_plane,
        with_cover,  # slow to load, and needs an extra
    )
    from veil.web.app import make_app
    from veil.web.guard import LOOPBACK, host_names, origins
    from veil.web.server import bind, run
    from veil.web.token import leading, own_token, remove_left

    _check_host(host, allow_host)
    if (dp_db is None) != (dp_policy is None):
        raise ParameterError("--dp-db and --dp-policy need each other. Add the missing one.")
    stored = None
    if index is not None:
        from veil.sensitive.index import open_stored

        stored = open_stored(index)
    names = (*_own_name(host), *allow_host, *LOOPBACK)
    origins(host_names(names, port))  # reports a bad name before anything is opened
    _warn_of_addresses(flags["engine"])
    token = own_token()
    remove_left()
    clear_temporary()
    plane = load_plane(SHIPPED if str(audit) == "shipped" else audit)
    bound = bind("127.0.0.1" if host == "localhost" else host, port)
    with closing(bound) as sock, ExitStack() as opened:
        database = None
        if dp_db is not None and dp_policy is not None:
            database = opened.enter_context(open_page_database(dp_db, dp_policy))
        with progress_bar() as report:
            desk = opened.enter_context(closing(open_desk(**flags, report=report)))
            plane = with_cover(plane, desk.standing, report)
            own = desk.standing == "own"
            space = None if own else desk.space  # loaded when a simulation needs it
            if not own:
                desk.prepare(desk.chosen() or plane.stops[plane.default].setting)
        hosts = host_names(names, sock.getsockname()[1])
        app = make_app(
            desk,
            plane,
            token=token,
            hosts=hosts,
            vectors=lambda: desk.space,
            rate=rate,
            note=_note,
            database=database,
            sensitive=stored,
        )
        address = f"{next(iter(origins(hosts).values()))}/enter?token={token}"
        _tell(address, desk, plane, flags["gate"])
        if space is not None:
            warn_scale(flags["vectors"], space)
        if not no_browser and sys.stderr.isatty():
            _open(opened.enter_context(leading(address)))
        run(app, sock, proxied=bool(allow_host))
    stderr().print("Stopped.")


serve.params.append(VECTORS_OPTION)


_OF_WEB = ("anyio", "jinja2", "starlette", "uvicorn")
_OF_ENGINES = {"bm25": ("bm25s",), "tfidf": ("bm25s",)}
_OF_ENCODERS = {"minilm": ("onnxruntime", "tokenizers"), "wordllama": ("tokenizers",)}


def _require_extras(engine: str, encoder: str) -> None:
    """Raise one error that names all missing extras, before anything is loaded."""
    engine_name, ranks = (spec.partition("(")[0].strip() for spec in (engine, encoder))
    required = {
        "web": _OF_WEB,
        "search": (*_OF_ENGINES.get(engine_name, ()), *_OF_ENCODERS.get(ranks, ())),
    }
    missing = {
        extra: [name for name in names if find_spec(name) is None]
        for extra, names in required.items()
    }
    extras = sorted(extra for extra, names in missing.items() if names)
    if extras:
        names = ", ".join(sorted(name for modules in missing.values() for name in modules))
        raise MissingExtraError(
            f"The search page needs {names}: pip install 'veil[{','.join(extras)}]'."
        )


def open_page_database(url: str, policy: Path) -> "Database":
    """Return the database of the page, and print a warning if its budget is not durable."""
    from veil.dp.sql.database import FORGOTTEN, connect

    database = connect(url, policy)
    if not database.budget.durable:
        stderr().print(f"[yellow]{escape(FORGOTTEN)}[/yellow]")
    return database


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_host(host: str, allowed: tuple[str, ...]) -> None:
    """Reject an address beyond this machine unless a host name is allowed explicitly."""
    if _is_loopback(host):
        return
    if not allowed:
        raise ParameterError(
            "To listen beyond this machine, the host name must be allowed. Add --allow-host NAME."
        )
    stderr().print(
        "[yellow]Everyone who reaches this address needs the token. Without TLS, anyone on the"
        " network path can read the queries and the token, and use it.[/yellow]"
    )


def _warn_of_addresses(engine: str) -> None:
    """Print a warning if variants are sent in URLs, which servers log."""
    if dict(ENGINES.parse(engine)).get("method") == "GET":
        stderr().print(
            "[yellow]The engine is queried with GET: variants become part of URLs, which end up"
            " in logs. Set method=POST if the engine supports it.[/yellow]"
        )


def _own_name(host: str) -> list[str]:
    """Return the host name that a browser on this machine uses; empty if it cannot connect."""
    if host in _EVERYWHERE:
        return [_EVERYWHERE[host]]
    if not _is_loopback(host):
        return []
    return [f"[{host}]" if ":" in host else host]


def _tell(address: str, desk: Desk, plane: MeasuredPlane, gate: Path | None) -> None:
    """Print the address, the engine, the budgets, the slider, the ledger and the gate."""
    console = stderr()
    where = "variants leave this machine" if desk.network else "on this machine"
    own = desk.standing == "own"
    state = desk.budget()
    limited = f"{state.limit:,g} may be spent in 24 hours" if state.limit is not None else ""
    # on one line of any length, so that it can be clicked
    headline = f"[bold]Private search at {escape(address)}[/bold]  (Ctrl-C stops it)"
    console.print(headline, soft_wrap=True)
    console.print(
        "Anyone with this address has access: keep it secret. 'veil token' prints the token."
    )
    console.print(f"Engine: {escape(desk.engine)}, {where}.")
    if own:
        console.print(HERE, soft_wrap=True)
    elif desk.standing == "stand-in":
        name = printable(desk.collection or desk.engine)
        console.print(escape(stand_in_notice(name)), soft_wrap=True)
    console.print(
        f"Budget: {limited or 'no limit is set'}; {state.spent:,g} spent in the last 24 hours."
    )
    leaks = "no limit is set"
    if state.bits_limit is not None:
        leaks = f"{bits_of(state.bits_limit)} may be leaked in 24 hours"
    console.print(
        f"Budget for cover: {leaks}; {bits_of(state.bits)} leaked in the last 24 hours.",
        soft_wrap=True,
    )
    purpose = ", for simulations only" if own else ""
    first = "" if plane.stops[0].measured else "cover, and "
    count = sum(stop.measured for stop in plane.stops)
    stops = f"{first}{count} settings of the audit ({escape(plane.origin)}){purpose}"
    console.print(f"Slider: {stops}.")
    if plane.note:
        console.print(f"[yellow]{escape(plane.note)}[/yellow]")
    console.print(f"Ledger: {escape(str(data_folder()))}")
    console.print(f"Gate: {escape(str(gate))}." if gate else "Gate: no rules.")


def _note(message: str) -> None:
    stderr().print(f"veil: {escape(message)}")


def _open(file: Path) -> None:
    """Open the page, unless the only browser would take over the terminal.

    The browser opens a file that redirects to the address: other users can see the arguments of
    a program, which would include the token.
    """
    graphical = os.name == "nt" or sys.platform == "darwin"
    if graphical or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
