"""What goes to the terminal: notes and progress to stderr, results to stdout."""

import io
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # rich takes long to load, and help needs none of it
    from rich.console import Console
    from rich.table import Table

    from veil.data.fetch import Report

EVERY = 10.0  # seconds between two lines


class NewPath(click.Path):
    """A file or folder to write, in a folder that is there; refused before any work is done."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - as click has it
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401 - as click has it
        """Return the path, or refuse one in a folder that is not there."""
        from veil.data.files import require_parent

        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        require_parent(path)
        return path


NEW: "click.ParamType[Any]" = NewPath(path_type=Path)
NEW_FILE: "click.ParamType[Any]" = NewPath(path_type=Path, dir_okay=False)


@contextmanager
def plain_progress(write: Callable[[str], None], every: float = EVERY) -> "Iterator[Report]":
    """Write a line now and then while work is under way, also if it reports nothing new."""
    state = ("working", 0, 0)
    done = threading.Event()
    start = time.monotonic()

    def report(message: str, now: int, total: int) -> None:
        nonlocal state
        state = (message or "working", now, total)

    def tell() -> None:
        while not done.wait(every):
            with suppress(OSError, ValueError):  # nobody listens any more
                write(line(*state, time.monotonic() - start))

    teller = threading.Thread(target=tell, name="veil-progress", daemon=True)
    teller.start()
    try:
        yield report
    finally:
        done.set()
        teller.join()


def line(message: str, now: int, total: int, seconds: float) -> str:
    """Return what is going on in one line."""
    share = f", {min(100, 100 * now // total)} %" if total > 0 else ""
    return f"veil: {message}{share} ({seconds:.0f} s)"


_WIDE = 500  # where there is no terminal and no COLUMNS: nothing is cut or wrapped


def _console(*, err: bool = False, soft_wrap: bool = False) -> "Console":
    """Return a console for stdout or stderr.

    What is no terminal gets neither colours nor anything else that is meant for one, whatever the
    environment says (FORCE_COLOR): escape codes do not belong in a file, nor does what is shown to
    the person at a terminal alone.
    """
    from rich.console import Console

    found = Console(stderr=err, highlight=False, emoji=False, soft_wrap=soft_wrap)
    _let_all_pass(found.file)
    if found.file.isatty():
        return found
    return Console(
        stderr=err,
        highlight=False,
        emoji=False,
        soft_wrap=soft_wrap,
        force_terminal=False,
        force_jupyter=False,
        force_interactive=False,
        color_system=None,
        width=None if os.environ.get("COLUMNS") else _WIDE,
    )


def _let_all_pass(file: IO[str]) -> None:
    """Show a question mark for what the encoding lacks: one title must not lose all results."""
    if isinstance(file, io.TextIOWrapper) and file.errors in ("strict", "surrogateescape"):
        file.reconfigure(errors="replace")


def stdout() -> "Console":
    """Return a console for results."""
    return _console()


def fits(console: "Console", table: "Table") -> bool:
    """Tell whether a table has room as it is, with nothing cut or broken into pieces."""
    from rich.measure import Measurement

    wide = console.options.update(width=10_000)
    return Measurement.get(console, wide, table).maximum <= console.width


def stderr() -> "Console":
    """Return a console for notes."""
    return _console(err=True, soft_wrap=True)


@contextmanager
def progress_bar() -> "Iterator[Report]":
    """Show on stderr what is going on; it is told what, how much is done and of how much.

    A terminal gets a bar; a log file gets a plain line every ten seconds.
    """
    screen = stderr()
    if not screen.is_terminal:
        with plain_progress(lambda line: click.echo(line, err=True), EVERY) as report:
            yield report
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns,
        console=screen,
        transient=True,
        redirect_stdout=False,  # results must reach stdout, which may be a file
        redirect_stderr=False,
    ) as progress:
        task = progress.add_task("", total=None, visible=False)

        def show(message: str, done: int, total: int) -> None:
            progress.update(
                task, description=message, completed=done, total=total or None, visible=True
            )

        yield show
