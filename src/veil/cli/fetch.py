"""``veil fetch``: take what is needed into the cache ahead of time, to work offline later."""

from collections.abc import Callable

import click

from veil import api
from veil.cli._screen import progress_bar, stderr
from veil.core.registry import unknown_name
from veil.data.assets import VECTORS
from veil.data.fetch import Report
from veil.data.icd10cm import NAMES
from veil.data.wordnet import wordnet

_ENCODERS = ("minilm", "wordllama")


def _things() -> dict[str, Callable[[Report], object]]:
    things: dict[str, Callable[[Report], object]] = {}
    things |= {name: lambda report, n=name: api.encoder(n, report) for name in _ENCODERS}  # type: ignore[misc]
    things |= {name: lambda report, n=name: api.load_embeddings(n, report) for name in VECTORS}  # type: ignore[misc]
    things |= {name: lambda report, n=name: api.load_collection(n, report) for name in NAMES}  # type: ignore[misc]
    things["wordnet"] = lambda report: wordnet(report=report)
    return things


@click.command()
@click.argument("names", nargs=-1, required=True)
def fetch(names: tuple[str, ...]) -> None:
    """Fetch NAMES into the cache: word vectors, encoders, collections, wordnet."""
    things = _things()
    for name in names:
        if name not in things:
            raise unknown_name("thing to fetch", name, sorted(things))
    for name in names:
        with progress_bar() as report:
            things[name](report)
        stderr().print(f"{name}: ready")
