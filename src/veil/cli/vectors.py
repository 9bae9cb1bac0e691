"""``veil vectors``: which word vectors there are, and fetching them ahead of time."""

import click

from veil.cli._screen import open_vectors, stderr
from veil.data.assets import VECTORS, vectors_folder


@click.command()
@click.argument("names", nargs=-1)
def vectors(names: tuple[str, ...]) -> None:
    """List word vectors, or fetch and convert NAMES now."""
    for name in names:
        space = open_vectors(name)
        stderr().print(f"{name}: {space.size:,} words x {space.dim} dimensions, ready")
    if not names:
        for name, entry in VECTORS.items():
            state = "ready" if vectors_folder(name).is_dir() else "not fetched"
            click.echo(f"{name:12} {state:12} {entry.about}")
