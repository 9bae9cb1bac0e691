"""Variants that stay: the same thing asked again costs and tells nothing new."""

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest

from veil.core.errors import BudgetError, InputError, ParameterError, RiskError
from veil.core.guarantee import Guarantee
from veil.core.types import Released, Seeded
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.ledger import Ledger, StaleError
from veil.proxy.settings import PreflightResult, TruthRank
from veil.proxy.source import law_name
from veil.proxy.sticky import (
    PreflightBound,
    PreparedVariants,
    StickyVariants,
    UnrecordedVariants,
    exceeds_bound,
)
from veil.search.pipeline import WordOptions
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease
from veil.text.protect import protect
from veil.text.vectors.embeddings import Embeddings

CMP = mechanism("cmp(epsilon=2)")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "veil")


class Asking:
    """Takes variants of queries whose words are numbers of the space's words."""

    def __init__(self, ledger: Ledger, space: Embeddings) -> None:
        self.ledger, self.space = ledger, space
        self.sticky = StickyVariants(ledger)

    def __call__(self, *words: int | str, size: int = 4) -> PreparedVariants:
        text = " ".join(self.space.words[w] if isinstance(w, int) else w for w in words)
        return self.sticky.take(text, CMP, self.space, size)


@pytest.fixture
def ask(ledger: Ledger, space: Embeddings) -> Asking:
    return Asking(ledger, space)


def columns(taken: PreparedVariants) -> list[tuple[str, ...]]:
    return list(zip(*(variant.split() for variant in taken.variants[0]), strict=True))


def test_the_same_query_has_the_same_variants_and_costs_nothing(ask: Asking) -> None:
    first = ask(1, 2, 3)
    assert (first.spent, first.reused) == (2 * 3 * 4, 0)
    assert len(first.variants[0]) == 4
    for again in (
        ask(1, 2, 3),
        ask(3, 1, 2),
        ask(*(ask.space.words[i].upper() for i in (1, 2, 3))),
    ):
        assert again.variants[0] == first.variants[0]
        assert (again.spent, again.reused, again.entry.number) == (0, 4, first.entry.number)
    assert ask.ledger.budget().spent == 24
    assert ask.ledger.releases(1)[0].asked == 4


def test_variants_are_released_strings_and_not_seeded(ask: Asking) -> None:
    for taken in (ask(1, 2), ask(1, 2)):
        assert {type(value) for value in taken.variants[0]} == {Released}


def test_it_stays_so_after_a_restart(ask: Asking, space: Embeddings, tmp_path: Path) -> None:
    first = ask(1, 2)
    ask.ledger.close()
    again = Asking(Ledger(tmp_path / "veil"), space)(2, 1)
    assert again.variants[0] == first.variants[0]
    assert again.spent == 0


def test_a_refinement_pays_for_its_new_word_only(ask: Asking) -> None:
    first, second = ask(1, 2), ask(1, 2, 3)
    assert second.spent == 2 * 1 * 4
    assert second.entry.shared == 2
    assert columns(second)[:2] == columns(first)


def test_a_part_of_a_query_costs_nothing(ask: Asking) -> None:
    whole, part = ask(1, 2, 3), ask(3, 2)
    assert part.spent == 0
    assert part.entry.shared == 2
    assert columns(part) == [columns(whole)[2], columns(whole)[1]]


def test_an_unrelated_query_has_draws_of_its_own(ask: Asking) -> None:
    first, other = ask(1, 2, 3, size=40), ask(1, 4, 5, 6, 7, size=40)
    assert other.spent == 2 * 5 * 40
    assert other.entry.shared == 0
    assert columns(other)[0] != columns(first)[0]


