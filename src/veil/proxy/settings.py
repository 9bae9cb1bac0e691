"""What the proxy knows, decides and shows; none of it holds a true query."""

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
    "This search is not in the ledger: nothing was read there, written down or counted. Asking"
    " again sends anew: what is drawn is drawn anew, and a fixed group is sent again."
)

Action = Literal["pass", "obfuscate", "refuse"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration: what makes the variants, how many are sent, and what of which words.

    `unknown`, `policies` and `select` are those of `veil.protect`.
    """

    mechanism: str
    size: int
    unknown: Unknown = "random"
    policies: tuple[tuple[str, Policy], ...] = ()
    select: str | tuple[str, ...] | None = None

    @property
    def words(self) -> WordOptions:
        """Which words are protected, and how."""
        return {
            "unknown": self.unknown,
            "policies": dict(self.policies),
            "select": self.select,
        }


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent in 24 hours, and what was: epsilon x words x variants, added up.

    `limit` is None where there is none. `day` is the date on which the 24 hours end, in UTC, as
    2026-11-16. `unproved` counts the releases in them that no sum covers: in clear, or without a
    formal guarantee. `free` is when the oldest of the sums no longer counts, or None. `bits` are
    those of releases whose leakage is bounded, `bits_limit` what they may be; they are not added
    to `spent`.
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
        """Bits that may still be spent, or None where there is no limit."""
        return None if self.bits_limit is None else max(0.0, self.bits_limit - self.bits)

    @property
    def left(self) -> float | None:
        """What may still be spent, or None where there is no limit."""
        return None if self.limit is None else max(0.0, self.limit - self.spent)


@dataclass(frozen=True, slots=True)
class Release:
    """An entry of the ledger: what was released, without the query that it stands for.

    Attributes
    ----------
    number
        Name of the entry.
    made, last
        When it was drawn, and when it was last asked with.
    asked
        How often it was asked with.
    mechanism
        Spec of the mechanism; "plain" for a query sent in clear on request.
    variants
        What was sent; empty for a query sent in clear, whose text is not kept.
    words
        Words that the mechanism replaced.
    shared
        Of these, words whose draws came from an earlier release at no further cost.
    spent
        What the release added to what was spent: epsilon x words x variants newly drawn.
    chosen
        Whether it was released because it passed a pre-flight check, or has draws of one that
        was: that is outside of the formal guarantee.
    bits
        What the release added in leakage: 0 where nothing was sent for it.
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
        """Whether a query was sent in clear, on request."""
        return self.mechanism == "plain"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the sensitivity gate says of a query: the action, and why, without quoting it.

    `rules` are the names of the rules that matched. "pass" means that the query may be sent
    plainly if the user asks for that; without being asked it is obfuscated all the same.
    """

    action: Action
    reason: str = ""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TruthRank:
    """Where the true query stands among the guesses of one attacker; 1 is the first guess.

    `ties` guesses, the query among them, stand as high: they may be tried in any order, so that
    it has any place from `rank` to `last`, and `mean` on average.
    """

    attacker: str
    rank: int
    candidates: int
    ties: int = 1

    @property
    def last(self) -> int:
        """The last place that it may have."""
        return self.rank + self.ties - 1

    @property
    def mean(self) -> float:
        """The place that it has on average."""
        return (self.rank + self.last) / 2

    def within(self, guesses: int) -> float:
        """Return how likely it is that the query is among the first guesses."""
        return min(self.ties, max(0, guesses - self.rank + 1)) / self.ties


@dataclass(frozen=True, slots=True)
class PreflightResult:
    """What the local attackers made of the very variants.

    `waiting` names attackers that are still being prepared, `unable` those that cannot be used
    against the mechanism; `draws` counts the draws that were looked at.
    """

    standings: tuple[TruthRank, ...]
    waiting: tuple[str, ...] = ()
    unable: tuple[str, ...] = ()
    draws: int = 1

    @property
    def best(self) -> TruthRank | None:
        """The attacker that comes nearest, or None if none was run."""
        return min(self.standings, key=lambda one: 2 * one.rank + one.ties, default=None)


@lru_cache(1_000)  # a mechanism is looked for among all packages that are installed
def brief(spec: str) -> str:
    """Write the spec of a mechanism without the parameters that have their default.

    >>> brief("tem(epsilon=2.0, beta=0.001, metric='euclidean') in glove-100d"), brief("gone(x=1)")
    ('tem(epsilon=2.0) in glove-100d', 'gone(x=1)')
    """
    head, vectors, name = spec.partition(" in ")
    try:
        return f"{mechanism(head).brief}{vectors}{name}"
    except VeilError:  # a plugin that is gone
        return spec


SIZE = 20  # variants of a mechanism that leaves their number to the user
_USUAL: dict[Locality, str] = {
    "stand-in": "cover(table=icd10cm)",  # what the embedded catalogue holds
    "own": "cover(table=icd10cm)",
    "elsewhere": "cover(table=wordnet)",  # nothing is known of what it holds
}


def usual_mechanism(standing: Locality) -> str:
    """Return the mechanism for an engine that stands there."""
    return _USUAL[standing]


def usual_size(mechanism: TextMechanism, size: int | None, report: Report = no_progress) -> int:
    """Return the number of variants: what was asked for, or what a mechanism has by itself."""
    if isinstance(mechanism, Cover):
        mechanism.open(report)  # it may be built now
    if isinstance(mechanism, QueryMechanism) and mechanism.whole:
        return size_of(mechanism, size)
    return SIZE if size is None else size
