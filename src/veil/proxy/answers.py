"""What a search tells programs: declared once, for the command line and for the interface.

A number that JSON cannot write (one without bound, or one that is not known) is null. The true
query is in none of it. What `veil search` prints is often kept in a file: it does not tell which
draws came out equal to words of the query.
"""

import math
from datetime import datetime
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from veil.core.guarantee import Guarantee
from veil.proxy.results import SearchOutcome
from veil.proxy.settings import NO_LEDGER
from veil.search.locality import HERE, Locality


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _sendable(text: object) -> object:
    """Replace halves of characters, which engines can send and UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


Figure = Annotated[float | None, BeforeValidator(_finite)]
Text = Annotated[str, BeforeValidator(_sendable)]


class Answer(BaseModel):
    """A document, or a part of one."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class CostAnswer(Answer):
    """What is proved of a release, all in all."""

    kind: str
    epsilon: Figure = Field(description="null where nothing is proved")
    metric: str
    unit: str
    caveat: str
    passed: int = Field(description="words that left as they are: nothing is bounded for them")
    bits: Figure = Field(description="of a bound on leakage; null for other kinds")
    says: str = Field(description="all of it in words, whatever the kind")

    @classmethod
    def of(cls, cost: Guarantee) -> "CostAnswer":
        """Make it of a guarantee."""
        epsilon = None if cost.kind == "none" else cost.epsilon
        return cls(
            kind=cost.kind,
            epsilon=epsilon,
            metric=cost.metric,
            unit=cost.unit,
            caveat=cost.caveat,
            passed=cost.passed,
            bits=cost.bits,
            says=str(cost),
        )


class BudgetAnswer(Answer):
    """The state of the budget: what was spent in the last 24 hours."""

    day: str = Field(description="the date on which the 24 hours end, in UTC")
    spent: Figure
    limit: Figure = Field(description="null where there is no limit")
    left: Figure
    unproved: int = Field(description="releases in the 24 hours that no sum covers")
    bits: Figure = Field(description="leakage of releases that are bounded so, in the 24 hours")
    bits_limit: Figure = Field(description="null where there is no limit")
    bits_left: Figure
    free: datetime | None = Field(description="when the oldest of the sums no longer counts")


class ItemAnswer(Answer):
    """One result, as the engine gave it."""

    rank: int
    id: Text
    title: Text
    text: Text
    score: Figure
    link: Text
    path: Text = Field(description="file of your own that it is of, or nothing")


class MarkAnswer(Answer):
    """A piece of a variant, and what it is."""

    text: Text
    kind: str = Field(description="layout, changed, same, unknown, kept or cover")


class SeenAnswer(Answer):
    """A variant as the engine saw it."""

    text: Text
    marks: list[MarkAnswer]
    gap: str = Field(description="why it had no answer, or nothing")


class StandingAnswer(Answer):
    """Where the true query stands among the guesses of a local attacker."""

    attacker: str
    rank: int
    candidates: int
    ties: int = Field(description="guesses that stand as high, itself included")
    last: int = Field(description="the last place of these: the query has any from rank to last")
    mean: float = Field(description="the mean of these places: the rank that it can expect")


class CheckedAnswer(Answer):
    """What the local attackers made of the variants before they were sent."""

    standings: list[StandingAnswer]
    waiting: list[str]
    unable: list[str]
    draws: int


class GateAnswer(Answer):
    """What the sensitivity gate said."""

    action: str
    reason: str
    rules: list[str]


class GroupAnswer(Answer):
    """The group of fixed texts that was sent, and who else would send the same."""

    address: int = Field(description="from 0; -1 for a group of an earlier table")
    groups: int
    texts: int = Field(description="texts of the table")
    known: bool = Field(description="whether the engine had seen the group before")
    stayed: bool = Field(description="whether it is the group of the query before, near to this")
    others: list[Text] = Field(description="public texts that have the same group")
    same: int = Field(description="how many texts of the table have it")
    session: bool = Field(
        description="whether another group was sent shortly before: texts that would have stayed"
        " with that one are then left out of others, same, active and popular"
    )
    active: Figure = Field(
        description="how often an engine that knows everything and sees the group is right within"
        " ten guesses, if all texts of the table are equally likely: exact"
    )
    popular: Figure = Field(
        description="the same if popular texts are likelier; null where nothing is known of that"
    )
    blind: Figure = Field(description="the same as popular, before anything is sent")
    popularity: str = Field(
        description="where that is from: counts of the texts, or public frequencies of words"
    )


