"""What goes to the terminal: notes and progress to stderr, results to stdout."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from veil.api import load_embeddings
from veil.cli._scale import scale_note
from veil.data.assets import VECTORS
from veil.data.embeddings import Embeddings
from veil.data.fetch import Report
from veil.mechanisms.mechanism import TextMechanism
from veil.mechanisms.queries.mechanism import QueryMechanism
from veil.mechanisms.words.mechanism import WordMechanism

VECTORS_OPTION = click.Option(
    ["--vectors"],
    default="glove-100d",
    show_default=True,
    help="word vectors: a name (see 'veil vectors') or a file",
)


def stderr() -> Console:
    """Return a console for notes."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Show a bar on stderr; it is told what is going on, how much is done and of how much."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = stderr()
    off = not console.is_terminal  # a log file gets no bar, and no empty line in its place
    with Progress(*columns, console=console, transient=True, disable=off) as progress:
        task = progress.add_task("", total=None, visible=False)

        def report(message: str, done: int, total: int) -> None:
            progress.update(
                task, description=message, completed=done, total=total or None, visible=True
            )

        yield report


def open_space(mechanism: TextMechanism, vectors: str) -> Embeddings | None:
    """Open the word vectors and let the mechanism prepare itself; some need no vectors."""
    space = open_vectors(vectors) if isinstance(mechanism, WordMechanism) else None
    prepare(mechanism, space)
    return space


def prepare(mechanism: TextMechanism, space: Embeddings | None) -> None:
    """Let a mechanism prepare itself, with a sign of life: groups take half a minute once."""
    with progress_bar() as report:
        report(f"preparing {mechanism.name}", 0, 0)
        if isinstance(mechanism, QueryMechanism):
            mechanism.bind()
        elif isinstance(mechanism, WordMechanism) and space is not None:
            mechanism.bind(space)


def open_vectors(name: str) -> Embeddings:
    """Open vectors; a first fetch or conversion shows its progress.

    Of vectors of the user's own it is said when a usual epsilon means something else with them.
    """
    with progress_bar() as report:
        space = load_embeddings(name, report)
    if name not in VECTORS and (note := scale_note(space)):
        stderr().print(note)
    return space
