"""``veil vectors``: which word vectors there are, fetching them ahead of time, checking them."""

import click

from veil.cli._screen import open_vectors
from veil.cli.terminal import stderr
from veil.core.errors import AssetError, VeilError
from veil.core.registry import unknown_name
from veil.corpus.wordnet import whole_wordnet, wordnet_folder
from veil.data.fetch import damaged_error
from veil.text.vectors.assets import VECTORS, at_hand, check_in_full


@click.command()
@click.argument("names", nargs=-1, metavar="[check] [NAMES]...")
def vectors(names: tuple[str, ...]) -> None:
    """List word vectors, or fetch and convert NAMES now.

    With the word 'check' before them, the cached copies of NAMES, or all that are there, are read
    to the end and compared with their digests; WordNet is looked at, too.
    """
    if names[:1] == ("check",):
        _check(names[1:] or tuple(name for name in (*VECTORS, "wordnet") if _there(name)))
        return
    for name in names:
        space = open_vectors(name)
        stderr().print(f"{name}: {space.size:,} words x {space.dim} dimensions, ready")
    if not names:
        for name, entry in VECTORS.items():
            state = "ready" if at_hand(name) else "not fetched"
            click.echo(f"{name:12} {state:12} {entry.about}")


def _there(name: str) -> bool:
    return wordnet_folder().is_dir() if name == "wordnet" else at_hand(name)


def _check(names: tuple[str, ...]) -> None:
    """Check all, say what is whole, and fail with the first that is not."""
    known = (*VECTORS, "wordnet")
    for name in names:
        if name not in known:
            raise unknown_name("thing to check", name, sorted(known))
        if not _there(name):
            raise AssetError(f"{name} is not in the cache: 'veil fetch {name}' fetches it.")
    failed: list[VeilError] = []
    for name in names:
        try:
            click.echo(f"{name}: {_whole(name)}")
        except VeilError as error:
            failed.append(error)
            click.echo(f"{name}: damaged")
    if failed:
        raise failed[0]
    if not names:
        click.echo("Nothing is in the cache to be checked.")


def _whole(name: str) -> str:
    if name == "wordnet":
        if not whole_wordnet(wordnet_folder(), anew=True):
            raise damaged_error(name)
        return "whole"
    space = check_in_full(name)
    return f"whole, {space.size:,} words x {space.dim} dimensions"
