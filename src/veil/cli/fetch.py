"""``veil fetch`` and ``veil vectors``: take what is needed into the cache ahead of time."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import click

from veil import api
from veil.cli.screen import open_vectors
from veil.cli.terminal import progress_bar, stderr
from veil.core.errors import AssetError, VeilError
from veil.core.registry import unknown_name
from veil.corpus.icd10cm import NAMES, icd10cm_folder
from veil.corpus.wordnet import whole_wordnet, wordnet, wordnet_folder
from veil.data.fetch import Report, damaged_error, forget_digests
from veil.data.files import set_aside
from veil.text.vectors.catalogue import VECTORS, at_hand, check_in_full, fetch_again

_ENCODERS = ("minilm", "wordllama")
Take = Callable[[Report], object]


def fetchable() -> dict[str, Take]:
    """Return what can be fetched, by name, and what fetches it."""
    found: dict[str, Take] = {}
    found |= {name: partial(api.encoder, name) for name in _ENCODERS}
    found |= {name: partial(api.load_embeddings, name) for name in VECTORS}
    found |= {name: partial(api.load_collection, name) for name in NAMES}
    found["wordnet"] = lambda report: wordnet(report=report)
    return found


def _again(name: str, take: Take, report: Report) -> None:
    """Fetch a thing though it is there; what is there stays if that fails."""
    if name in VECTORS:
        fetch_again(name, report)
        return
    folder = _folder(name)
    forget_digests(folder)
    with set_aside(folder):
        take(report)


def _folder(name: str) -> Path:
    if name in NAMES:
        return icd10cm_folder(name)
    if name in _ENCODERS:
        module = import_module(f"veil.encoders.{name}")  # it may need an extra
        folder: Path = getattr(module, f"{name}_folder")()
        return folder
    return wordnet_folder()


@click.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--again", is_flag=True, help="also what is there already, in place of it")
def fetch(names: tuple[str, ...], again: bool) -> None:
    """Download word vectors, encoders, collections or WordNet.

    NAMES are put into the cache.
    """
    known = fetchable()
    for name in names:
        if name not in known:
            raise unknown_name("thing to fetch", name, sorted(known))
    for name in names:
        with progress_bar() as report:
            if again:
                _again(name, known[name], report)
            else:
                known[name](report)
        stderr().print(f"{name}: ready")


@click.command()
@click.argument("names", nargs=-1, metavar="[check] [NAMES]...")
def vectors(names: tuple[str, ...]) -> None:
    """List word vectors, or fetch and convert them.

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
