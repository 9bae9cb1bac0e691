"""Build a table: tracks, mirrored cells and their texts, band by band."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of
from veil.core.types import Ids, Singles
from veil.cover.bands import bands
from veil.cover.cells import cells
from veil.cover.naming import Naming
from veil.cover.table import Table, local_encoder
from veil.cover.tracks import tracks as tracks_of
from veil.cover.universe import Universe, read_universe
from veil.data.arrays import Strings
from veil.data.fetch import Report, silent
from veil.encoders.find import parse as parse_encoder
from veil.encoders.vectors import document_vectors

TRACKS, CELL, WORDS = 20, 10, 24
MOST_TRACKS = 1_000


def build(
    universe: str | Path | Universe | Iterable[str] | Mapping[str, int],
    tracks: int = TRACKS,
    cell: int = CELL,
    words: int = WORDS,
    encoder: str = "minilm",
    *,
    vectors: Singles | None = None,
    report: Report = silent,
) -> Table:
    """Make the table of cover groups of a universe; the same universe gives the same table.

    Parameters
    ----------
    universe
        Public texts, with their counts in a mapping; or what `read_universe` reads by name. It
        must hold nothing of the user's own: the table is public.
    tracks
        Texts in a group: requests that stand for one query.
    cell
        Texts of the universe that share one text of a group. More of them hide more, and find
        less.
    words
        Longest text of a cell, in words; 0 takes the member nearest to the middle.
    encoder
        A local model that tells which texts are near.
    vectors
        (n, d) unit vectors of the texts by that encoder, where they are at hand.
    """
    for name, value, most in (
        ("tracks", tracks, MOST_TRACKS), ("cell", cell, 1_000_000), ("words", words, 1_000)
    ):  # fmt: skip
        least = 0 if name == "words" else 1
        if (
            isinstance(value, bool)
            or not isinstance(value, int | np.integer)
            or not (least <= value <= most)
        ):
            raise ParameterError(f"The '{name}' of a table must be a whole number from {least} to"
                                 f" {most:,}.")  # fmt: skip
    texts = _universe(universe, report)
    if len(texts) < tracks * cell:
        raise InputError(
            f"The universe has {count_of(len(texts), 'distinct text')}, and"
            f" {count_of(tracks, 'track')} with cells of {cell} need{'s' if tracks == 1 else ''}"
            f" at least {tracks * cell:,}; take a larger one, or smaller cells."
        )
    spec = str(parse_encoder(encoder))
    model = local_encoder(encoder)
    if vectors is None:
        vectors = document_vectors(texts.texts, model, report=report).vectors
    else:
        vectors = _checked(vectors, (len(texts), model.dim))
    tracks, cell, words = int(tracks), int(cell), int(words)
    places, addresses, named = _groups(texts, vectors, tracks, cell, words, report)
    return Table(
        texts.name, tracks, len(named) // tracks, cell, words, texts.texts, texts.counts,
        places, addresses, Strings.of(named), vectors, spec, model.key,
        bands=len(bands(texts.counts, tracks * cell)),
    )  # fmt: skip


def _checked(vectors: Singles, shape: tuple[int, int]) -> Singles:
    found = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(found, axis=-1) if found.shape == shape else np.zeros(1)
    if not np.allclose(lengths, 1, atol=1e-3):
        raise InputError(
            f"The vectors must be of shape {shape}, one of length 1 for each distinct text of the"
            " universe."
        )
    return found


def _universe(given: object, report: Report) -> Universe:
    if isinstance(given, Universe):
        return given
    if isinstance(given, str | Path):
        return read_universe(given, report=report)
    return Universe.of(given)  # type: ignore[arg-type]  # checked there, with a sentence


def _groups(
    universe: Universe, vectors: Singles, k: int, cell: int, words: int, report: Report
) -> tuple[Ids, Ids, list[str]]:
    """Return the track and the address of each text, and the texts of all cells."""
    naming = Naming(universe.texts, vectors, words)
    track, address = np.empty((2, len(universe)), dtype=np.int64)
    named: list[str] = []
    for band in bands(universe.counts, k * cell):
        groups, first = len(band) // (k * cell), len(named) // k
        own = vectors[band]
        track[band] = tracks_of(own, k)
        names = [""] * (groups * k)
        for j in range(k):
            report("cutting the tracks into cells", j, k)
            ids = band[track[band] == j]
            found = cells(vectors, ids, groups)
            address[ids] = first + found
            for a in range(groups):
                names[a * k + j] = naming.name(ids[found == a])
        named += names
    report("cutting the tracks into cells", k, k)
    return track, address, named
