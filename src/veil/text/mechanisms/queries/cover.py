"""Cover groups: plausibly deniable search after Murugesan and Clifton, with four additions."""

import math
from collections.abc import Mapping
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
    "Not covered: queries of different groups can be told apart with certainty (this is not"
    " differential privacy); an attacker who can list fewer possible queries than there are groups"
    " may find yours; related queries of one session point at each other; time, address and clicks"
    " remain visible."
)


class Cover(QueryMechanism):
    r"""Send the k fixed texts of the public group of the query.

    A public table divides n candidate texts into k tracks (topics) of equal size, and each track
    by the same tree into L cells of about `cell` texts. Group a consists of cell a of every track.
    A query is looked up on this machine (the text itself, or the nearest text by the cosine of a
    local encoder), and the k texts of its group are sent, the same ones for every query of the
    group:

    .. math:: q \mapsto \{ t(a(u(q)), j) : j = 0 \dots k - 1 \}, \qquad L = \lfloor n / (k b)
       \rfloor

    **Proved**: the engine sees one of L addresses and nothing else. No matter what it wants to
    guess about the query, and no matter what it believed before, its probability of being right
    grows at most L-fold (maximal leakage of log2 L bits). Let g(w, x) be the gain of guess w if x
    is true, and p the prior. The best expected gain after the release is the sum over y of the
    largest (over w) sum over x of p(x) [a(x) = y] g(w, x), which is at most L times the best gain
    before. T releases have at most L^T values.

    **Not proved**: anything about two queries of different groups. This is not differential
    privacy.

    References
    ----------
    Murugesan, Clifton. Providing Privacy through Plausibly Deniable Search. SDM 2009.
    doi:10.1137/1.9781611972795.66
    Issa, Wagner, Kamath. An Operational Approach to Information Leakage. IEEE Transactions on
    Information Theory 66(3), 2020. doi:10.1109/TIT.2019.2962804

    Notes
    -----
    The additions are cells with several candidate texts behind each text sent, texts composed of
    words instead of one query, tracks that mirror each other, and bands of equally popular texts,
    by their counts or as the frequencies of their words suggest. All k texts are sent or none,
    because leaving one out (it equals the query, or is too long) would reveal something. So the
    number of variants is that of the table.

    With `ahead` neighbouring groups in one release there are `ahead` times as many texts and
    `ahead` times fewer addresses. Each release reveals less, and related queries have more texts
    from which they can be answered.
    """

    name: ClassVar[str] = "cover"
    paper: ClassVar[str] = "Murugesan and Clifton, 2009, extended"
    family: ClassVar[str] = "Cover groups"
    whole: ClassVar[bool] = True
    foes: ClassVar[tuple[str, ...]] = ("bayes",)
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"table": tuple(BUILT_IN)}

    table: Annotated[
        str,
        Field(
            min_length=1,
            description="a folder written by 'veil cover build', or a built-in table: icd10cm,"
            " wordnet",
            examples=["icd10cm"],
        ),
    ] = "icd10cm"
    cell: Annotated[
        int | None,
        Field(ge=1, le=1_000_000, description="candidate texts behind each text of a group; fixed"
              " for a folder", examples=[10], json_schema_extra=PRIVATE),
    ] = None  # fmt: skip
    tracks: Annotated[
        int | None,
        Field(ge=1, le=1_000, description="texts in a group; fixed for a folder",
              examples=[20]),
    ] = None  # fmt: skip
    words: Annotated[
        int | None,
        Field(ge=0, le=1_000, description="words in a text of a group; fixed for a folder",
              examples=[24]),
    ] = None  # fmt: skip
    stay: Annotated[
        float,
        Field(ge=0, le=1, description="in a session, a query with at least this cosine to a text"
              " of the current group is answered from that group; 1: only for identical texts",
              examples=[0.6]),
    ] = 0.6  # fmt: skip
    ahead: Annotated[
        int,
        Field(ge=1, le=1_000, description="neighbouring groups sent together, which related"
              " queries may need", examples=[1], json_schema_extra=PRIVATE),
    ] = 1  # fmt: skip
    near: Annotated[
        float,
        Field(ge=-1, le=1, description="refuse a query whose nearest text has a lower cosine;"
              " -1 accepts all", examples=[-1.0]),
    ] = -1.0  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """Leakage of one release in bits, unbounded until the table has been built."""
        try:
            table = self.open() if self._is_built() else None
        except VeilError:
            table = None
        if table is None:
            return Guarantee(
                "leakage",
                unit="query",
                caveat="The table has not been built yet: the bits are the logarithm of its number"
                f" of groups. {NOT_COVERED}",
            )
        return Guarantee("leakage", bits=table.bits, unit="query", caveat=describe_table(table))

    @classmethod
    def not_ready(cls, parameters: Mapping[str, object]) -> str:
        """Name the command that builds the table: building takes long and fills the disk."""
        values = {name: parameters.get(name) for name in ("tracks", "cell", "words")}
        options = {name: value for name, value in values.items() if isinstance(value, int)}
        table = parameters.get("table", cls.model_fields["table"].default)
        if is_cached(str(table), **options):
            return ""
        return (
            "cover has no table with these parameters yet, and none is built for a request; build"
            " it first: veil cover build."
        )

    def _is_built(self) -> bool:
        if self.table not in BUILT_IN:
            return True
        options = {"tracks": self.tracks, "cell": self.cell, "words": self.words}
        return is_cached(
            self.table, **{name: value for name, value in options.items() if value is not None}
        )

    def open(self, report: Report = no_progress) -> Table:
        """Open the table. A built-in table is built the first time."""
        table = load(
            self.table, tracks=self.tracks, cell=self.cell, words=self.words, report=report
        )
        return _wide(table, self.ahead)

    def locate(self, text: str) -> TableMatch:
        """Look up a query. Raise an error if its cosine to the nearest text is below `near`."""
        match = self.open().locate([text])[0]
        if match.cosine < self.near:
            raise InputError(
                f"The nearest text of the table has a cosine below 'near' ({self.near:g}): the"
                " table has nothing similar, perhaps because the query is in another language."
                " Nothing was sent. Use another table, or lower 'near'."
            )
        return match

    @property
    def size(self) -> int:
        """Number of texts in a release: k of the table."""
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
        del size  # already checked: it is that of the table
        match = self._mechanism.locate(text)
        return QueryRelease(self.table.group(match.address), (), max(1, len(tokens(text))))


@lru_cache(maxsize=8)  # tables are compared by identity, not by content
def _wide(table: Table, groups: int) -> Table:
    return table.wide(groups)


def describe_table(table: Table) -> str:
    """Return what is proved for a table, and what is not."""
    groups = f"{table.L:,} addresses" if table.L > 1 else "one address"
    proved = (
        f"The engine sees one of {groups} and nothing else. No matter what it wants to guess about"
        " the query, and no matter what it believed before, its probability of being right grows"
        f" at most {table.L:,}-fold. If N queries are equally likely, t guesses find yours with"
        f" probability at most {table.L:,} t / N. The same query again adds nothing. Each other"
        f" query adds {math.log2(table.L):.3g} bits, even one of the same group, unless nothing is"
        " sent for it."
    )
    if table.even:
        proved += (
            f" If all texts are equally likely, each of the {table.k} tracks is equally likely,"
            " too, for one query."
        )
    elif table.usual == "equal" or not table.weighed:
        low, high = table.track_odds
        proved += (
            f" If all texts are equally likely, each of the {table.k} tracks is right with"
            f" probability {low:.3f} to {high:.3f}, for one query."
        )
    return f"{proved} {NOT_COVERED}"
