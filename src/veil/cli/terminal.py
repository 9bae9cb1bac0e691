"""Terminal output: notes and progress to stderr, results to stdout."""

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
    """Path to write, whose parent folder must exist; checked before any work is done."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - as click has it
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401 - as click has it
        """Return the path, or raise an error if its parent folder does not exist."""
        from veil.data.files import require_parent

        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        require_parent(path)
        return path


NEW: "click.ParamType[Any]" = NewPath(path_type=Path)
NEW_FILE: "click.ParamType[Any]" = NewPath(path_type=Path, dir_okay=False)


@contextmanager
def plain_progress(write: Callable[[str], None], every: float = EVERY) -> "Iterator[Report]":
    """Write a line every few seconds during the work, even if it reports nothing new."""
    state = ("working", 0, 0)
    done = threading.Event()
    start = time.monotonic()

    def report(message: str, now: int, total: int) -> None:
        nonlocal state
        state = (message or "working", now, total)

    def tell() -> None:
        while not done.wait(every):
            with suppress(OSError, ValueError):  # the stream is closed
                write(line(*state, time.monotonic() - start))

    teller = threading.Thread(target=tell, name="veil-progress", daemon=True)
    teller.start()
    try:
        yield report
    finally:
        done.set()
        teller.join()


def line(message: str, now: int, total: int, seconds: float) -> str:
    """Return a progress report as one line."""
    share = f", {min(100, 100 * now // total)} %" if total > 0 else ""
    return f"veil: {message}{share} ({seconds:.0f} s)"


_WIDE = 500  # columns without a terminal and COLUMNS: nothing is cut or wrapped


def _console(*, err: bool = False, soft_wrap: bool = False) -> "Console":
    """Return a console for stdout or stderr.

    Only a real terminal counts as one, regardless of the environment (FORCE_COLOR): a file must
    contain neither escape codes nor secrets that are shown only on a terminal.
    """
    from rich.console import Console

    console = Console(stderr=err, highlight=False, emoji=False, soft_wrap=soft_wrap)
    _let_all_pass(console.file)
    if console.file.isatty():
        return console
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
    """Print a question mark for characters that the encoding lacks, instead of failing."""
    if isinstance(file, io.TextIOWrapper) and file.errors in ("strict", "surrogateescape"):
        file.reconfigure(errors="replace")


def stdout() -> "Console":
    """Return a console for results."""
    return _console()


def fits(console: "Console", table: "Table") -> bool:
    """Return whether a table fits the console without cutting or wrapping a cell."""
    from rich.measure import Measurement

    wide = console.options.update(width=10_000)
    return Measurement.get(console, wide, table).maximum <= console.width


def stderr() -> "Console":
    """Return a console for notes."""
    return _console(err=True, soft_wrap=True)


@contextmanager
def progress_bar() -> "Iterator[Report]":
    """Show progress on stderr: a bar on a terminal, else a plain line every ten seconds.

    The yielded callback takes a message, the amount done, and the total.
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
