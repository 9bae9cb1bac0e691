"""Word vectors and mechanisms made ready, with a sign of life on the terminal."""

import click

from veil.api import load_embeddings
from veil.cli.terminal import progress_bar, stderr
from veil.text.mechanisms.mechanism import QueryMechanism, TextMechanism, WordMechanism
from veil.text.vectors.assets import VECTORS
from veil.text.vectors.embeddings import Embeddings, scale_note

VECTORS_OPTION = click.Option(
    ["--vectors"],
    default="glove-100d",
    show_default=True,
    help="word vectors: a name (see 'veil vectors') or a file",
)


def open_space(mechanism: TextMechanism, vectors: str) -> Embeddings | None:
    """Open the word vectors and let the mechanism prepare itself; some need no vectors."""
    space = open_vectors(vectors) if "vectors" in mechanism.needs else None
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
    tell_scale(name, space)
    return space


def tell_scale(name: str, space: Embeddings) -> None:
    """Say when a usual epsilon means something else with vectors of the user's own."""
    if name not in VECTORS and (note := scale_note(space)):
        stderr().print(note)