class GapAnswer(Answer):
    """A variant that was not answered."""

    variant: int = Field(description="its number, from 1")
    reason: str


class Search(Answer):
    """The results of one query, and what they cost: the same at every door."""

    results: list[ItemAnswer]
    network: bool = Field(description="whether variants leave the machine")
    mechanism: str
    size: int
    standing: Locality = Field(
        description="own: documents of yours on this machine, elsewhere: variants leave it,"
        " stand-in: on this machine in place of an engine elsewhere"
    )
    plain: bool = Field(
        description="whether the query was searched as it is: sent on request, or not sent at all"
        " as engine and documents are your own and on this machine"
    )
    gaps: list[GapAnswer] = Field(description="variants without an answer, and why")
    plain_top10_came_back: float | None = Field(
        description="share of the plain search's first ten results that is among ours"
    )
    plain_top10_came_back_deep: float | None = Field(
        description="the same, of plain search that puts as many documents in order as all"
        " variants brought: the fair comparison"
    )
    plain_depth: int | None = Field(description="how many documents that are")
    protected_words: int
    kept_words: list[Text] = Field(description="words that passed unchanged by policy")
    cost: CostAnswer
    seeded: bool = Field(description="whether the draws can be repeated: not private")
    ledger: bool = Field(description="whether the release is in the ledger, and was counted")
    note: str = Field(description="what that means, where it is not")
    spent: Figure = Field(description="what this search added to what was spent")
    earlier: Figure = Field(description="what other settings released of the query before")
    bits: Figure = Field(description="what this search added in leakage")
    earlier_bits: Figure = Field(description="what other settings leaked of the query before")
    cover: GroupAnswer | None = Field(
        description="the group, of a mechanism that sends whole groups"
    )
    reused: int = Field(description="variants that had been released before")
    shared: int = Field(description="words whose draws came from related queries")
    sent: int = Field(description="variants that went to the engine now")
    release: int | None = Field(description="number of the entry in the ledger")
    budget: BudgetAnswer | None
    gate: GateAnswer
    preflight: CheckedAnswer | None = Field(
        description="where the query stands among guesses of local attackers; who has the log"
        " can look it up"
    )

    @classmethod
    def of(
        cls,
        found: SearchOutcome,
        *,
        network: bool,
        standing: Locality,
        show: int | None = None,
        **more: object,
    ) -> Self:
        """Make it of what a search found, with its first results and what the door adds."""
        back, deep = found.back, found.back_deep
        checked, counted = found.preflight, found.ledger
        return cls.model_validate(
            {
                "results": found.results[:show],
                "network": network,
                "standing": standing,
                "mechanism": found.setting.mechanism,
                "size": found.setting.size,
                "plain": found.plain,
                "gaps": [
                    {"variant": number, "reason": seen.gap}
                    for number, seen in enumerate(found.seen, start=1)
                    if seen.gap
                ],
                "plain_top10_came_back": back[0] / back[1] if back and back[1] else None,
                "plain_top10_came_back_deep": deep[0] / deep[1] if deep and deep[1] else None,
                "plain_depth": found.depth or None,
                "protected_words": found.words,
                "kept_words": found.kept,
                "cost": CostAnswer.of(found.cost),
                "seeded": found.seeded,
                "ledger": counted,
                "note": HERE if found.here else "" if counted else NO_LEDGER,
                "spent": found.spent if counted else None,
                "earlier": found.earlier if counted else None,
                "bits": found.bits if counted else None,
                "earlier_bits": found.earlier_bits if counted else None,
                "cover": found.cover,
                "reused": found.reused,
                "shared": found.shared,
                "sent": found.sent,
                "release": found.release if counted else None,
                "budget": found.budget if counted else None,
                "gate": found.gate,
                "preflight": checked,
                **more,
            }
        )


class FoundAnswer(Search):
    """The results of one query, and what the engine saw for them, word by word."""

    variants: list[SeenAnswer]


class SearchDocument(Search):
    """What `veil search` prints: the variants are texts, without what became of each word."""

    engine: str = Field(description="spec of the engine; of an address its host alone")
    variants: list[Text]
