"""Settings, budgets, releases and decisions of a private search; none holds a true query."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from veil.core.errors import VeilError
from veil.data.fetch import Report, no_progress
from veil.search.locality import Locality
from veil.search.pipeline import WordOptions
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import QueryMechanism, TextMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.text.mechanisms.queries.scramble import size_of
from veil.text.policy import Policy, Unknown

MAX_SIZE = 1_000  # variants of one search
NO_LEDGER = (
    "This search is not in the ledger: nothing was read from it, recorded or counted. Searching"
    " again samples new variants; a fixed group is sent again."
)

Action = Literal["pass", "obfuscate", "refuse"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A mechanism, a number of variants, and which words are protected how.

    `unknown`, `policies` and `select` are those of `veil.protect`.
    """

    mechanism: str
    size: int
    unknown: Unknown = "random"
    policies: tuple[tuple[str, Policy], ...] = ()
    select: str | tuple[str, ...] | None = None

    @property
    def words(self) -> WordOptions:
        """The options of `veil.protect` that select words."""
        return {
            "unknown": self.unknown,
            "policies": dict(self.policies),
            "select": self.select,
        }


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits for 24 hours and what was spent, in epsilon x words x variants.

    `limit` is None without a limit. `day` is the UTC date on which the 24 hours end, such as
    2026-11-16. `unproved` counts the releases in them that no sum covers: plain queries, and
    mechanisms without a formal guarantee. `free` is when the oldest spending expires, or None.
    `bits` is the leakage of releases whose leakage is bounded and `bits_limit` its limit; bits are
    not added to `spent`.
    """

    day: str
    spent: float
    limit: float | None
    unproved: int = 0
    free: datetime | None = None
    bits: float = 0.0
    bits_limit: float | None = None

    @property
    def bits_left(self) -> float | None:
        """Bits that may still be spent; None without a limit."""
        return None if self.bits_limit is None else max(0.0, self.bits_limit - self.bits)

    @property
    def left(self) -> float | None:
        """Epsilon that may still be spent; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - self.spent)


@dataclass(frozen=True, slots=True)
class Release:
    """A ledger entry: what was released, without its query.

    Attributes
    ----------
    number
        Number of the entry.
    made, last
        When it was sampled and when it was last used.
    asked
        How often it was used.
    mechanism
        Spec of the mechanism; "plain" for a query sent unprotected on request.
    variants
        The texts sent; empty for a plain query, whose text is not stored.
    words
        Words that the mechanism replaced.
    shared
        How many of these reused samples of an earlier release at no further cost.
    spent
        What the release cost: epsilon x words x newly sampled variants.
    chosen
        Whether it was released because it passed a pre-flight check, or shares samples with one
        that was: this is outside the formal guarantee.
    bits
        Leakage added by the release: 0 if nothing was sent for it.
    """

    number: int
    made: datetime
    last: datetime
    asked: int
    mechanism: str
    variants: tuple[str, ...]
    words: int
    shared: int
    spent: float
    chosen: bool
    bits: float = 0.0

    @property
    def plain(self) -> bool:
        """Whether a query was sent unprotected on request."""
        return self.mechanism == "plain"


@dataclass(frozen=True, slots=True)
class Decision:
    """The sensitivity gate's decision on a query: an action and a reason that does not quote it.

    `rules` are the names of the rules that matched. "pass" means that the query may be sent
    plainly if the user asks for it; otherwise it is obfuscated.
    """

    action: Action
    reason: str = ""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TruthRank:
    """Rank of the true query among the guesses of one attacker; 1 is the first guess.

    `ties` guesses, including the query, have the same score and may be tried in any order: the
    query has any rank from `rank` to `last`, and `mean` on average.
    """

    attacker: str
    rank: int
    candidates: int
    ties: int = 1

    @property
    def last(self) -> int:
        """The last rank it may have."""
        return self.rank + self.ties - 1

    @property
    def mean(self) -> float:
        """The rank it has on average."""
        return (self.rank + self.last) / 2

    def within(self, guesses: int) -> float:
        """Return the probability that the query is among the first guesses."""
        return min(self.ties, max(0, guesses - self.rank + 1)) / self.ties


@dataclass(frozen=True, slots=True)
class PreflightResult:
    """Results of the local attackers on the exact variants.

    `waiting` names attackers that are not ready yet, `unable` those that cannot be used
    against the mechanism; `draws` counts the samples that were checked.
    """

    standings: tuple[TruthRank, ...]
    waiting: tuple[str, ...] = ()
    unable: tuple[str, ...] = ()
    draws: int = 1

    @property
    def best(self) -> TruthRank | None:
        """The rank of the most successful attacker, or None if none was run."""
        return min(self.standings, key=lambda rank: 2 * rank.rank + rank.ties, default=None)


@lru_cache(1_000)  # parsing a spec searches all installed packages
def brief(spec: str) -> str:
    """Return the spec of a mechanism without parameters that have their default.

    >>> brief("tem(epsilon=2.0, beta=0.001, metric='euclidean') in glove-100d"), brief("gone(x=1)")
    ('tem(epsilon=2.0) in glove-100d', 'gone(x=1)')
    """
    head, vectors, name = spec.partition(" in ")
    try:
        return f"{mechanism(head).brief}{vectors}{name}"
    except VeilError:  # a plugin was removed
        return spec


SIZE = 20  # default number of variants
_USUAL: dict[Locality, str] = {
    "stand-in": "cover(table=icd10cm)",  # the texts of the embedded catalogue
    "own": "cover(table=icd10cm)",
    "elsewhere": "cover(table=wordnet)",  # its texts are unknown
}


def usual_mechanism(standing: Locality) -> str:
    """Return the default mechanism for an engine of this locality."""
    return _USUAL[standing]


def usual_size(mechanism: TextMechanism, size: int | None, report: Report = no_progress) -> int:
    """Return `size`, or the default number of variants of a mechanism if it is None."""
    if isinstance(mechanism, Cover):
        mechanism.open(report)  # builds the table if necessary
    if isinstance(mechanism, QueryMechanism) and mechanism.whole:
        return size_of(mechanism, size)
    return SIZE if size is None else size