def test_more_variants_add_to_those_that_there_are(ask: Asking) -> None:
    first, more, less = ask(1, 2, size=3), ask(1, 2, size=5), ask(1, 2, size=2)
    assert more.variants[0][:3] == first.variants[0]
    assert (len(more.variants[0]), more.spent, more.reused) == (5, 2 * 2 * 2, 3)
    assert less.variants[0] == more.variants[0]  # all that is out
    assert (less.spent, less.reused) == (0, 5)
    assert less.variants.cost.epsilon == 2 * 2 * 5


def test_another_setting_draws_anew(ask: Asking, space: Embeddings) -> None:
    ask(1, 2)
    text = f"{space.words[1]} {space.words[2]}"
    other = ask.sticky.take(text, mechanism("cmp(epsilon=3)"), space, 4)
    assert other.spent == 3 * 2 * 4
    assert other.entry.shared == 0
    assert ask.ledger.earlier(ask.ledger.key.query(text), other.entry.setting) == 2 * 2 * 4


def test_a_word_that_comes_twice_is_drawn_twice(ask: Asking) -> None:
    taken = ask(1, 1, size=60)
    first, second = columns(taken)
    assert first != second
    assert taken.spent == 2 * 2 * 60


def test_an_unknown_word_is_sticky_too_and_marked(ask: Asking) -> None:
    taken = ask("xyzzy", "plugh")  # a word that is known may be drawn for another one
    assert columns(ask("XYZZY", "Plugh")) == columns(taken)
    assert "xyzzy" not in " ".join(taken.variants[0])
    first, result = taken.variants[0][0], taken.marks[0]
    assert [mark.kind for mark in result] == ["unknown", "layout", "unknown"]
    assert "".join(mark.text for mark in result) == first


def test_a_budget_refuses_before_anything_is_written(ask: Asking) -> None:
    ask.sticky.limit = 20.0
    ask(1, 2)
    with pytest.raises(BudgetError, match="nothing was sent"):
        ask(3, 4)
    assert len(ask.ledger.releases(9)) == 1
    assert ask(2, 1).spent == 0  # what is out can be used


def test_nothing_to_protect_is_refused(ask: Asking) -> None:
    with pytest.raises(InputError, match="No word of the query would be protected"):
        ask("?!")
    assert ask.ledger.releases(9) == ()


