"""Protect: the layout stays, nothing else of the original does unless a policy says so."""

import pickle
import string
import unicodedata
from importlib import import_module

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import make_space
from tests.text.rows import NAMES, built

import veil
from veil.core.types import Ids
from veil.text.mechanisms.mechanism import (
    CONTEXT,
    LAYOUT,
    LISTED,
    POLICIES,
    UNKNOWN,
    WordMechanism,
)
from veil.text.select import Select
from veil.text.vectors.embeddings import Embeddings

SPACE = make_space(60, 4)
WBB_ALL = veil.WBB(epsilon=5, k=3, n=9)  # never the word itself: what stays is seen at once
A, B, C = SPACE.words[:3]


def words_of(text: str) -> list[str]:
    return [w.strip(string.punctuation).lower() for w in text.split()]


def test_layout_stays() -> None:
    text = f"  {A.title()} {B.upper()},\t({C})?!  100%% {A}-{B}; “{C}”\n"
    out = veil.protect([text], WBB_ALL, SPACE, 20, select="all")
    for variant in out.rows[0]:
        letters = "".join("x" if c.isalnum() else c for c in variant)
        shape = "".join(letters[i] for i in range(len(letters)) if letters[i : i + 2] != "xx")
        assert shape == "  x x,\t(x)?!  x%% x-x; “x”\n"
        result = variant.split()
        assert result[0][0].isupper()
        assert not result[0][1:].isupper()
        assert result[1].strip(",").isupper()
        assert result[2].islower()


@pytest.mark.parametrize("name", NAMES)
def test_every_output_word_is_of_the_vocabulary(name: str) -> None:
    mechanism = built(name, epsilon=3)
    text = f"{A} zzz, 12.5 j.doe@mail.org https://x.org/a?b=1 ❤ {B}’s A1B2 don't"
    for variant in veil.protect([text], mechanism, SPACE, 30, select="all").rows[0]:
        assert set(words_of(variant)) <= set(SPACE.words)
        assert len(words_of(variant)) == 9


def test_unknown_word_does_not_change_the_release() -> None:
    """With one seed, two texts that differ in an unknown word give the same variants."""
    texts = (f"{A} chlamydia {B}", f"{A} bankruptcy {B}", f"{A} 4711 {B}", f"{A} a@b.org {B}")
    rows = {veil.protect([text], WBB_ALL, SPACE, 5, select="all", rng=1).rows[0] for text in texts}
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("unknown", "shape"),
    [("drop", f"{A} {B}."), ("mask", f"{A} [MASK] {B}."), ("keep", f"{A} chlamydia {B}.")],
)
def test_policies_for_unknown_words(unknown: str, shape: str) -> None:
    out = veil.protect(
        [f"{A} chlamydia {B}."],
        WBB_ALL,
        SPACE,
        select=lambda words: [False] * len(words),
        in_clear=True,
        unknown=unknown,  # type: ignore[arg-type]
    )
    assert out.rows == ((shape,),)
    assert out.kept == (((A, "chlamydia", B) if unknown == "keep" else (A, B)),)
    assert out.protected == (0,)


def test_policies_by_kind() -> None:
    text = f"call 555-1234 or me@x.org at www.x.org/y re AB12 ❤ {A}"
    out = veil.protect(
        [text],
        WBB_ALL,
        SPACE,
        unknown="mask",
        policies={"number": "drop", "email": "keep", "identifier": "mask", "symbol": "drop"},
        select="all",
    )
    variant = out.rows[0][0]
    assert "555" not in variant
    assert "me@x.org" in variant
    assert "www" not in variant
    assert "AB12" not in variant
    assert "❤" not in variant
    assert out.kept == (("me@x.org",),)
    assert "  " not in variant


@pytest.mark.parametrize(
    "address", [f"{A}@localhost", f"{A}.com/{B}", f"{A}.org", f"www.{A}.de", f"x://{A}"]
)
def test_addresses_never_pass_by_selection(address: str) -> None:
    out = veil.protect([f"see {address} {C}"], WBB_ALL, SPACE, 3, select=[C], unknown="mask")
    assert out.rows[0][0].startswith("[MASK] [MASK] ")
    assert out.kept == ((),)


def test_selection_lets_known_words_through_but_never_unknown_ones_or_numbers() -> None:
    out = veil.protect([f"{A} chlamydia 2019 the {B}"], WBB_ALL, SPACE, 3, select=[B])
    assert out.kept == ((A, "the"),)
    assert out.protected == (3,)
    for variant in out.rows[0]:
        result = variant.split()
        assert result[0] == A
        assert result[1] != "chlamydia"
        assert result[2] != "2019"
        assert result[4] != B
    assert "2 words passed unchanged" in out.cost.caveat


