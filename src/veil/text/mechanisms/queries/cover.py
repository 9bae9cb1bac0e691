"""Cover groups: plausibly deniable search after Murugesan and Clifton, with four additions."""

import math
from functools import lru_cache
from typing import Annotated, ClassVar

from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError, VeilError
from veil.core.guarantee import Guarantee
from veil.corpus.tokens import tokens
from veil.cover.catalogue import is_cached, load
from veil.cover.table import Table, TableMatch
from veil.cover.universe import BUILT_IN
from veil.data.fetch import Report, no_progress
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease

NOT_COVERED = (
    "Not covered: queries of different groups are told apart for certain (it is no differential"
    " privacy); who can list fewer possible queries than there are groups may find yours; related"
    " queries of one session point at each other; time, address and clicks are seen as ever."
)


class Cover(QueryMechanism):
    r"""Send the k fixed texts of a public group that the query belongs to, always the same.

    A public table cuts a universe of n texts into k tracks (topics) of equal size, and each track
    by the same tree into L cells of about `cell` texts: cell a of every track together are group
    a. A query is looked up on this machine (itself, or its nearest text by the cosine of a local
    encoder), and the texts of all k cells of its group are sent, whatever the query is:

    .. math:: q \mapsto \{ t(a(u(q)), j) : j = 0 \dots k - 1 \}, \qquad L = \lfloor n / (k b)
       \rfloor

    **Proved**: the engine sees one of L addresses and nothing else. Whatever it wants to guess
    about the query, and whatever it believed before, its probability of being right grows at most
    L-fold (maximal leakage of log2 L bits). Let g(w, x) be the gain of guess w if x is true, and p
    the prior. The best expected gain after the release is the sum over y of the largest (over w)
    sum over x of p(x) [a(x) = y] g(w, x), which is at most L times the best gain before. T
    releases have at most L^T values.

    **Not proved**: anything about two queries of different groups: this is no differential
    privacy.

    References
    ----------
    Murugesan, Clifton. Providing Privacy through Plausibly Deniable Search. SDM 2009.
    doi:10.1137/1.9781611972795.66
    Issa, Wagner, Kamath. An Operational Approach to Information Leakage. IEEE Transactions on
    Information Theory 66(3), 2020. doi:10.1109/TIT.2019.2962804

    Notes
    -----
    The additions are cells of several texts behind one, texts made of words instead of one query,
    tracks that mirror each other, and bands of texts that are asked equally often, by their counts
    or as the frequencies of their words suggest. All k texts are
    sent or none: leaving one out, because it is the query itself or too long, would tell. So the
    number of variants is the table's.

    With `ahead` neighbouring groups in one release there are `ahead` times as many texts and as
    many times fewer addresses: each release tells less, and related queries have more texts that
    they may stay near.
    """

    name: ClassVar[str] = "cover"
    paper: ClassVar[str] = "Murugesan and Clifton, 2009, extended"
    family: ClassVar[str] = "Cover groups"
    whole: ClassVar[bool] = True
    foes: ClassVar[tuple[str, ...]] = ("bayes",)

    table: Annotated[
        str,
        Field(
            min_length=1,
            description="a folder written by 'veil cover build', or a built-in universe: icd10cm,"
            " wordnet",
            examples=["icd10cm"],
        ),
    ] = "icd10cm"
    cell: Annotated[
        int | None,
        Field(ge=1, le=1_000_000, description="texts of the universe behind one text of a group;"
              " a folder has its own", examples=[10], json_schema_extra=PRIVATE),
    ] = None  # fmt: skip
    tracks: Annotated[
        int | None,
        Field(ge=1, le=1_000, description="texts in a group; a folder has its own", examples=[20]),
    ] = None
    words: Annotated[
        int | None,
        Field(ge=0, le=1_000, description="words in a text of a group; a folder has its own",
              examples=[24]),
    ] = None  # fmt: skip
    stay: Annotated[
        float,
        Field(ge=0, le=1, description="in a session, a query as near as that (cosine) to a text of"
              " the current group is answered from it; 1 for the very same texts alone",
              examples=[0.6]),
    ] = 0.6  # fmt: skip
    ahead: Annotated[
        int,
        Field(ge=1, le=1_000, description="neighbouring groups that are sent together, with what"
              " related queries will need", examples=[1], json_schema_extra=PRIVATE),
    ] = 1  # fmt: skip
    near: Annotated[
        float,
        Field(ge=-1, le=1, description="refuse a query whose nearest text has a lower cosine;"
              " -1 refuses none", examples=[-1.0]),
    ] = -1.0  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """The leakage of one release in bits; without bound as long as the table is not there."""
        try:
            table = self.open() if self._is_there() else None
        except VeilError:
            table = None
        if table is None:
            return Guarantee(
                "leakage",
                unit="query",
                caveat="The table is not there yet: the bits are the logarithm of its number of"
                f" groups. {NOT_COVERED}",
            )
        return Guarantee("leakage", bits=table.bits, unit="query", caveat=told(table))

    def _is_there(self) -> bool:
        if self.table not in BUILT_IN:
            return True
        chosen = {"tracks": self.tracks, "cell": self.cell, "words": self.words}
        return is_cached(
            self.table, **{name: value for name, value in chosen.items() if value is not None}
        )

    def open(self, report: Report = no_progress) -> Table:
        """Open the table; a built-in one is built the first time."""
        table = load(
            self.table, tracks=self.tracks, cell=self.cell, words=self.words, report=report
        )
        return _wide(table, self.ahead)

    def locate(self, text: str) -> TableMatch:
        """Look a query up; one that is farther from all texts than `near` raises."""
        found = self.open().locate([text])[0]
        if found.cosine < self.near:
            raise InputError(
                "The nearest text of the table is farther from the query than is allowed"
                f" ({self.near:g}): the table knows nothing like it, perhaps it is in another"
                " language; nothing was sent. Take a table that fits, or lower 'near'."
            )
        return found

    @property
    def size(self) -> int:
        """How many texts a release has: the table's k."""
        return self.open().k

    def bind(self) -> "OpenedCover":
        """Open the table."""
        return OpenedCover(self, self.open())