def test_two_at_once_release_once(ledger: Ledger, space: Embeddings, tmp_path: Path) -> None:
    other = Ledger(tmp_path / "veil")
    taken: list[PreparedVariants] = []
    barrier = threading.Barrier(6)

    def run(item: Ledger) -> None:
        barrier.wait()
        taken.append(Asking(item, space)(1, 2, 3))

    threads = [threading.Thread(target=run, args=(item,)) for item in (ledger, other) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({item.variants[0] for item in taken}) == 1
    assert sorted(item.spent for item in taken) == [0, 0, 0, 0, 0, 24]
    assert ledger.budget().spent == 24


class Watching:
    """A local attacker that says what it is told to, and remembers what it was shown."""

    def __init__(self, *ranks: int) -> None:
        self.ranks, self.shown = list(ranks), list[Sequence[str]]()
        self.asked: list[str] = []

    def __call__(self, asked: str, variants: Sequence[str]) -> PreflightResult:
        self.asked.append(asked)
        self.shown.append(tuple(variants))
        rank = self.ranks.pop(0)
        return PreflightResult((TruthRank("bayes", rank, 100),) if rank else ())


def taking(ask: Asking, bound: PreflightBound, look: Watching) -> PreparedVariants:
    ask.sticky.bound = bound
    text = f"{ask.space.words[1]} {ask.space.words[2]}"
    return ask.sticky.take(text, CMP, ask.space, 4, look)


def test_a_draw_that_gives_too_much_away_is_refused(ask: Asking) -> None:
    with pytest.raises(RiskError, match=r"bayes ranks your query 3 of 100"):
        taking(ask, PreflightBound(10, "refuse"), Watching(3))
    assert ask.ledger.releases(9) == ()
    assert ask.ledger.budget().spent == 0


@pytest.mark.parametrize(
    ("rank", "ties", "near"), [(1, 1, True), (10, 20, False), (10, 19, True), (11, 1, False)]
)
def test_equal_guesses_may_be_tried_in_any_order(rank: int, ties: int, near: bool) -> None:
    checked = PreflightResult(
        (TruthRank("bayes", 90, 100), TruthRank("inference", rank, 100, ties))
    )
    assert exceeds_bound(checked, PreflightBound(10)) is near


def test_a_sticky_release_says_that_draws_come_again(ask: Asking) -> None:
    assert "reveals that the word is the same" in ask(1, 2).variants.cost.caveat


def test_a_sticky_release_says_what_epsilon_is_worth(ledger: Ledger, space: Embeddings) -> None:
    ask = Asking(ledger, Embeddings(space.words, space.vectors * 1_000, "long"))
    for taken in (ask(1, 2), ask(1, 2)):
        assert "the usual budgets hide nearly nothing." in taken.variants.cost.caveat


def test_it_is_drawn_again_and_said_so(ask: Asking) -> None:
    look = Watching(3, 10, 11)
    taken = taking(ask, PreflightBound(10, "again"), look)
    assert taken.checked is not None
    assert taken.checked.draws == 3
    assert taken.variants[0] == look.shown[-1]
    assert len(set(look.shown)) == 3
    assert taken.spent == 2 * 2 * 4
    assert ask.ledger.releases(1)[0].chosen
    assert "outside the guarantee" in taken.variants.cost.caveat
    again = taking(ask, PreflightBound(10, "again"), Watching(11))
    assert "outside the guarantee" in again.variants.cost.caveat


@pytest.mark.parametrize("action", ["again", "more", "refuse"])
def test_whatever_passed_a_bound_was_chosen(
    ask: Asking, action: Literal["again", "more", "refuse"]
) -> None:
    taken = taking(ask, PreflightBound(10, action), Watching(11))
    assert taken.entry.chosen
    assert "outside the guarantee" in taken.variants.cost.caveat
    ask.sticky.bound = None
    part = ask(2)
    assert part.entry.shared == 1
    assert part.entry.chosen
    assert not ask(7, 8).entry.chosen


def test_drawing_again_ends(ask: Asking) -> None:
    look = Watching(*[1] * 20)
    with pytest.raises(RiskError):
        taking(ask, PreflightBound(10, "again", tries=4), look)
    assert len(look.shown) == 4
    assert ask.ledger.releases(9) == ()


def test_more_variants_are_added_and_paid(ask: Asking) -> None:
    look = Watching(3, 50)
    taken = taking(ask, PreflightBound(10, "more"), look)
    assert [len(shown) for shown in look.shown] == [4, 6]
    assert look.shown[1][:4] == look.shown[0]
    assert taken.spent == 2 * 2 * 6
    assert ask.ledger.releases(1)[0].chosen
    look = Watching(50)
    again = taking(ask, PreflightBound(10, "more"), look)
    assert (
        again.variants[0] == taken.variants[0] == look.shown[0]
    )  # not the four that were too few


def test_more_variants_have_an_end(ask: Asking) -> None:
    look = Watching(*[1] * 50)
    ask.sticky.bound = PreflightBound(10, "more", tries=50)
    with pytest.raises(RiskError):
        ask.sticky.take(ask.space.words[1], CMP, ask.space, 600, look)
    assert max(map(len, look.shown)) == 1_000


def test_a_bound_that_nobody_can_check_refuses(ask: Asking) -> None:
    with pytest.raises(RiskError, match="No local attacker could be run"):
        taking(ask, PreflightBound(10), Watching(0))


def test_a_bound_holds_for_what_was_released_without_it(ask: Asking) -> None:
    ask(1, 2)
    with pytest.raises(RiskError):
        taking(ask, PreflightBound(10), Watching(1))
    assert taking(ask, PreflightBound(10), Watching(11)).spent == 0


def test_attackers_see_all_that_is_out(ask: Asking) -> None:
    ask(1, 2, size=9)
    look = Watching(50)
    text = f"{ask.space.words[1]} {ask.space.words[2]}"
    taken = ask.sticky.take(text, CMP, ask.space, 1, look)
    assert len(look.shown[0]) == len(taken.variants[0]) == 9


def test_attackers_guess_the_query_as_it_was_released(ask: Asking) -> None:
    item, pair = ask.space.words[1], ask.space.words[2]
    first = f"{item.title()}, {pair}"
    look = Watching(*[50] * 4)
    for text in (first, f"{pair} {item}?", f"{pair.upper()} {item}"):
        taken = ask.sticky.take(text, CMP, ask.space, 3, look)
        assert ", " in taken.variants[0][0]
    assert look.asked == [first] * 3
    more = ask.sticky.take(f"{pair} {item}!", CMP, ask.space, 5, look)
    assert all(", " in text and text[0].isupper() for text in more.variants[0])
    assert look.asked[-1] == first
    assert type(look.asked[-1]) is str  # not one that may be sent


def test_letters_that_look_alike_are_one_query(ask: Asking) -> None:
    word = ask.space.words[1]
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in word)
    first = ask(wide, 2)
    assert not any(mark.kind == "unknown" for row in first.marks for mark in row)
    assert ask(1, 2).variants[0] == first.variants[0]