def test_words_that_pass_have_no_cost() -> None:
    out = veil.protect([f"{A} {B} {C}"], veil.CMP(epsilon=2), SPACE, 3, select=[B])
    assert (out.cost.kind, out.cost.epsilon, out.cost.passed) == ("metric-dp", 6.0, 2)
    assert str(out.cost).endswith("; no guarantee for 2 words that passed unchanged")
    assert "passed" not in str(veil.protect([A], veil.CMP(epsilon=2), SPACE).cost)


def test_a_text_in_clear_must_be_asked_for() -> None:
    texts = [f"{A} {C}", f"{A} {B}"]
    with pytest.raises(veil.UnprotectedError, match="Text 2 has no word that would be protected"):
        veil.protect(texts, veil.CMP(epsilon=2), SPACE, select=[C])
    with pytest.raises(veil.UnprotectedError):
        veil.protect(["zzz 7"], WBB_ALL, SPACE, unknown="keep")
    out = veil.protect(texts[1:], veil.CMP(epsilon=2), SPACE, 2, select=[C], in_clear=True)
    assert out[0] == (texts[1], texts[1])
    assert (out.cost.kind, out.cost.epsilon, out.cost.passed) == ("none", np.inf, 2)
    assert out.cost.bound(0.1) == np.inf
    assert "Nothing is protected" in out.cost.caveat


@pytest.mark.parametrize("text", ["", "?!", "zzz"])
def test_a_text_without_words_tells_nothing(text: str) -> None:
    out = veil.protect([text], veil.CMP(epsilon=2), SPACE, select=[C], unknown="drop")
    assert (out.cost.kind, out.cost.epsilon, out.cost.passed) == ("metric-dp", 0.0, 0)


def test_a_stream_tells_which_text_is_in_clear() -> None:
    texts = [C] * 7 + [A]
    with pytest.raises(veil.UnprotectedError, match="Text 8 ") as caught:
        list(veil.protect_stream(texts, veil.CMP(epsilon=2), SPACE, batch=3, select=[C]))
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - as workers send it
    assert str(again) == str(caught.value)


@pytest.mark.parametrize(
    ("select", "sentence"),
    [
        ("all", ""),
        ("content", LISTED),
        ([A, B], LISTED),
        ([A, f"{B} {C}"], CONTEXT),
        ("pos:NN", CONTEXT),
        (lambda words: [True] * len(words), CONTEXT),
    ],
)
def test_a_bound_says_what_it_takes_for_granted(select: Select, sentence: str) -> None:
    caveat = veil.protect([f"{A} {A}"], veil.CMP(epsilon=2), SPACE, select=select).cost.caveat
    assert LAYOUT in caveat
    assert UNKNOWN in caveat
    assert [each for each in (LISTED, CONTEXT) if each in caveat] == [sentence] * bool(sentence)
    assert POLICIES not in caveat


@pytest.mark.parametrize(("times", "hidden"), [(1_000, "nothing"), (0.001, "everything"), (1, "")])
def test_what_epsilon_is_worth_in_a_space_of_an_unusual_scale_is_said(
    times: float, hidden: str
) -> None:
    space = Embeddings(SPACE.words, SPACE.vectors * np.float32(times))
    per_unit = [
        veil.CMP(epsilon=2), veil.Mahalanobis(epsilon=2), veil.Vickrey(epsilon=2),
        veil.SanText(epsilon=2), veil.TEM(epsilon=2),
    ]  # fmt: skip
    for mechanism in per_unit:
        caveats = {veil.protect([t], mechanism, space).cost.caveat for t in (A, f"{B} {C} zzz")}
        assert len(caveats) == 1
        said = f"the usual budgets hide nearly {hidden}."
        assert (said in caveats.pop()) is bool(hidden)
    for mechanism in (veil.CusText(epsilon=2), WBB_ALL):  # no unit, or no bound
        caveat = veil.protect([A], mechanism, space, select="all").cost.caveat
        assert "usual budgets" not in caveat


def test_caveats_do_not_depend_on_the_text() -> None:
    costs = [
        veil.protect([text], veil.CMP(epsilon=2), SPACE, policies={"number": "mask"}).cost
        for text in (A, "zzz", f"{A}-{B}", "Zzz")
    ]
    assert len({cost.caveat for cost in costs}) == 1
    assert POLICIES in costs[0].caveat
    none = veil.protect([A], WBB_ALL, SPACE, select="all").cost
    assert LAYOUT not in none.caveat  # there is no bound to explain


