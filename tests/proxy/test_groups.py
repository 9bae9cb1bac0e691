"""Cover groups in the ledger: bits once per query, sessions that stay, tables built anew."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.cover.conftest import Bag
from tests.cover.conftest import bag as bag
from tests.cover.conftest import table as table
from tests.cover.conftest import texts as texts

from veil.core.errors import BudgetError, ParameterError
from veil.core.types import Ranking, Released
from veil.cover import Table, Universe, build
from veil.proxy.answers import GroupAnswer, StandingAnswer
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.preflight import Preflight
from veil.proxy.settings import TruthRank
from veil.proxy.source import EngineRoute
from veil.proxy.sticky import PreflightBound, PreparedVariants, StickyVariants, UnrecordedVariants
from veil.search.engines.engine import Hit, ranking
from veil.text.log import QueryLog
from veil.text.mechanisms.queries.cover import Cover

BITS = 3  # of the small table: eight groups


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "veil")


@pytest.fixture
def cover(table: Table, tmp_path: Path) -> Cover:
    table.save(tmp_path / "t")
    return Cover(table=str(tmp_path / "t"), stay=1)


def take(ledger: Ledger, query: str, cover: Cover, bits: float | None = None) -> PreparedVariants:
    return StickyVariants(ledger, 10.0, None, bits).take(query, cover, None, 4)


def of_group(table: Table, address: int) -> list[str]:
    return [table.texts[i] for i in table.members(address)]


def test_a_group_is_paid_once_for_each_query(ledger: Ledger, cover: Cover, table: Table) -> None:
    """That it went out for another query before tells the engine no less of this one."""
    item, other = of_group(table, 2)[:2]
    first = take(ledger, item, cover)
    assert (first.bits, first.spent, first.reused) == (BITS, 0, 0)
    assert first.variants[0] == table.group(2)
    assert first.group is not None
    assert (first.group.address, first.group.groups, first.group.known) == (2, 8, False)
    assert len(first.group.others) == 4
    for query, bits, reused in ((item.upper(), 0, 4), (other, BITS, 0), (other, 0, 4)):
        again = take(ledger, query, cover)
        assert (again.bits, again.spent, again.reused) == (bits, 0, reused)
        assert again.variants[0] == table.group(2)
        assert again.group is not None
        assert again.group.known
    assert take(ledger, of_group(table, 5)[0], cover).bits == BITS
    state = ledger.budget()
    assert (state.bits, state.spent, state.unproved) == (3 * BITS, 0, 0)
    assert [item.bits for item in ledger.releases(9)] == [BITS, BITS, BITS]


def test_what_is_remembered_is_not_sent_and_costs_nothing(
    ledger: Ledger, cover: Cover, table: Table
) -> None:
    sticky, query = StickyVariants(ledger, 10.0), of_group(table, 2)[1]
    answers = ranking([[Hit("a")]] * 4, 1)
    sent_texts: list[tuple[str, ...]] = []

    def recall(texts: Sequence[Released]) -> Ranking:
        sent_texts.append(tuple(texts))
        return answers

    free = sticky.take(query, cover, None, 4, None, EngineRoute(recall=recall))
    assert (free.bits, free.answers) == (0, answers)
    assert sent_texts == [table.group(2)]
    later = take(ledger, query, cover)  # nobody remembers: now it goes out for this query
    assert (later.bits, later.answers, later.reused) == (BITS, None, 4)
    assert take(ledger, query, cover).bits == 0
    assert ledger.budget().bits == BITS


def test_a_demonstration_pays_for_nothing_that_leaves(
    ledger: Ledger, cover: Cover, table: Table
) -> None:
    sticky, query = StickyVariants(ledger, 10.0), of_group(table, 2)[0]
    shown = sticky.take(query, cover, None, 4, None, EngineRoute(leaves=False))
    assert shown.group is not None
    assert not shown.group.known
    released = take(ledger, query, cover)
    assert (released.bits, released.reused) == (BITS, 0)
    assert released.group is not None
    assert not released.group.known  # by no engine elsewhere


def test_many_queries_cannot_hide_behind_groups_that_are_known(
    ledger: Ledger, cover: Cover, table: Table
) -> None:
    """The engine learns the address of each: bits add up, however few groups there are."""
    queries = [text for address in range(table.L) for text in of_group(table, address)[:3]]
    for query in queries:
        take(ledger, query, cover)
    assert ledger.budget().bits == BITS * len(queries)


def test_bits_have_a_limit_of_their_own(ledger: Ledger, cover: Cover, table: Table) -> None:
    take(ledger, of_group(table, 0)[0], cover, bits=4)
    with pytest.raises(
        BudgetError, match=r"would cost 3 bits, but only 1 of the 4 bits .* nothing was"
    ):
        take(ledger, of_group(table, 1)[0], cover, bits=4)
    assert len(ledger.releases(9)) == 1
    with pytest.raises(BudgetError):
        take(ledger, of_group(table, 0)[1], cover, bits=4)
    assert take(ledger, of_group(table, 0)[0], cover, bits=4).bits == 0
    later = datetime.now().astimezone() + timedelta(hours=25)
    assert ledger.budget(now=later).bits == 0


def test_a_session_stays_with_its_group(ledger: Ledger, cover: Cover, table: Table) -> None:
    near = cover.model_copy(update={"stay": 0.92})
    first = take(ledger, "skin rare tumour", near)
    assert first.group is not None
    assert not first.group.stayed
    address = first.group.address
    own = {text: int(table.address([text])[0]) for text in table.texts}
    follow = next(t for t in table.texts if own[t] != address and table.near(t, address) >= 0.92)
    far = next(t for t in table.texts if own[t] != address and table.near(t, address) < 0.92)
    second = take(ledger, follow, near)
    assert second.group is not None
    assert (second.group.stayed, second.group.address, second.bits) == (True, address, BITS)
    assert second.variants[0] == first.variants[0]
    third = take(ledger, far, near)
    assert third.group is not None
    assert (third.group.stayed, third.group.address) == (False, own[far])
    assert third.bits == BITS
    # texts that would have stayed are ruled out by who saw both groups
    members = [i for i in table.members(own[far]) if table.near(table.texts[i], address) < 0.92]
    assert third.group.session
    assert third.group.same == len(members) < len(table.members(own[far]))
    assert set(third.group.others) <= {table.texts[i] for i in members}
    assert third.group.active == min(1.0, 10 / len(members))
    # a repetition tells what the first one told: the engine still knows what came before
    third_again = take(ledger, far, near)
    assert third_again.group is not None
    assert third_again.group.session
    assert third_again.group.active == third.group.active
    assert third_again.group.same == third.group.same
    assert third_again.bits == 0
    # what was released of a query stays, also when the session has gone on, and that is told
    again = take(ledger, follow, near)
    assert again.variants[0] == first.variants[0]
    assert again.group is not None
    assert again.group.stayed


def test_a_repetition_after_others_still_counts_the_session(
    ledger: Ledger, cover: Cover, table: Table
) -> None:
    """Also if the group before was asked for again, and if its entry was forgotten."""
    near = cover.model_copy(update={"stay": 0.92})
    before = take(ledger, of_group(table, 2)[0], near)
    own = {text: int(table.address([text])[0]) for text in table.texts}
    far = next(t for t in table.texts if own[t] != 2 and table.near(t, 2) < 0.92)
    first = take(ledger, far, near)
    further = next(t for t in table.texts if own[t] != own[far] and table.near(t, own[far]) < 0.92)
    for query in (further, of_group(table, 2)[0]):
        take(ledger, query, near)
    again = take(ledger, far, near)
    assert first.group is not None
    assert again.group is not None
    assert first.group.session
    assert again.group == replace(first.group, known=True)
    oldest = ledger.releases(9)[-1]
    assert oldest.variants == before.variants[0]
    ledger.forget(oldest.number)
    forgotten = take(ledger, far, near)
    assert forgotten.group is not None
    assert not forgotten.group.session


def test_a_group_is_told_by_both_priors(ledger: Ledger, texts: list[str], tmp_path: Path) -> None:
    words_table = build(Universe.of(texts).estimated(), tracks=4, cell=2).save(tmp_path / "words")
    query = words_table.texts[0]
    address = int(words_table.address([query])[0])
    group = take(ledger, query, Cover(table=str(tmp_path / "words"))).group
    assert group is not None
    members = words_table.members(address)
    assert group.active == words_table.risk_of(members, prior="equal")
    assert group.popular == words_table.risk_of(members, prior="popular")
    assert (group.blind, group.popularity) == (words_table.blind(prior="popular"), "words")
    answer = GroupAnswer.model_validate(group)
    assert (answer.active, answer.popular, answer.blind) == (
        group.active,
        group.popular,
        group.blind,
    )


def test_a_session_ends(
    ledger: Ledger, cover: Cover, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = cover.model_copy(update={"stay": 0.0})
    item, other = of_group(table, 2)[0], of_group(table, 5)[0]
    take(ledger, item, near)
    monkeypatch.setattr("veil.proxy.sources.SESSION", -1.0)
    assert take(ledger, other, near).variants[0] == table.group(5)


def test_a_table_built_anew_keeps_the_groups_of_before(
    ledger: Ledger, cover: Cover, table: Table, texts: list[str]
) -> None:
    query = of_group(table, 2)[0]
    first = take(ledger, query, cover)
    shutil.rmtree(cover.table)
    build([*texts[:100], *(f"new {i} text" for i in range(60))], 4, 4).save(cover.table)
    again = take(ledger, query, cover)
    assert again.variants[0] == first.variants[0]
    assert (again.bits, again.reused) == (0, 4)
    assert take(ledger, "new 7 text", cover).variants[0] == cover.open().group(
        int(cover.open().address(["new 7 text"])[0])
    )


@pytest.mark.parametrize("drawer", [StickyVariants, UnrecordedVariants])
def test_a_bound_must_not_choose(ledger: Ledger, cover: Cover, drawer: type) -> None:
    bound = PreflightBound(5)
    instance = (
        StickyVariants(ledger, None, bound)
        if drawer is StickyVariants
        else UnrecordedVariants(None, bound)
    )
    with pytest.raises(ParameterError, match="selects variants by the query"):
        instance.take("skin", cover, None, 4)
    assert ledger.releases(9) == ()


def test_without_a_ledger(cover: Cover, table: Table) -> None:
    taken = UnrecordedVariants().take("skin rare tumour", cover, None, 4)
    assert taken.group is not None
    assert taken.variants[0] == table.group(taken.group.address)
    assert {mark.kind for marks in taken.marks for mark in marks} == {"cover"}


def test_the_ledger_knows_whose_queries_are_in_a_universe(
    ledger: Ledger, cover: Cover, texts: list[str]
) -> None:
    assert ledger.holds(texts) == 0
    take(ledger, texts[3].title(), cover)
    take(ledger, "something else", cover)
    assert ledger.holds(texts) == 1


def test_a_tie_has_all_of_its_places() -> None:
    tied, sole = TruthRank("bayes", 1, 18_018, 200), TruthRank("bayes", 7, 90)
    assert (tied.last, tied.mean, tied.within(10)) == (200, 100.5, 0.05)
    assert (sole.last, sole.mean) == (7, 7)
    answer = StandingAnswer.model_validate(tied)
    assert (answer.rank, answer.last, answer.mean, answer.ties) == (1, 200, 100.5, 200)


def test_the_local_attacker_knows_the_group_and_no_more(cover: Cover, table: Table) -> None:
    watch = Preflight(QueryLog.of(table.texts), Bag())  # bayes alone: it is exact
    for query, more in ((of_group(table, 2)[0], 0), ("skin rare tumour treatment", 1)):
        address = int(table.address([query])[0])
        result = watch.check(query, table.group(address), cover, None, wait=True)
        assert result.standings == (
            TruthRank("bayes", 1, len(table) + more, len(table.members(address)) + more),
        )
    unseen = watch.check("skin", ["something else"], cover, None, wait=True)
    assert unseen.standings[0] == TruthRank("bayes", 1, len(table) + 1, 1)  # nobody else fits
