"""What the proxy knows, decides and shows; none of it holds a true query."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from veil.core.amounts import count_of
from veil.core.guarantee import Guarantee
from veil.core.types import Ranking
from veil.proxy.links import link_of
from veil.search.pipeline import Words
from veil.text.policy import Policy, Unknown

MAX_SIZE = 1_000  # variants of one search
NO_LEDGER = (
    "This search is not in the ledger: nothing was read there, written down or counted, and asking"
    " again draws and sends anew."
)

Action = Literal["pass", "obfuscate", "refuse"]
MarkKind = Literal["layout", "changed", "same", "unknown", "kept", "cover"]

MARKS: dict[MarkKind, str] = {
    "layout": "spacing and punctuation, which stay",
    "changed": "drawn by the mechanism in place of one of your words",
    "same": "a word of yours: the mechanism drew it again, by chance",
    "unknown": "in place of a word unknown to the vectors (a typo?); at most it can be recognised",
    "kept": "a word of yours that is sent as it is: it was not selected, or a policy keeps it",
    "cover": "a word of a fixed public text, the same for every query of the group",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A configuration: what makes the variants, how many are sent, and what of which words.

    `unknown`, `policies` and `select` are those of `veil.protect`.
    """

    mechanism: str
    size: int
    unknown: Unknown = "random"
    policies: tuple[tuple[str, Policy], ...] = ()
    select: str | tuple[str, ...] | None = None

    @property
    def words(self) -> Words:
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
        What the release added in leakage: 0 for a group that was sent before.
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
class Standing:
    """Where the true query stands among the guesses of one attacker; 1 is the first guess.

    `ties` guesses, the query among them, stand as high: they may be tried in any order.
    """

    attacker: str
    rank: int
    candidates: int
    ties: int = 1

    def within(self, guesses: int) -> float:
        """Return how likely it is that the query is among the first guesses."""
        return min(self.ties, max(0, guesses - self.rank + 1)) / self.ties


@dataclass(frozen=True, slots=True)
class Checked:
    """What the local attackers made of the very variants.

    `waiting` names attackers that are still being prepared, `unable` those that cannot be used
    against the mechanism; `draws` counts the draws that were looked at.
    """

    standings: tuple[Standing, ...]
    waiting: tuple[str, ...] = ()
    unable: tuple[str, ...] = ()
    draws: int = 1

    @property
    def best(self) -> Standing | None:
        """The attacker that comes nearest, or None if none was run."""
        return min(self.standings, key=lambda one: 2 * one.rank + one.ties, default=None)


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of a variant, and what it is: see `MARKS`."""

    text: str
    kind: MarkKind


@dataclass(frozen=True, slots=True)
class Seen:
    """A variant as the engine saw it, in pieces; `gap` says why it had no answer, or is empty."""

    text: str
    marks: tuple[Mark, ...]
    gap: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One result, as the engine gave it: everything in it is to be escaped."""

    rank: int
    id: str
    title: str
    text: str
    score: float

    @property
    def link(self) -> str:
        """The address of the result, or nothing if its name is none that may be followed."""
        found = link_of(self.id)
        return found.href if found else ""


@dataclass(frozen=True, slots=True)
class Group:
    """The group of fixed texts that was sent for a query, and who else would send the same.

    Attributes
    ----------
    address, groups, texts
        Which group of how many it is, and of how many texts the table is made.
    known
        Whether the group had been sent before: it learnt nothing but that it was asked for again.
    stayed
        Whether the query was answered from the group of the one before, as it is near to it,
        though it has another by itself.
    cosine
        How near the nearest text of the table is: below about 0.3 the table knows little of it.
    others
        Some public texts, track by track, that have the same group.
    active
        How often an engine that knows everything is right within ten guesses, if every text of
        the table is a possible query.
    """

    address: int
    groups: int
    texts: int
    known: bool
    stayed: bool
    cosine: float
    others: tuple[str, ...]
    active: float


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that the page shows for one search.

    Attributes
    ----------
    results
        Best first, by the true query.
    seen
        All that was released of the query under this setting, also before and then in larger
        number; empty where the query went in clear on request (`plain`), or was searched as it is
        among the user's own documents, on this machine (`plain` and `here`).
    setting
        What made the variants.
    release
        Number of the entry in the ledger; 0 where there is none.
    words, kept
        Words that were replaced; words that went unchanged by policy.
    cost
        Guarantee of the variants of this query under this setting, all in all.
    spent
        What this search added to what was spent; 0 when everything was released before.
    earlier
        What other settings released of the same query before, in epsilon: it adds to the cost;
        infinite where no sum covers it.
    reused
        Variants that had been released before.
    shared
        Words whose draws came from related queries.
    sent
        Variants that went to the engine now; fewer than there are when answers were remembered.
    budget
        What was spent in the last 24 hours, this search included.
    preflight
        What the local attackers made of it, or None where there is no log.
    back
        How many of the plain search's first ten results are among ours, and of how many; None
        where the engine would have to see the query.
    ledger
        Whether the release is in the ledger, and was counted; else `spent`, `earlier` and `budget`
        say nothing.
    seeded
        Whether the draws can be repeated, which is not private.
    answers
        The engine's own list for each of the variants, in their order.
    bits, earlier_bits
        What this search added in leakage, and what other settings leaked of the same query.
    cover
        Where the query was looked up, for a mechanism that sends a whole group; else None.
    """

    results: tuple[Item, ...]
    seen: tuple[Seen, ...]
    setting: Setting
    release: int
    words: int
    kept: tuple[str, ...]
    cost: Guarantee
    spent: float
    earlier: float
    reused: int
    shared: int
    sent: int
    budget: Budget
    gate: Decision
    preflight: Checked | None = None
    back: tuple[int, int] | None = None
    plain: bool = False
    here: bool = False
    ledger: bool = True
    seeded: bool = False
    answers: Ranking | None = None
    bits: float = 0.0
    earlier_bits: float = 0.0
    cover: "Group | None" = None

    @property
    def news(self) -> str:
        """Whether the engine learnt anything new, in a sentence."""
        if self.here:
            return "Nothing was sent: the query was searched as it is, on this machine."
        if self.plain:
            return "The query itself was sent, at your request: no budget measures that."
        if self.cover is not None:
            return self._of_group(self.cover)
        if not self.sent and self.reused:
            return (
                "Nothing new was sent: these variants were released before, and their answers were"
                " remembered here."
            )
        if self.reused and self.reused >= len(self.seen):
            return (
                "No new variants: those that were released before were sent, at no further cost."
            )
        if self.reused:
            return f"{count_of(self.reused, 'variant')} of before, and new ones besides."
        if self.shared:
            return "New variants, which share what was drawn for related queries before."
        return "New variants, drawn for this query."

    def _of_group(self, group: Group) -> str:
        if not group.known:
            return "A group that had not been sent before."
        if not self.sent:
            return (
                "Nothing was sent: the group had been sent before, and its answers were remembered"
                " here."
            )
        return (
            "A group that had been sent before: the engine learnt nothing but that it was asked"
            " for again."
        )