def test_letters_that_fold_alike_end_in_no_error(ask: Asking) -> None:
    first = ask("stra\u00dfe", 2, size=3)
    assert ask("strasse", 2, size=3).variants[0] == first.variants[0]
    more = ask("STRASSE", 2, size=5)
    assert more.variants[0][:3] == first.variants[0]
    assert len(more.variants[0]) == 5


SURE = mechanism("cmp(epsilon=10000)")  # the draw is the word itself, or the decoy of it


def test_an_unknown_word_keeps_its_decoy_in_its_query(ask: Asking) -> None:
    few = ask.sticky.take("xyzzy skin", SURE, ask.space, 3)
    many = ask.sticky.take("Skin, XYZZY", SURE, ask.space, 9)
    assert len(set(many.variants[0])) == 1
    assert many.variants[0][:3] == few.variants[0]
    ask.ledger.forget(few.entry.number)
    (anew,) = ask.sticky.take("skin xyzzy", SURE, ask.space, 1).variants[0]
    assert anew.split() == few.variants[0][0].split()[::-1]


def test_an_unknown_word_has_another_decoy_in_every_other_query(ask: Asking) -> None:
    words = ask.space.words
    view = []
    for i in range(100):  # each query has a word of its own, so that none is related to another
        text = f"xyzzy {words[i % 60]} unheard{i}"
        (variant,) = ask.sticky.take(text, SURE, ask.space, 1).variants[0]
        view.append(variant.split()[0])
    pairs = [item == pair for i, item in enumerate(view) for pair in view[:i]]
    assert sum(pairs) / len(pairs) < 3 / len(words)  # by chance it is 1 / len(words)


def test_related_queries_share_no_draws_of_an_unknown_word(ask: Asking) -> None:
    first = ask("xyzzy", 2, 3, size=40)
    second = ask("xyzzy", 2, 3, 4, size=40)
    assert second.entry.shared == 2
    assert second.spent == 2 * 2 * 40  # for the new word, and for the unknown one
    assert columns(second)[1:3] == columns(first)[1:]
    assert columns(second)[0] != columns(first)[0]


def test_an_unknown_word_makes_no_queries_related(ask: Asking) -> None:
    """Else, that the others share their draws would tell that it is common, too."""
    ask("xyzzy", 2, size=40)
    other = ask("xyzzy", 2, 3, 4, size=40)
    assert other.entry.shared == 0
    assert ask("xyzzy", size=40).entry.shared == 0


