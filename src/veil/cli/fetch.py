"""``veil fetch`` and ``veil vectors``: download into the cache ahead of time."""

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
    """Return the function that fetches each download, by name."""
    loaders: dict[str, Take] = {}
    loaders |= {name: partial(api.encoder, name) for name in _ENCODERS}
    loaders |= {name: partial(api.load_embeddings, name) for name in VECTORS}
    loaders |= {name: partial(api.load_collection, name) for name in NAMES}
    loaders["wordnet"] = lambda report: wordnet(report=report)
    return loaders


def _again(name: str, take: Take, report: Report) -> None:
    """Replace a cached download; the old copy stays if that fails."""
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
        module = import_module(f"veil.encoders.{name}")  # may need an extra
        folder: Path = getattr(module, f"{name}_folder")()
        return folder
    return wordnet_folder()


@click.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--again", is_flag=True, help="Download again and replace cached copies.")
def fetch(names: tuple[str, ...], again: bool) -> None:
    """Download word vectors, encoders, collections or WordNet.

    The files go into the cache.
    """
    loaders = fetchable()
    for name in names:
        if name not in loaders:
            raise unknown_name("download", name, sorted(loaders))
    for name in names:
        with progress_bar() as report:
            if again:
                _again(name, loaders[name], report)
            else:
                loaders[name](report)
        stderr().print(f"{name}: ready")


@click.command()
@click.argument("names", nargs=-1, metavar="[check] [NAMES]...")
def vectors(names: tuple[str, ...]) -> None:
    """List word vectors, or fetch and convert them.

    'veil vectors check' compares the cached copies of NAMES, or all of them, with their digests,
    including WordNet.
    """
    if names[:1] == ("check",):
        _check(names[1:] or tuple(name for name in (*VECTORS, "wordnet") if _is_cached(name)))
        return
    for name in names:
        space = open_vectors(name)
        stderr().print(f"{name}: {space.size:,} words x {space.dim} dimensions, ready")
    if not names:
        for name, entry in VECTORS.items():
            state = "ready" if at_hand(name) else "not fetched"
            click.echo(f"{name:12} {state:12} {entry.about}")


def _is_cached(name: str) -> bool:
    return wordnet_folder().is_dir() if name == "wordnet" else at_hand(name)


def _check(names: tuple[str, ...]) -> None:
    """Print whether each cached copy is intact, and raise the first error."""
    checkable = (*VECTORS, "wordnet")
    for name in names:
        if name not in checkable:
            raise unknown_name("cached download", name, sorted(checkable))
        if not _is_cached(name):
            raise AssetError(f"{name} is not in the cache. Run 'veil fetch {name}'.")
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
        click.echo("The cache is empty.")


def _whole(name: str) -> str:
    if name == "wordnet":
        if not whole_wordnet(wordnet_folder(), anew=True):
            raise damaged_error(name)
        return "intact"
    space = check_in_full(name)
    return f"intact, {space.size:,} words x {space.dim} dimensions"
