"""The table of cover groups: fixed, public, and all that an engine ever learns from."""

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
    """Which groups are sent for which address.

    `of` (L,) is the block of each group, and `starts` has the first group that each block sends.
    """

    of: Ids
    starts: tuple[int, ...]


def blocks(whole: int, groups: int) -> Blocks:
    """Spread the groups of a table evenly over as few blocks as send so many `groups` each.

    The blocks' own groups differ by one at most in number, so that none hides much less than
    another. A block with fewer than it sends also sends some of its neighbours', which are looked
    up at theirs; no two blocks send the same.

    >>> blocks(9, 4).of.tolist(), blocks(9, 4).starts
    ([0, 0, 0, 1, 1, 1, 2, 2, 2], (0, 3, 5))
    """
    own = np.array_split(np.arange(whole), -(-whole // groups))
    of = np.repeat(np.arange(len(own)), [len(each) for each in own])
    return Blocks(of, tuple(min(int(each[0]), whole - groups) for each in own))


Guesses = Literal["lazy", "active", "motivated"]
Prior = Literal["equal", "popular"]


def exact_risk(groups: Ids, guesses: int = 10, weights: Floats | None = None) -> float:
    r"""Return how often the true query is among the best `guesses`.

    `groups` (N,) is the address of every query that may have been asked, `weights` how likely
    each is, all the same by default. The attacker knows the table, the queries and the weights,
    and names the likeliest of the group that it sees:

    .. math:: \sum_{a} \text{sum of the largest } t \text{ weights with address } a

    >>> exact_risk(np.repeat([0, 1], 50), 10)
    0.2
    """
    if guesses < 1 or not len(groups):
        raise ParameterError("A risk needs at least one guess and one possible query.")
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
    """Return what the same is at most, for any table with so many groups, all equally likely.

    >>> bound(45, 18_000)
    0.025
    """
    if queries < 1 or guesses < 1:
        raise ParameterError("A risk needs at least one guess and one possible query.")
    return min(1.0, guesses * groups / queries)


_SOURCES: dict[Popularity, str] = {"counts": "counts", "words": "public frequencies of words"}


@dataclass(frozen=True, slots=True)
class Odds:
    """How often an engine that knows everything but the query is right within ten guesses.

    Attributes
    ----------
    texts
        How many texts of the table are possible queries.
    equal
        The risk if each of them is as likely as any other.
    popular, blind
        The risk if popular ones are likelier, and what the same engine reaches before anything is
        sent; None where nothing is known of popularity.
    popularity
        Where the popularity is from.
    group
        Whether it is of an engine that saw one group; else of one that will see any.
    """

    texts: int
    equal: float
    popular: float | None = None
    blind: float | None = None
    popularity: Popularity = "counts"
    group: bool = False

    def __str__(self) -> str:
        sees = " and sees this group" if self.group else ""
        told = (
            f"An engine that knows everything{sees} is right within ten guesses in"
            f" {_percent(self.equal)} of the cases if all {self.texts:,} texts of the table are"
            " equally likely"
        )
        if self.popular is None or self.blind is None:
            return f"{told}; how popular each is, is not known."
        erring = f" {MEASURED}" if self.popularity == "words" else ""
        return (
            f"{told}, and in {_percent(self.popular)} if popular ones are likelier, by"
            f" {_SOURCES[self.popularity]} ({_percent(self.blind)} before anything is"
            f" sent).{erring}"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


KIND, VERSION = "veil-cover", 1
BUILD = 2  # of the construction: names the tables in the cache, so that older ones are made anew
MAX_CHARS = 10_000  # of a query
_BLOCK = 256  # queries that are looked up at a time


@dataclass(frozen=True, slots=True)
class TableMatch:
    """Where a query is looked up: its address and track, and the text of the universe it is at.

    `cosine` is how near that text is, 1 where it is the query itself.
    """

    address: int
    track: int
    nearest: int
    cosine: float


@brief("universe", "k", "cell", "texts")
@dataclass(frozen=True, eq=False)
class Table:
    """Groups of texts that are sent together, whatever the query of the group.

    Attributes
    ----------
    universe
        What the texts are: the name of a collection or file, never a path.
    k, L, cell
        Texts in a group, number of groups, and how many texts of the universe share a cell, at
        least.
    texts, counts
        The universe: n public texts, and how often each is asked (1 where nobody knows).
    popularity
        Whether the counts are those of the texts (``counts``), or estimated from the frequencies
        of their words (``words``).
    tracks, addresses
        (n,) the track (0 to k - 1) and the address (0 to L - 1) of each.
    cells
        The text of the cell of address a in track j, at a * k + j.
    vectors
        (n, d) unit vectors of the texts, by `encoder`.
    encoder, key
        Spec of the encoder, and what names it together with its weights.
    bands
        How many bands of popularity there are.
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
        """Maximal leakage of one release: the logarithm of the number of groups."""
        return math.log2(self.L)

    @cached_property
    def digest(self) -> str:
        """Of all that decides which texts are sent for which query."""
        made = hashlib.sha256(f"{VERSION} {self.k} {self.L} {self.key}".encode())
        for name, array in sorted(self._arrays().items()):
            made.update(f" {name} {array.shape} ".encode())
            made.update(np.ascontiguousarray(array).data)
        return made.hexdigest()

    @cached_property
    def even(self) -> bool:
        """Whether every track is exactly as likely as any other, given the release.

        That is so if all texts are asked equally often, or taken to be, and all cells of a group
        hold as many.
        """
        low, high = self.track_odds
        return low == high

    @cached_property
    def track_odds(self) -> tuple[float, float]:
        """How likely a track is, given the release: at the least, and at the most.

        For queries that are texts of the universe: by their counts, or all equally likely where
        these are estimated.
        """
        places = self.addresses * self.k + self.tracks
        mass = np.bincount(places, self._weights(self.usual), minlength=self.L * self.k)
        odds = mass.reshape(self.L, self.k)
        odds = odds / odds.sum(axis=1, keepdims=True)
        return float(odds.min()), float(odds.max())

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query: 0 to L - 1."""
        return np.array([each.address for each in self.locate(texts)], dtype=np.int64)

    def locate(self, texts: Sequence[str]) -> list[TableMatch]:
        """Look queries up: itself, if it is a text of the universe, else the nearest of all.

        Forms of a character are folded (NFKC), as the ledger does. The work is done on this
        machine, and nothing of it is written down.
        """
        if isinstance(texts, str | bytes):
            raise InputError("Queries are a list of texts; put a single one into a list.")
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
            some = unknown[start : start + _BLOCK]
            near = self.encode([checked[i] for i in some]) @ self.vectors.T
            best = near.argmax(axis=1)
            places[some], cosines[some] = best, near[np.arange(len(some)), best]
        return [
            TableMatch(
                int(self.addresses[place]), int(self.tracks[place]), int(place), float(cosine)
            )
            for place, cosine in zip(places, cosines, strict=True)
        ]

    def group(self, address: int) -> tuple[str, ...]:
        """Return the k texts of an address, in the order of the tracks."""
        whole = isinstance(address, int | np.integer) and not isinstance(address, bool)
        if not whole or not 0 <= address < self.L:
            raise ParameterError(f"An address of this table is a number from 0 to {self.L - 1:,}.")
        return tuple(self.cells[int(address) * self.k + track] for track in range(self.k))

    def members(self, address: int, track: int | None = None) -> Ids:
        """Return the texts of the universe that have an address, also of one track alone."""
        there = self.addresses == address
        return np.flatnonzero(there if track is None else there & (self.tracks == track))

    def find(self, released: Sequence[str]) -> int:
        """Return the address whose group these texts are, in whatever order, or -1."""
        return self._groups.get(frozenset(released), -1)

    @property
    def weighed(self) -> bool:
        """Whether some texts are taken to be asked more often than others."""
        return not bool((self.counts == self.counts[0]).all())

    @property
    def usual(self) -> Prior:
        """The prior that `risk` goes by unless another is named: estimates are no counts."""
        return "popular" if self.popularity == "counts" else "equal"

    def risk(
        self, queries: int | None = None, guesses: int = 10, prior: Prior | None = None
    ) -> float:
        """Return how often an engine that knows everything is right within so many guesses.

        Of the texts of the universe: exact. With the prior ``equal`` each is as likely as any
        other, with ``popular`` as likely as its count says; `usual` is the default. Of another
        number of `queries`, all equally likely and spread over the groups as it is worst: at most.
        """
        if queries is not None:
            return bound(self.L, queries, guesses)
        return self._risk(self.addresses, guesses, prior or self.usual)

    def blind(self, guesses: int = 10, prior: Prior | None = None) -> float:
        """Return how often the same guesses are right before anything is sent."""
        return self._risk(np.zeros(len(self), dtype=np.int64), guesses, prior or self.usual)

    def odds(self, among: Ids | None = None) -> Odds:
        """Return the risk by each prior; `among` those texts alone, which send one group.

        Where there are none, an engine has nobody else to name.
        """
        prior: Prior = "popular"
        both = self.weighed
        if among is None:
            popular = self.risk(prior=prior) if both else None
            equal = self.risk(prior="equal")
        elif len(among):
            popular = self.risk_of(among, prior=prior) if both else None
            equal = self.risk_of(among, prior="equal")
        else:
            popular, equal = 1.0 if both else None, 1.0
        blind = self.blind(prior=prior) if both else None
        return Odds(len(self), equal, popular, blind, self.popularity, among is not None)

    def _risk(self, addresses: Ids, guesses: int, prior: Prior) -> float:
        key = (addresses is self.addresses, guesses, prior)
        if key not in self._risks:  # pages show it again and again
            self._risks[key] = exact_risk(addresses, guesses, self._weights(prior))
        return self._risks[key]

    def _weights(self, prior: Prior) -> Floats:
        if prior == "popular":
            return self.counts.astype(np.float64)
        return np.ones(len(self))

    def risk_of(self, texts: Ids, guesses: int = 10, prior: Prior | None = None) -> float:
        """Return the risk where it is known that one of these texts was asked."""
        weights = self._weights(prior or self.usual)[texts]
        return exact_risk(np.zeros(len(texts), dtype=np.int64), guesses, weights)

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return the vectors of queries (n, d), by the encoder that the table was made with."""
        with self._lock:
            if not self._opened:
                self._opened.append(local_encoder(self.encoder))
            model = self._opened[0]
        if model.key != self.key:
            raise InputError(
                f"The table was made with another version of the encoder {self.encoder}, so that"
                " queries would be looked up wrongly; build it again: veil cover build."
            )
        return model.encode(list(texts), "query")

    def near(self, text: str, address: int) -> float:
        """Return the cosine of a query to the nearest text of a group, in whatever track."""
        there = self.members(address)
        return float((self.vectors[there] @ self.encode([text])[0]).max())

    def wide(self, groups: int) -> "Table":
        """Return the table whose groups are so many neighbouring ones of this, sent together.

        There are fewer of those, so that each tells less, and what related queries need is sent
        at once. They may overlap; all have the same number of texts.
        """
        if groups == 1:
            return self
        if not 1 <= groups <= self.L:
            raise ParameterError(
                f"This table has {self.L:,} groups; from 1 to so many can be sent together. Got"
                f" {groups:,} instead."
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
        """Write the table into a new folder, whole or not at all."""
        folder = Path(path)
        if folder.exists():
            raise InputError(f"There is a {folder} already; delete it, or name a new folder.")
        save_arrays(folder, KIND, VERSION, self._arrays(), self._facts())
        return self

    def _arrays(self) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        found = dict(self.texts.arrays("text"))
        found |= self.cells.arrays("cell")
        found["counts"], found["tracks"] = self.counts, self.tracks
        found["addresses"] = self.addresses
        found["vectors"] = np.ascontiguousarray(self.vectors, dtype=np.float32)
        return found

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
    """Open a table that was saved: its vectors are memory-mapped.

    Raises
    ------
    InputError
        If it is none, of another version, or not whole: nothing is looked up in it then.
    """
    found = open_arrays(folder, KIND, VERSION)
    if found is None:
        raise InputError(_refusal(folder))
    arrays, facts = found
    try:
        table = Table(
            str(facts["universe"]), int(facts["tracks"]), int(facts["groups"]),
            int(facts["cell"]), int(facts["words"]), Strings.from_arrays(arrays, "text"),
            arrays["counts"], arrays["tracks"], arrays["addresses"],
            Strings.from_arrays(arrays, "cell"), arrays["vectors"], str(facts["encoder"]),
            str(facts["key"]), int(facts["bands"]), facts.get("popularity", "counts"),
        )  # fmt: skip
        whole = (
            table.popularity in POPULARITIES
            and table.L >= 1
            and table.k >= 1
            and len(table.cells) == table.L * table.k
        )
        sizes = {len(each) for each in (table.counts, table.tracks, table.addresses, table.texts)}
        whole = whole and sizes == {len(table.vectors)}
    except (LookupError, ValueError, TypeError):
        whole = False
    if not whole:
        raise InputError(_refusal(folder))
    return table


def local_encoder(spec: str) -> Encoder:
    """Open an encoder, which must work on this machine: queries are looked up with it."""
    opened = open_encoder(spec)
    ours = type(opened).__module__.startswith("veil.")  # others must say so: network = False
    if getattr(opened, "network", not ours) is not False:
        raise ParameterError(
            "The queries are looked up on this machine: an encoder on a network would see them."
            " Name a local one, such as minilm."
        )
    return opened


def _refusal(folder: Path) -> str:
    if not folder.is_dir():
        return f"There is no folder {folder}; write a table with 'veil cover build'."
    if kind_of_folder(folder) != KIND:
        return f"{folder} is no table that 'veil cover build' wrote; name one, or build it."
    return f"The table {folder} is damaged or of another version; build it again."