def test_more_variants_of_an_older_release_have_its_decoy(ask: Asking) -> None:
    key, name = ask.ledger.key, law_name(SURE, ask.space)
    (word,) = key.words(("xyzzy",), name)
    decoy = ask.space.words[key.decoy(word, b"", ask.space.size)]  # of the word alone
    older = Entry(key.query("xyzzy"), name, (decoy,), {word: (decoy,)}, words=1, tied=False)
    ask.ledger.record(older, 0)
    for size in (3, 6):
        assert ask.sticky.take("xyzzy", SURE, ask.space, size).variants[0] == (decoy,) * size


def test_other_vectors_of_the_same_name_have_other_draws(ask: Asking) -> None:
    other = Embeddings(ask.space.words, 2 * ask.space.vectors, ask.space.name)
    ask(1, 2)
    text = f"{ask.space.words[1]} {ask.space.words[2]}"
    assert ask.sticky.take(text, CMP, other, 4).spent > 0


def test_what_has_no_bound_shares_without_an_error(ask: Asking) -> None:
    loose = mechanism("custext(epsilon=5, k=5, mapping='neighbours')")
    words = ask.space.words
    first = ask.sticky.take(f"{words[1]} {words[2]}", loose, ask.space, 3)
    assert math.isinf(first.spent)
    part = ask.sticky.take(words[2], loose, ask.space, 3)
    assert part.spent == 0
    assert math.isinf(part.entry.cost)


def test_a_bound_with_an_additive_part_is_not_counted_by_a_budget(ask: Asking) -> None:
    plus = mechanism("santext(epsilon=2, sensitive_share=0.5)")
    ask.sticky.limit = 1e6
    with pytest.raises(BudgetError, match="must have a bound that a budget can count"):
        ask.sticky.take(ask.space.words[1], plus, ask.space, 2)


def test_a_budget_refuses_before_anything_is_drawn(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veil.proxy.sources.draw", None)
    ask.sticky.limit = 1.0
    with pytest.raises(BudgetError):
        ask(1, 2)


class Upside(QueryMechanism):
    """Rewrites a query as numbered nonsense, three of them at most."""

    name: ClassVar[str] = "upside"
    paper: ClassVar[str] = ""

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit="query")

    def bind(self) -> "Upside":
        return self

    def scramble(self, text: str, size: int) -> QueryRelease:
        result = tuple(f"nonsense {len(text)} {i}" for i in range(min(size, 3)))
        return QueryRelease(result, (), len(text.split()))


def test_mechanisms_that_rewrite_whole_queries_stay_too(ledger: Ledger) -> None:
    sticky = StickyVariants(ledger)
    first = sticky.take("a car", Upside(), None, 2)
    more = sticky.take("CAR a", Upside(), None, 50)
    assert more.variants[0] == (*first.variants[0], "nonsense 5 2")
    assert more.entry.cost == math.inf
    again = sticky.take("a car", Upside(), None, 50)
    assert again.variants[0] == more.variants[0]
    assert (again.spent, again.reused) == (0, 3)
    assert math.isinf(ledger.releases(1)[0].spent)
    with pytest.raises(BudgetError, match="must have a bound that a budget can count"):
        StickyVariants(ledger, 1e9).take("dogs", Upside(), None, 3)


class Telling(Upside):
    """Sends one more of the words with each of its rewritings."""

    def scramble(self, text: str, size: int) -> QueryRelease:
        words = sorted(text.split())
        result = tuple(" ".join([*words[:i], "thing"]) for i in range(size))
        return QueryRelease(result, (), len(words))


def test_words_that_earlier_rewritings_hold_are_told(ledger: Ledger) -> None:
    sticky = StickyVariants(ledger)
    for size, text in ((3, "skin a car"), (1, "car skin a")):
        taken = sticky.take(text, Telling(), None, size)
        assert taken.variants[0] == ("thing", "a thing", "a car thing")
        assert sorted(taken.variants.kept[0]) == ["a", "car"]
        assert taken.variants.cost.passed == 2
        assert "2 words passed unchanged" in taken.variants.cost.caveat
        assert kinds(taken) == {"kept", "layout", "changed"}


