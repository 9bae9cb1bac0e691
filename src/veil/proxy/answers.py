"""JSON of a search, declared once for the command line and the HTTP interface.

Numbers that JSON cannot represent (infinite or unknown) are null. No field holds the true
query. The output of `veil search` is often saved to a file, so it does not reveal which
samples happened to equal words of the query.
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
    """Replace lone surrogates, which engines accept and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


Figure = Annotated[float | None, BeforeValidator(_finite)]
Text = Annotated[str, BeforeValidator(_sendable)]


class Answer(BaseModel):
    """Base of all JSON objects."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class CostAnswer(Answer):
    """What is proved about a release in total."""

    kind: str
    epsilon: Figure = Field(description="null if nothing is proved")
    metric: str
    unit: str
    caveat: str
    passed: int = Field(description="words sent unchanged: nothing is bounded for them")
    bits: Figure = Field(description="upper bound of the leakage; null for other kinds")
    says: str = Field(description="the guarantee in words")

    @classmethod
    def of(cls, cost: Guarantee) -> "CostAnswer":
        """Return the JSON form of a guarantee."""
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
    """The budget: what was spent in the last 24 hours."""

    day: str = Field(description="UTC date on which the 24 hours end")
    spent: Figure
    limit: Figure = Field(description="null without a limit")
    left: Figure
    unproved: int = Field(description="releases in the 24 hours that no sum covers")
    bits: Figure = Field(description="leakage in the 24 hours, of releases with bounded leakage")
    bits_limit: Figure = Field(description="null without a limit")
    bits_left: Figure
    free: datetime | None = Field(description="when the oldest spending expires")


class ItemAnswer(Answer):
    """A result, as the engine returned it."""

    rank: int
    id: Text
    title: Text
    text: Text
    score: Figure
    link: Text
    path: Text = Field(description="path of your own file, or empty")


class MarkAnswer(Answer):
    """A piece of a variant and its origin."""

    text: Text
    kind: str = Field(description="layout, changed, same, unknown, kept or cover")


class SeenAnswer(Answer):
    """A variant as the engine saw it."""

    text: Text
    marks: list[MarkAnswer]
    gap: str = Field(description="why it had no answer, or empty")


class StandingAnswer(Answer):
    """Rank of the true query among the guesses of a local attacker."""

    attacker: str
    rank: int
    candidates: int
    ties: int = Field(description="guesses with the same score, including the query")
    last: int = Field(
        description=("the last rank of the tie: the query has any rank from rank to last")
    )
    mean: float = Field(description="the expected rank: the mean of rank to last")


class CheckedAnswer(Answer):
    """What the local attackers achieved with the variants before sending."""

    standings: list[StandingAnswer]
    waiting: list[str]
    unable: list[str]
    draws: int


class GateAnswer(Answer):
    """The decision of the sensitivity gate."""

    action: str
    reason: str
    rules: list[str]


class GroupAnswer(Answer):
    """The cover group that was sent, and which other texts share it."""

    address: int = Field(description="group number, from 0; -1 for a group of an earlier table")
    groups: int
    texts: int = Field(description="number of texts in the table")
    known: bool = Field(description="whether the group had been sent before")
    stayed: bool = Field(description="whether the group of an earlier, similar query was reused")
    others: list[Text] = Field(description="public texts in the same group")
    same: int = Field(description="how many texts of the table are in the group")
    session: bool = Field(
        description="whether another group was sent shortly before; others, same, active and"
        " popular then leave out texts that would have reused that group"
    )
    active: Figure = Field(
        description="how often an engine that knows everything and sees the group is right within"
        " ten guesses, if all texts of the table are equally likely: exact"
    )
    popular: Figure = Field(
        description="the same if popular texts are likelier; null if popularity is unknown"
    )
    blind: Figure = Field(description="the same as popular, before anything is sent")
    popularity: str = Field(
        description=(
            "source of the popularity: counts of the texts, or public frequencies of words"
        )
    )


class GapAnswer(Answer):
    """A variant without an answer."""

    variant: int = Field(description="its number, from 1")
    reason: str


class Search(Answer):
    """The results of a query and their cost, the same in every interface."""

    results: list[ItemAnswer]
    network: bool = Field(description="whether variants leave the machine")
    mechanism: str
    size: int
    standing: Locality = Field(
        description="own: your own documents on this machine, elsewhere: variants leave the"
        " machine, stand-in: on this machine in place of a remote engine"
    )
    plain: bool = Field(
        description="whether the query itself was searched: sent on request, or not sent at all"
        " because engine and documents are your own and on this machine"
    )
    gaps: list[GapAnswer] = Field(description="variants without an answer, with reasons")
    plain_top10_came_back: float | None = Field(
        description="share of the plain search's first ten results that is among ours"
    )
    plain_top10_came_back_deep: float | None = Field(
        description="the same for a plain search that ranks as many documents as all variants"
        " returned: the fair comparison"
    )
    plain_depth: int | None = Field(description="number of documents ranked by that plain search")
    protected_words: int
    kept_words: list[Text] = Field(description="words kept unchanged by policy")
    cost: CostAnswer
    seeded: bool = Field(description="whether the samples can be reproduced: not private")
    ledger: bool = Field(description="whether the release is in the ledger and was counted")
    note: str = Field(description="reason if the release was not counted; otherwise empty")
    spent: Figure = Field(description="epsilon spent by this search")
    earlier: Figure = Field(
        description=("epsilon of earlier releases of the query with other settings")
    )
    bits: Figure = Field(description="bits of leakage added by this search")
    earlier_bits: Figure = Field(
        description=("bits of leakage of earlier releases of the query with other settings")
    )
    cover: GroupAnswer | None = Field(description="the group, for a mechanism with cover groups")
    reused: int = Field(description="variants that had been released before")
    shared: int = Field(description="words whose samples came from related queries")
    sent: int = Field(description="variants sent to the engine now")
    release: int | None = Field(description="number of the ledger entry")
    budget: BudgetAnswer | None
    gate: GateAnswer
    preflight: CheckedAnswer | None = Field(
        description="rank of the query among guesses of local attackers; with the log, it can be"
        " looked up from this rank"
    )

    @classmethod
    def of(
        cls,
        outcome: SearchOutcome,
        *,
        network: bool,
        standing: Locality,
        show: int | None = None,
        **more: object,
    ) -> Self:
        """Return the JSON of a search outcome, with its first `show` results and more fields."""
        back, deep = outcome.back, outcome.back_deep
        checked, counted = outcome.preflight, outcome.ledger
        return cls.model_validate(
            {
                "results": outcome.results[:show],
                "network": network,
                "standing": standing,
                "mechanism": outcome.setting.mechanism,
                "size": outcome.setting.size,
                "plain": outcome.plain,
                "gaps": [
                    {"variant": number, "reason": seen.gap}
                    for number, seen in enumerate(outcome.seen, start=1)
                    if seen.gap
                ],
                "plain_top10_came_back": back[0] / back[1] if back and back[1] else None,
                "plain_top10_came_back_deep": deep[0] / deep[1] if deep and deep[1] else None,
                "plain_depth": outcome.depth or None,
                "protected_words": outcome.words,
                "kept_words": outcome.kept,
                "cost": CostAnswer.of(outcome.cost),
                "seeded": outcome.seeded,
                "ledger": counted,
                "note": HERE if outcome.here else "" if counted else NO_LEDGER,
                "spent": outcome.spent if counted else None,
                "earlier": outcome.earlier if counted else None,
                "bits": outcome.bits if counted else None,
                "earlier_bits": outcome.earlier_bits if counted else None,
                "cover": outcome.cover,
                "reused": outcome.reused,
                "shared": outcome.shared,
                "sent": outcome.sent,
                "release": outcome.release if counted else None,
                "budget": outcome.budget if counted else None,
                "gate": outcome.gate,
                "preflight": checked,
                **more,
            }
        )


class FoundAnswer(Search):
    """The results of a query, and what the engine saw, word by word."""

    variants: list[SeenAnswer]


class SearchDocument(Search):
    """What `veil search` prints: variants as texts, without the origin of each word."""

    engine: str = Field(description="spec of the engine; URLs are reduced to their host")
    variants: list[Text]