class OpenedCover:
    """The mechanism with its table."""

    def __init__(self, mechanism: Cover, table: Table) -> None:
        self.table, self._mechanism = table, mechanism

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return all texts of the group of a query, in the order of the tracks."""
        del size  # it is the table's, checked before
        found = self._mechanism.locate(text)
        return QueryRelease(self.table.group(found.address), (), max(1, len(tokens(text))))


@lru_cache(maxsize=8)  # a table is compared by what it is, not by what is in it
def _wide(table: Table, groups: int) -> Table:
    return table.wide(groups)


def told(table: Table) -> str:
    """Say what is proved of a table, and what is not."""
    groups = f"{table.L:,} addresses" if table.L > 1 else "one address"
    proved = (
        f"The engine sees one of {groups} and nothing else: whatever it wants to guess about the"
        " query, and whatever it believed before, its probability of being right grows at most"
        f" {table.L:,}-fold. Of N equally likely queries it finds yours with t guesses in at most"
        f" {table.L:,} t / N of the cases. The same query again adds nothing; each other query"
        f" adds {math.log2(table.L):.3g} bits, also one of the same group, unless nothing is sent"
        " for it."
    )
    if table.even:
        proved += (
            f" If all texts are equally likely, each of the {table.k} tracks is, for one query."
        )
    elif table.usual == "equal" or not table.weighed:
        low, high = table.track_odds
        proved += (
            f" If all texts are equally likely, each of the {table.k} tracks is right in {low:.3f}"
            f" to {high:.3f} of the cases, for one query."
        )
    return f"{proved} {NOT_COVERED}"