def kinds(taken: PreparedVariants) -> set[str]:
    return {mark.kind for row in taken.marks for mark in row}


CHOICES: list[WordOptions] = [
    {"select": ["babeba"]},  # the third word
    {"select": "content"},
    {"unknown": "mask"},
    {"unknown": "drop", "policies": {"number": "mask"}},
    {"policies": {"number": "drop"}},
]


@pytest.mark.parametrize("words", CHOICES)
@pytest.mark.parametrize("first", [True, False])
def test_a_release_is_not_used_for_another_choice_of_words(
    ask: Asking, words: WordOptions, first: bool
) -> None:
    text = " ".join(["the", *ask.space.words[1:4], "xyzzy", "17"])
    choices: tuple[WordOptions, WordOptions] = ({}, words) if first else (words, {})
    item, other = (ask.sticky.take(text, CMP, ask.space, 4, **value) for value in choices)
    assert other.reused == 0
    assert other.entry.number != item.entry.number
    selected = other if first else item
    assert all(part in selected.entry.setting for part in ("cmp(epsilon=2.0) in", ", "))
    assert selected.variants == replace(
        protect([text], CMP, ask.space, 4, in_clear=True, **words),
        rows=selected.variants.rows,
        cost=selected.variants.cost,
    )  # so many words were replaced, and these were kept, as `protect` does
    again = ask.sticky.take(text.upper(), CMP, ask.space, 4, **words)
    assert again.variants.rows == selected.variants.rows
    assert (again.spent, again.variants.cost.passed) == (0, len(again.variants.kept[0]))
    assert ask.ledger.earlier(item.entry.query, other.entry.setting) == item.entry.cost


def test_draws_of_a_word_serve_whatever_other_words_are_protected(ask: Asking) -> None:
    words = ask.space.words
    text = f"{words[1]} {words[2]}"
    whole = ask(1, 2)
    part = ask.sticky.take(text, CMP, ask.space, 4, select=[words[2]])
    assert (part.spent, part.entry.shared) == (0, 1)  # and so nothing can be averaged
    assert columns(part) == [(words[1],) * 4, columns(whole)[1]]
    assert part.variants.kept == ((words[1],),)
    assert part.variants.cost.passed == 1
    assert "not selected" not in whole.variants.cost.caveat
    assert "selected and one that is not" in part.variants.cost.caveat
    assert kinds(part) >= {"kept", "layout"}


OTHER: list[WordOptions] = [{"policies": {"number": "drop"}}, {"policies": {"number": "mask"}}]


def test_all_that_is_out_of_a_word_is_used_before_more_is_drawn(ask: Asking) -> None:
    """Else who asks with other choices, in other numbers, has more draws of it to average."""
    text = " ".join(ask.space.words[1:3])

    def take(size: int, words: WordOptions) -> PreparedVariants:
        return ask.sticky.take(text, CMP, ask.space, size, **words)

    few, more = take(3, {}), take(6, OTHER[0])
    assert more.spent == 2 * 2 * 3
    assert [column[:3] for column in columns(more)] == columns(few)
    own = take(6, {})
    assert (own.spent, own.reused, own.entry.shared) == (0, 3, 2)
    assert columns(own) == columns(more)
    take(4, OTHER[1])  # the newest is not the longest
    assert ask(1, 2, 3, size=6).spent == 2 * 6
    assert ask.ledger.budget().spent == 2 * 2 * 6 + 2 * 6