def test_wbb_protects_nouns_and_adjectives_by_default() -> None:
    words = ("treatment", "for", "skin", "cancer", "is", "new", *SPACE.words)
    vectors = np.random.default_rng(0).normal(size=(len(words), 4)).astype(np.float32)
    text = "treatment for new skin cancer is 5"
    out = veil.protect([text], WBB_ALL, Embeddings(words, vectors), 9)
    assert out.kept == (("for", "is"),)
    assert out.protected == (5,)
    for variant in out.rows[0]:
        same = [x == y for x, y in zip(variant.split(), text.split(), strict=True)]
        assert same == [False, True, False, False, False, True, False]


def test_cost_is_words_times_variants_times_epsilon() -> None:
    out = veil.protect([f"{A} {B} {C}", f"{A}?", ""], veil.CMP(epsilon=10), SPACE, 5)
    assert out.protected == (3, 1, 0)
    assert out.cost.epsilon == 10 * 4 * 5
    assert out.cost.kind == "metric-dp"
    assert "4 words x 5 variants" in out.cost.unit
    assert out.rows[2] == ("",) * 5
    free = veil.protect(["", "?!"], veil.CMP(epsilon=10), SPACE)
    assert free.cost.epsilon == 0
    assert veil.protect([A], WBB_ALL, SPACE, select="all").cost.epsilon == np.inf


def test_hyphens_and_clitics_are_looked_up_in_parts() -> None:
    out = veil.protect([f"{A}'s {B}n't {A}-{B} {C}-zzz"], WBB_ALL, SPACE, select="all")
    assert out.protected == (6,)
    assert "'" not in out.rows[0][0]
    assert out.rows[0][0].count("-") == 2


def test_percent_signs_and_braces_are_text() -> None:
    out = veil.protect(["%s %d %% {0} %(x)s"], WBB_ALL, SPACE, 2, select="all")
    assert out.rows[0][0].count("%") == 5


def test_long_releases_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("veil.text.protect"), "_DRAWS", 64)
    texts = [" ".join(SPACE.words[: i % 7]) for i in range(40)] + [" ".join(SPACE.words)]
    out = veil.protect(texts, WBB_ALL, SPACE, 11, select="all", rng=3)
    assert len(out) == 41
    for text, row in zip(texts, out, strict=True):
        assert len(row) == 11
        for variant in row:
            assert len(variant.split()) == len(text.split())
            assert all(x != y for x, y in zip(variant.split(), text.split(), strict=True))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=4), st.integers(1, 3))
@example(["\u200b\u202e\x00\x1b[2J", "🏥💊 ½ ٣", "ﬃ ǅ ß İ", "a\u0301 A\u0301"], 2)
@example(["-" * 70, "''''", "www.", "a@b.c@d.e", "http://", "3" * 70, "%" * 70], 1)
def test_arbitrary_text_lets_nothing_but_layout_through(texts: list[str], size: int) -> None:
    out = veil.protect(texts, WBB_ALL, SPACE, size, select="all")
    assert [len(row) for row in out] == [size] * len(texts)
    assert out.kept == ((),) * len(texts)
    allowed = set("".join(SPACE.words)) | set("".join(SPACE.words).upper())
    for row in out:
        for variant in row:
            for character in set(variant) - allowed:
                assert character.isspace() or unicodedata.category(character)[0] in "PZ"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(SPACE.words[:8]), max_size=12))
def test_words_never_pass_by_accident(words: list[str]) -> None:
    """WBB cannot draw the word itself: every place must differ."""
    out = veil.protect([" ".join(words)], WBB_ALL, SPACE, 2, select="all")
    for variant in out.rows[0]:
        assert all(x != y for x, y in zip(variant.split(), words, strict=True))


