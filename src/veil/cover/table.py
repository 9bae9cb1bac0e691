"""The table of cover groups: fixed and public, and all that an engine learns from."""

import hashlib
import math
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.core.types import Encoder, Floats, Ids, Singles
from veil.corpus.tokens import check_text, lookup_form
from veil.cover.popularity import MEASURED, POPULARITIES, Popularity
from veil.data.arrays import Strings, kind_of_folder, open_arrays, save_arrays
from veil.encoders.catalogue import encoder as open_encoder


@dataclass(frozen=True, eq=False, slots=True)
class Blocks:
    """Which groups are sent together.

    `of` (L,) is the block of each group, and `starts` is the first group that each block sends.
    """

    of: Ids
    starts: tuple[int, ...]


def blocks(whole: int, groups: int) -> Blocks:
    """Divide the groups of a table into as few blocks as possible that send `groups` each.

    The number of groups per block differs by at most one, so that none hides much less than
    another. A block with fewer groups than it sends also sends some neighbouring ones, which are
    looked up in their own block. No two blocks send the same groups.

    >>> blocks(9, 4).of.tolist(), blocks(9, 4).starts
    ([0, 0, 0, 1, 1, 1, 2, 2, 2], (0, 3, 5))
    """
    parts = np.array_split(np.arange(whole), -(-whole // groups))
    of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return Blocks(of, tuple(min(int(part[0]), whole - groups) for part in parts))


Guesses = Literal["lazy", "active", "motivated"]
Prior = Literal["equal", "popular"]


def exact_risk(groups: Ids, guesses: int = 10, weights: Floats | None = None) -> float:
    r"""Return how often the true query is among the best `guesses`.

    `groups` (N,) is the group number of every query that may have been searched, `weights` their
    probabilities up to a factor, equal by default. The attacker knows the table, the queries and
    the weights, and guesses the likeliest queries of the group that it sees:

    .. math:: \sum_{a} \text{sum of the largest } t \text{ weights with address } a

    >>> exact_risk(np.repeat([0, 1], 50), 10)
    0.2
    """
    if guesses < 1 or not len(groups):
        raise ParameterError("A risk must have at least one guess and one possible query.")
    mass = np.ones(len(groups)) if weights is None else np.asarray(weights, dtype=np.float64)
    if mass.shape != np.shape(groups) or not (mass >= 0).all() or not 0 < mass.sum() < np.inf:
        raise ParameterError(
            "The weights of a risk must be numbers >= 0, one for each query, and not all 0."
        )
    order = np.lexsort((-mass, groups))
    sorted_groups = np.asarray(groups)[order]
    starts = np.flatnonzero(np.r_[True, sorted_groups[1:] != sorted_groups[:-1]])
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    return float(mass[order][place < guesses].sum() / mass.sum())


def bound(groups: int, queries: int, guesses: int = 10) -> float:
    """Return an upper bound of the risk for any table with so many groups and a uniform prior.

    >>> bound(45, 18_000)
    0.025
    """
    if queries < 1 or guesses < 1:
        raise ParameterError("A risk must have at least one guess and one possible query.")
    return min(1.0, guesses * groups / queries)


_SOURCES: dict[Popularity, str] = {"counts": "counts", "words": "public frequencies of words"}


@dataclass(frozen=True, slots=True)
class Odds:
    """How often an engine that knows everything but the query is right within ten guesses.

    Attributes
    ----------
    texts
        Number of texts in the table that are possible queries.
    equal
        The risk if all of them are equally likely.
    popular, blind
        The risk if popular texts are likelier, and the risk before anything is sent; None if
        popularity is unknown.
    popularity
        Source of the popularity.
    group
        Whether the engine saw one particular group; otherwise the risk is an average over groups.
    """

    texts: int
    equal: float
    popular: float | None = None
    blind: float | None = None
    popularity: Popularity = "counts"
    group: bool = False

    def __str__(self) -> str:
        sees = " and sees this group" if self.group else ""
        message = (
            f"An engine that knows everything{sees} is right within ten guesses in"
            f" {_percent(self.equal)} of the cases if all {self.texts:,} texts of the table are"
            " equally likely"
        )
        if self.popular is None or self.blind is None:
            return f"{message}; their popularity is unknown."
        erring = f" {MEASURED}" if self.popularity == "words" else ""
        return (
            f"{message}, and in {_percent(self.popular)} if popular ones are likelier, by"
            f" {_SOURCES[self.popularity]} ({_percent(self.blind)} before anything is"
            f" sent).{erring}"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


KIND, VERSION = "veil-cover", 1
BUILD = 2  # version of the construction; part of cache names, so that older tables are rebuilt
MAX_CHARS = 10_000  # of a query
_BLOCK = 256  # queries looked up at a time


@dataclass(frozen=True, slots=True)
class TableMatch:
    """Where a query is in the table: its group number and topic, and the nearest candidate text.

    `cosine` is the similarity to that text, 1 if it is the query itself.
    """

    address: int
    track: int
    nearest: int
    cosine: float


@brief("universe", "k", "cell", "texts")
@dataclass(frozen=True, eq=False)
class Table:
    """Groups of texts that are sent together, the same for every query of a group.

    Attributes
    ----------
    universe
        Name of the collection or file of the candidate texts, never a path.
    k, L, cell
        Texts in a group, number of groups, and minimum number of candidate texts in a bucket.
    texts, counts
        The n candidate texts, and how often each is searched (1 if unknown).
    popularity
        Whether the counts are those of the texts (``counts``), or estimated from the frequencies
        of their words (``words``).
    tracks, addresses
        (n,) the topic (0 to k - 1) and the group number (0 to L - 1) of each candidate text.
    cells
        The text sent for topic j of group a, at index a * k + j.
    vectors
        (n, d) unit vectors of the texts, by `encoder`.
    encoder, key
        Spec of the encoder, and an identifier of the encoder with its weights.
    bands
        Number of popularity bands.
    """

    universe: str
    k: int
    L: int
    cell: int
    words: int
    texts: Strings
    counts: Ids
    tracks: Ids
    addresses: Ids
    cells: Strings
    vectors: Singles
    encoder: str
    key: str
    bands: int = 1
    popularity: Popularity = "counts"
    _opened: list[Encoder] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def bits(self) -> float:
        """Maximal leakage of one release: log2 of the number of groups."""
        return math.log2(self.L)

    @cached_property
    def digest(self) -> str:
        """Hash of everything that decides which texts are sent for which query."""
        state = hashlib.sha256(f"{VERSION} {self.k} {self.L} {self.key}".encode())
        for name, array in sorted(self._arrays().items()):
            state.update(f" {name} {array.shape} ".encode())
            state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()

    @cached_property
    def even(self) -> bool:
        """Whether all topics are exactly equally likely, given the release.

        This holds if all texts are searched equally often, or assumed to be, and all buckets of a
        group have the same size.
        """
        low, high = self.track_odds
        return low == high

    @cached_property
    def track_odds(self) -> tuple[float, float]:
        """Minimum and maximum probability of a topic, given the release.

        The queries are candidate texts, weighted by their counts, or equally likely if the counts
        are estimated.
        """
        places = self.addresses * self.k + self.tracks
        mass = np.bincount(places, self._weights(self.usual), minlength=self.L * self.k)
        odds = mass.reshape(self.L, self.k)
        odds = odds / odds.sum(axis=1, keepdims=True)
        return float(odds.min()), float(odds.max())

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the group number (n,) of each query: 0 to L - 1."""
        return np.array([match.address for match in self.locate(texts)], dtype=np.int64)

    def locate(self, texts: Sequence[str]) -> list[TableMatch]:
        """Look queries up: an exact match among the candidate texts, else the nearest one.

        Character forms are normalised (NFKC), as in the ledger. Everything happens on this
        machine, and nothing is written to disk.
        """
        if isinstance(texts, str | bytes):
            raise InputError(
                "The queries must be a list of texts. Put a single query into a list."
            )
        checked = [
            unicodedata.normalize("NFKC", check_text(text, f"Query {number}", MAX_CHARS))
            for number, text in enumerate(texts, start=1)
        ]
        places = np.array(
            [self._own.get(lookup_form(text), -1) for text in checked], dtype=np.int64
        )
        cosines = np.ones(len(checked))
        unknown = np.flatnonzero(places < 0)
        for start in range(0, len(unknown), _BLOCK):
            batch = unknown[start : start + _BLOCK]
            near = self.encode([checked[i] for i in batch]) @ self.vectors.T
            best = near.argmax(axis=1)
            places[batch], cosines[batch] = best, near[np.arange(len(batch)), best]
        return [
            TableMatch(
                int(self.addresses[place]), int(self.tracks[place]), int(place), float(cosine)
            )
            for place, cosine in zip(places, cosines, strict=True)
        ]

    def group(self, address: int) -> tuple[str, ...]:
        """Return the k texts of a group, in the order of the topics."""
        whole = isinstance(address, int | np.integer) and not isinstance(address, bool)
        if not whole or not 0 <= address < self.L:
            raise ParameterError(f"The address must be an integer from 0 to {self.L - 1:,}.")
        return tuple(self.cells[int(address) * self.k + track] for track in range(self.k))

    def members(self, address: int, track: int | None = None) -> Ids:
        """Return the indices of the candidate texts in a group, optionally of one topic only."""
        mask = self.addresses == address
        return np.flatnonzero(mask if track is None else mask & (self.tracks == track))

    def find(self, released: Sequence[str]) -> int:
        """Return the group number of these texts, in any order, or -1."""
        return self._groups.get(frozenset(released), -1)

    @property
    def weighed(self) -> bool:
        """Whether some texts are assumed to be searched more often than others."""
        return not bool((self.counts == self.counts[0]).all())

    @property
    def usual(self) -> Prior:
        """The default prior of `risk`: estimated popularity is not used unless requested."""
        return "popular" if self.popularity == "counts" else "equal"

    def risk(
        self, queries: int | None = None, guesses: int = 10, prior: Prior | None = None
    ) -> float:
        """Return how often an engine that knows everything is right within `guesses`.

        For the candidate texts the value is exact. With the prior ``equal`` they are equally
        likely, with ``popular`` as likely as their counts say; `usual` is the default. For another
        number of `queries`, all equally likely, it is an upper bound for any distribution over the
        groups.
        """
        if queries is not None:
            return bound(self.L, queries, guesses)
        return self._risk(self.addresses, guesses, prior or self.usual)

    def blind(self, guesses: int = 10, prior: Prior | None = None) -> float:
        """Return how often the same guesses are right before anything is sent."""
        return self._risk(np.zeros(len(self), dtype=np.int64), guesses, prior or self.usual)

    def odds(self, among: Ids | None = None) -> Odds:
        """Return the risk under each prior; `among` are indices of texts known to share a group.

        If `among` is empty, the engine has no other text to guess, and the risk is 1.
        """
        prior: Prior = "popular"
        weighed = self.weighed
        if among is None:
            popular = self.risk(prior=prior) if weighed else None
            equal = self.risk(prior="equal")
        elif len(among):
            popular = self.risk_of(among, prior=prior) if weighed else None
            equal = self.risk_of(among, prior="equal")
        else:
            popular, equal = 1.0 if weighed else None, 1.0
        blind = self.blind(prior=prior) if weighed else None
        return Odds(len(self), equal, popular, blind, self.popularity, among is not None)

    def _risk(self, addresses: Ids, guesses: int, prior: Prior) -> float:
        key = (addresses is self.addresses, guesses, prior)
        if key not in self._risks:  # pages show it repeatedly
            self._risks[key] = exact_risk(addresses, guesses, self._weights(prior))
        return self._risks[key]

    def _weights(self, prior: Prior) -> Floats:
        if prior == "popular":
            return self.counts.astype(np.float64)
        return np.ones(len(self))

    def risk_of(self, texts: Ids, guesses: int = 10, prior: Prior | None = None) -> float:
        """Return the risk if one of these texts is known to be the query."""
        weights = self._weights(prior or self.usual)[texts]
        return exact_risk(np.zeros(len(texts), dtype=np.int64), guesses, weights)

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return the vectors of queries (n, d), by the table's encoder."""
        with self._lock:
            if not self._opened:
                self._opened.append(local_encoder(self.encoder))
            model = self._opened[0]
        if model.key != self.key:
            raise InputError(
                f"The table must be searched with the version of the encoder {self.encoder} it"
                " was built with. Got another version instead. Build the table again: veil"
                " cover build."
            )
        return model.encode(list(texts), "query")

    def near(self, text: str, address: int) -> float:
        """Return the largest cosine of a query with a text of a group, over all topics."""
        members = self.members(address)
        return float((self.vectors[members] @ self.encode([text])[0]).max())

    def wide(self, groups: int) -> "Table":
        """Return the table whose groups each combine `groups` neighbouring groups of this one.

        It has fewer groups, so each reveals less, and texts needed by related queries are sent
        at once. Groups may overlap; all have the same number of texts.
        """
        if groups == 1:
            return self
        if not 1 <= groups <= self.L:
            raise ParameterError(
                f"The number of groups must be from 1 to {self.L:,}. Got {groups:,} instead."
            )
        parts = blocks(self.L, groups)
        addresses = parts.of[self.addresses]
        inside = self.addresses - np.array(parts.starts, dtype=np.int64)[addresses]
        return replace(
            self,
            k=self.k * groups,
            L=len(parts.starts),
            addresses=addresses,
            tracks=inside * self.k + self.tracks,
            cells=Strings.of(
                text
                for start in parts.starts
                for text in self.cells[start * self.k : (start + groups) * self.k]
            ),
            _opened=self._opened,
            _lock=threading.Lock(),
        )

    def save(self, path: str | Path) -> "Table":
        """Write the table to a new folder, completely or not at all."""
        folder = Path(path)
        if folder.exists():
            raise InputError(f"Folder {folder} already exists. Delete it or choose another.")
        save_arrays(folder, KIND, VERSION, self._arrays(), self._facts())
        return self

    def _arrays(self) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        arrays = dict(self.texts.arrays("text"))
        arrays |= self.cells.arrays("cell")
        arrays["counts"], arrays["tracks"] = self.counts, self.tracks
        arrays["addresses"] = self.addresses
        arrays["vectors"] = np.ascontiguousarray(self.vectors, dtype=np.float32)
        return arrays

    def _facts(self) -> dict[str, object]:
        return {
            "universe": self.universe, "tracks": self.k, "groups": self.L, "cell": self.cell,
            "words": self.words, "texts": len(self), "encoder": self.encoder, "key": self.key,
            "bands": self.bands, "popularity": self.popularity,
        }  # fmt: skip

    @cached_property
    def _risks(self) -> dict[tuple[bool, int, Prior], float]:
        return {}

    @cached_property
    def _own(self) -> Mapping[str, int]:
        return {lookup_form(text): place for place, text in enumerate(self.texts)}

    @cached_property
    def _groups(self) -> Mapping[frozenset[str], int]:
        return {frozenset(self.group(a)): a for a in range(self.L)}


def open_table(folder: Path) -> Table:
    """Open a saved table; its vectors are memory-mapped.

    Raises
    ------
    InputError
        If it is not a table, has another version, or is damaged.
    """
    contents = open_arrays(folder, KIND, VERSION)
    if contents is None:
        raise InputError(_refusal(folder))
    arrays, facts = contents
    try:
        table = Table(
            str(facts["universe"]), int(facts["tracks"]), int(facts["groups"]),
            int(facts["cell"]), int(facts["words"]), Strings.from_arrays(arrays, "text"),
            arrays["counts"], arrays["tracks"], arrays["addresses"],
            Strings.from_arrays(arrays, "cell"), arrays["vectors"], str(facts["encoder"]),
            str(facts["key"]), int(facts["bands"]), facts.get("popularity", "counts"),
        )  # fmt: skip
        valid = (
            table.popularity in POPULARITIES
            and table.L >= 1
            and table.k >= 1
            and len(table.cells) == table.L * table.k
        )
        sizes = {
            len(column) for column in (table.counts, table.tracks, table.addresses, table.texts)
        }
        valid = valid and sizes == {len(table.vectors)}
    except (LookupError, ValueError, TypeError):
        valid = False
    if not valid:
        raise InputError(_refusal(folder))
    return table


def local_encoder(spec: str) -> Encoder:
    """Open an encoder that must work on this machine, because it sees the queries."""
    opened = open_encoder(spec)
    ours = type(opened).__module__.startswith("veil.")  # others must declare network = False
    if getattr(opened, "network", not ours) is not False:
        raise ParameterError(
            "The encoder must work on this machine, because it sees the queries. Try a local"
            " one, such as minilm."
        )
    return opened


def _refusal(folder: Path) -> str:
    if not folder.is_dir():
        return f"Folder {folder} does not exist. Build a table with 'veil cover build'."
    if kind_of_folder(folder) != KIND:
        return (
            f"{folder} must be a table written by 'veil cover build'. Pass another folder, or"
            " build one."
        )
    return (
        f"The table {folder} must be intact and of this version. Build it again with 'veil cover"
        " build'."
    )