def test_draws_of_its_own_stay_where_others_go_another_way(ask: Asking) -> None:
    """Two that were drawn at the same time differ, and each is paid for."""
    text = " ".join(ask.space.words[1:3])
    first = ask(1, 2, size=40)
    other = StickyVariants(ask.ledger).take(text, CMP, ask.space, 60, **OTHER[0])
    draws = {key: column[::-1] for key, column in other.entry.draws.items()}
    assert all(draws[key][:40] != first.entry.draws[key] for key in draws)
    ask.ledger.forget(other.entry.number)
    ask.ledger.record(replace(other.entry, draws=draws), 0)
    assert columns(ask(1, 2, size=50))[0][:40] == columns(first)[0]
    assert ask(1, 2, size=50).spent == 0


def test_what_passed_a_bound_in_part_was_chosen(ask: Asking) -> None:
    text = " ".join(ask.space.words[1:3])
    assert not ask(1, 2, size=3).entry.chosen
    ask.sticky.bound = PreflightBound(10)
    ask.sticky.take(text, CMP, ask.space, 6, Watching(11), **OTHER[0])
    ask.sticky.bound = None
    assert ask(1, 2, size=6).entry.chosen


def test_a_release_that_is_forgotten_meanwhile_is_made_anew(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, touch, late = ask(1, 2), ask.ledger.touch, [True]

    def forgotten(number: int) -> None:
        if late.pop():
            ask.ledger.forget(number)
        touch(number)

    monkeypatch.setattr(ask.ledger, "touch", forgotten)
    again = ask(1, 2)
    assert again.spent == first.spent
    assert [release.variants for release in ask.ledger.releases(9)] == [again.variants[0]]
    with pytest.raises(StaleError, match="deleted at the same time"):
        touch(99)


def test_a_name_that_only_its_capital_makes_known_is_not_sent_unsaid(ledger: Ledger) -> None:
    space = Embeddings(("flu", "cancer", "Madrid"), np.eye(3, dtype=np.float32), "cased")
    sticky, words = StickyVariants(ledger), WordOptions(unknown="drop", select=["flu"])
    first = sticky.take("flu in Madrid", SURE, space, 3, **words)
    assert first.variants.kept == (("in", "Madrid"),)
    second = sticky.take("flu in madrid", SURE, space, 3, **words)
    assert (second.variants.kept, second.variants.cost.passed) == ((("in",),), 1)
    assert not any("Madrid" in text for text in second.variants[0])
    assert (second.spent, second.entry.shared) == (0, 1)
    for text, taken in (("Madrid: IN flu", first), ("In Flu madrid", second)):
        again = sticky.take(text, SURE, space, 3, **words)
        assert (again.entry.number, again.spent) == (taken.entry.number, 0)
        assert again.variants.cost.passed == taken.variants.cost.passed


def test_the_usual_choices_have_no_name_of_their_own(ask: Asking) -> None:
    first = ask(1, 2)
    text = f"{ask.space.words[1]} {ask.space.words[2]}"
    usual: WordOptions = {"select": "all", "unknown": "random", "policies": {"number": "replace"}}
    assert ask.sticky.take(text, CMP, ask.space, 4, **usual).entry.number == first.entry.number


def test_where_other_words_are_selected_in_another_order_there_is_another_release(
    ask: Asking,
) -> None:
    item, pair, three = ask.space.words[1:4]
    phrase: WordOptions = {"select": [f"{item} {pair}", three]}  # a phrase, or its words apart
    first = ask.sticky.take(f"{item} {pair} {three}", CMP, ask.space, 4, **phrase)
    assert first.variants.kept == ((),)
    other = ask.sticky.take(f"{pair} {three} {item}", CMP, ask.space, 4, **phrase)
    assert other.variants.kept == ((pair, item),)
    assert other.variants.cost.passed == 2
    assert other.variants.protected == (1,)
    assert other.entry.number != first.entry.number
    assert all(text.split()[::2] == [pair, item] for text in other.variants[0])
    assert columns(other)[1] == columns(first)[2]
    for again, taken in ((f"{three} {item} {pair}", first), (f"{item} {three} {pair}", other)):
        repeated = ask.sticky.take(again, CMP, ask.space, 4, **phrase)
        assert (repeated.entry.number, repeated.spent) == (taken.entry.number, 0)
        assert repeated.variants.protected == taken.variants.protected


def test_terms_that_select_are_not_in_the_ledger(ask: Asking, tmp_path: Path) -> None:
    word = ask.space.words[2]
    terms: WordOptions = {"select": [word, "marmaladefox"]}
    taken = ask.sticky.take(word, CMP, ask.space, 4, **terms)
    assert "select=terms#" in taken.entry.setting
    backwards: WordOptions = {"select": ["Marmaladefox", word]}
    assert ask.sticky.take(word, CMP, ask.space, 4, **backwards).spent == 0
    assert not any(b"marmaladefox" in path.read_bytes() for path in (tmp_path / "veil").iterdir())


def test_what_cannot_be_told_from_others_is_not_written_down(ask: Asking) -> None:
    with pytest.raises(ParameterError, match="cannot identify functions"):
        ask.sticky.take("dog", CMP, ask.space, 4, select=lambda words: [True] * len(words))
    with pytest.raises(ParameterError, match="A policy must map"):
        ask.sticky.take("dog", CMP, ask.space, 4, policies={"nonsense": "keep"})
    with pytest.raises(ParameterError, match="rewrites whole queries"):
        ask.sticky.take("dog", Upside(), None, 4, unknown="drop")
    assert ask.ledger.releases(9) == ()


def test_attackers_guess_the_query_where_words_of_it_are_left_out(ask: Asking) -> None:
    look, text = Watching(50, 50), f"{ask.space.words[1]} xyzzy"
    ask.sticky.take(text, CMP, ask.space, 2, look, unknown="drop")
    ask.sticky.take(text, CMP, ask.space, 2, look, select=[ask.space.words[1]])
    assert look.asked == [text, text]


def test_without_a_ledger_everything_is_drawn_anew(space: Embeddings) -> None:
    text = " ".join(space.words[1:5])
    fresh = UnrecordedVariants()
    item, other = (fresh.take(text, CMP, space, 9) for _ in range(2))
    assert item.variants[0] != other.variants[0]
    assert (item.spent, item.reused, item.entry.number, fresh.budget().limit) == (0, 0, 0, None)
    assert item.variants.cost == protect([text], CMP, space, 9).cost
    assert {type(value) for value in item.variants[0]} == {Released}
    assert fresh.note_plain(text) == 0
    assert fresh.earlier(item.entry) == 0


def test_a_seed_draws_what_the_library_draws(space: Embeddings) -> None:
    text = " ".join(space.words[1:5])
    taken = UnrecordedVariants(7).take(text, CMP, space, 9)
    assert taken.variants == protect([text], CMP, space, 9, rng=7)
    assert {type(value) for value in taken.variants[0]} == {Seeded}


@pytest.mark.parametrize(("action", "drawn"), [("again", [4, 4, 4]), ("more", [4, 6, 8])])
def test_a_bound_holds_without_a_ledger_too(
    space: Embeddings, action: Literal["again", "more"], drawn: list[int]
) -> None:
    look = Watching(1, 1, 50)
    taken = UnrecordedVariants(bound=PreflightBound(10, action)).take(
        space.words[1], CMP, space, 4, look
    )
    assert [len(shown) for shown in look.shown] == drawn
    assert taken.variants[0] == look.shown[-1]
    assert "passed a local attack" in taken.variants.cost.caveat
    with pytest.raises(RiskError, match="nothing was sent"):
        UnrecordedVariants(bound=PreflightBound(10)).take(
            space.words[1], CMP, space, 4, Watching(1)
        )


def test_nothing_unprotected_is_drawn_without_a_ledger(space: Embeddings) -> None:
    with pytest.raises(InputError, match="No word of the query would be protected"):
        UnrecordedVariants().take(space.words[1], CMP, space, 4, select=[space.words[2]])
