"""``veil fetch``: take what is needed into the cache ahead of time, to work offline later."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import click

from veil import api
from veil.cli.terminal import progress_bar, stderr
from veil.core.registry import unknown_name
from veil.corpus.icd10cm import NAMES, icd10cm_folder
from veil.corpus.wordnet import wordnet, wordnet_folder
from veil.data.fetch import Report, forget_digests
from veil.data.files import set_aside
from veil.text.vectors.assets import VECTORS, fetch_again

_ENCODERS = ("minilm", "wordllama")
Take = Callable[[Report], object]


def things() -> dict[str, Take]:
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
    """Fetch NAMES into the cache: word vectors, encoders, collections, wordnet."""
    known = things()
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