CANARY = "chlamydia"
BAD_CALLS: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {
    "a bare string": ((CANARY, WBB_ALL, SPACE), {}),
    "bytes inside": (([CANARY.encode()], WBB_ALL, SPACE), {}),
    "a generator": ((iter([CANARY]), WBB_ALL, SPACE), {}),
    "lone surrogate": (([CANARY + "\ud800"], WBB_ALL, SPACE), {}),
    "too long": (([CANARY * 200], WBB_ALL, SPACE), {"max_chars": 1000}),
    "size zero": (([CANARY], WBB_ALL, SPACE, 0), {}),
    "size true": (([CANARY], WBB_ALL, SPACE, True), {}),
    "size huge": (([CANARY], WBB_ALL, SPACE, 10**9), {}),
    "size a fraction": (([CANARY], WBB_ALL, SPACE, 1.5), {}),
    "no mechanism": (([CANARY], "cmp(epsilon=1)", SPACE), {}),
    "no space": (([CANARY], WBB_ALL, "glove"), {}),
    "unknown policy": (([CANARY], WBB_ALL, SPACE), {"unknown": "pass"}),
    "unknown kind": (([CANARY], WBB_ALL, SPACE), {"policies": {"name": "keep"}}),
    "unknown rule": (([CANARY], WBB_ALL, SPACE), {"policies": {"number": "pass"}}),
    "unknown choice": (([CANARY], WBB_ALL, SPACE), {"select": "some"}),
    "empty terms": (([CANARY], WBB_ALL, SPACE), {"select": []}),
    "bad seed": (([CANARY], WBB_ALL, SPACE), {"rng": -3}),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_is_one_sentence_without_the_text(case: str) -> None:
    positional, named = BAD_CALLS[case]
    with pytest.raises(veil.VeilError) as caught:
        veil.protect(*positional, **named)  # type: ignore[arg-type]
    message = str(caught.value)
    assert CANARY not in message
    assert message.endswith(".")
    assert caught.value.__cause__ is None
    assert "\n" not in message


def test_a_mechanism_that_answers_nonsense_releases_nothing() -> None:
    class Broken:
        def __init__(self, answer: Ids) -> None:
            self.answer = answer

        def sample(self, ids: Ids, size: int, rng: object) -> Ids:
            return self.answer

    answers: list[Ids] = [np.array([[-1]]), np.array([[60]])]
    answers += [np.zeros((1, 0), dtype=np.int64), np.zeros((2, 1), dtype=np.int64)]
    for answer in answers:

        class Bad(veil.CMP):
            name = "bad"

            def bind(self, space: Embeddings, answer: Ids = answer) -> Broken:  # type: ignore[override]
                return Broken(answer)

        with pytest.raises(veil.VeilError, match="nothing is released"):
            veil.protect([A], Bad(epsilon=1), SPACE)


def test_stream_equals_batches_and_does_not_depend_on_the_executor() -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    texts = [f"{SPACE.words[i % 60]} {SPACE.words[(7 * i) % 60]}" for i in range(50)]
    mechanism: WordMechanism = veil.CMP(epsilon=1)
    plain = list(veil.protect_stream(iter(texts), mechanism, SPACE, 2, batch=8, seed=4))
    assert [len(v) for v in plain] == [8] * 6 + [2]
    assert all(v.seeded for v in plain)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        pooled = list(
            veil.protect_stream(texts, mechanism, SPACE, 2, batch=8, seed=4, executor=pool)
        )
    assert [v.rows for v in plain] == [v.rows for v in pooled]
    fresh = list(veil.protect_stream(texts, mechanism, SPACE, 2, batch=8))
    assert [v.rows for v in fresh] != [v.rows for v in plain]
    assert not any(v.seeded for v in fresh)


def test_stream_reads_no_further_than_it_must() -> None:
    taken = 0

    def endless() -> object:
        nonlocal taken
        while True:
            taken += 1
            yield A

    stream = veil.protect_stream(endless(), veil.CMP(epsilon=1), SPACE, batch=10)  # type: ignore[arg-type]
    for _ in range(3):
        next(stream)
    assert taken == 30


def test_listed_terms_do_not_pass_inside_other_words() -> None:
    out = veil.protect([f"{A}-{B} {A}'s {C}"], WBB_ALL, SPACE, 5, select=[A])
    assert out.kept == ((C,),)
    for variant in out.rows[0]:
        first, second, third, last = variant.replace("-", " ").split()
        assert first != A
        assert second != B
        assert third != A
        assert last == C


def test_a_long_text_takes_time_in_proportion() -> None:
    out = veil.protect(["a " * 400_000], WBB_ALL, SPACE, unknown="mask", select="all")
    assert out.rows[0][0].count("[MASK]") == 400_000


def test_stream_refuses_a_bare_string_and_no_batch() -> None:
    with pytest.raises(veil.InputError):
        next(veil.protect_stream("abc", WBB_ALL, SPACE))
    with pytest.raises(veil.ParameterError):
        next(veil.protect_stream(["abc"], WBB_ALL, SPACE, batch=0))
