"""Variants take the place of queries, and nothing of the original goes on."""

import sys

import pytest
from tests.conftest import make_space
from tests.pyterrier.conftest import afresh
from tests.pyterrier.kit import Kit, rows

from veil.core.errors import InputError, MissingExtraError, ParameterError, UnknownNameError

SPACE = make_space(60, 8)
FAR = "cmp(epsilon=0.01)"  # next to nothing of a word is left
SECRET = f"{SPACE.words[3]} {SPACE.words[7]}"


def test_one_variant_keeps_the_qid(kit: Kit) -> None:
    step = kit.steps.Obfuscate(FAR, vectors=SPACE)
    found = rows(step.transform(kit.queries(SECRET, SPACE.words[9])))
    assert [row["qid"] for row in found] == ["q0", "q1"]
    assert all(len(row["query"].split()) in (1, 2) for row in found)


def test_several_variants_are_numbered(kit: Kit) -> None:
    step = kit.steps.Obfuscate(FAR, 3, vectors=SPACE)
    found = rows(step.transform(kit.queries(SECRET, SECRET)))
    assert [row["qid"] for row in found] == [f"q{i}%v{j}" for i in (0, 1) for j in range(3)]
    assert len({row["query"] for row in found}) > 1


def test_no_later_step_sees_the_original(kit: Kit) -> None:
    """Also not what PyTerrier or others keep of it in other columns."""
    engine = kit.engine({"d": " ".join(SPACE.words)})
    pipeline = kit.steps.Obfuscate(FAR, 4, vectors=SPACE, seed=1) >> engine
    found = pipeline.transform(kit.queries(SECRET, query_0=SECRET, query_toks=SECRET, note=SECRET))
    (seen,) = engine.seen
    assert list(seen.columns) == ["qid", "query"]
    assert SECRET not in [value for row in (*rows(seen), *rows(found)) for value in row.values()]


def test_the_original_is_handed_on_when_asked_for(kit: Kit) -> None:
    step = kit.steps.Obfuscate(FAR, 2, vectors=SPACE, original=True)
    found = rows(step.transform(kit.queries(SECRET)))
    assert [row["query_0"] for row in found] == [SECRET, SECRET]


def test_variants_are_fresh_unless_a_seed_is_given(kit: Kit) -> None:
    long = " ".join(SPACE.words[:12])
    fresh = kit.steps.Obfuscate(FAR, vectors=SPACE)
    assert rows(fresh.transform(kit.queries(long))) != rows(fresh.transform(kit.queries(long)))
    seeded = kit.steps.Obfuscate(FAR, 2, vectors=SPACE, seed=3)
    alone = rows(seeded.transform(kit.queries(long)))
    beside = rows(seeded.transform(kit.queries(long, SECRET)))
    assert alone == beside[:2]  # in whatever frame it stands
    other = rows(kit.steps.Obfuscate(FAR, 2, vectors=SPACE, seed=4).transform(kit.queries(long)))
    assert alone != other


def test_an_empty_frame_has_its_columns(kit: Kit) -> None:
    step = kit.steps.Obfuscate(FAR, vectors=SPACE)
    assert list(step.transform(kit.queries()).columns) == ["qid", "query"]


def test_a_query_in_clear_is_refused_or_left_out(kit: Kit) -> None:
    plain = "!!!"
    with pytest.raises(InputError, match="1 of 2 queries") as error:
        kit.steps.Obfuscate(FAR, vectors=SPACE).transform(kit.queries(plain, SECRET))
    assert plain not in str(error.value)
    step = kit.steps.Obfuscate(FAR, vectors=SPACE, skip=True)
    assert [row["qid"] for row in rows(step.transform(kit.queries(plain, SECRET, " ")))] == ["q1"]


def test_frames_that_cannot_be_used(kit: Kit) -> None:
    step = kit.steps.Obfuscate(FAR, vectors=SPACE)
    with pytest.raises(InputError, match="no query"):
        step.transform(kit.frame([{"qid": "1"}], columns=["qid"]))
    twice = [{"qid": "1", "query": SECRET}, {"qid": 1, "query": SECRET}]
    with pytest.raises(InputError, match="same qid"):
        step.transform(kit.frame(twice, columns=["qid", "query"]))
    told = [{"qid": SECRET.upper(), "query": SECRET}]
    with pytest.raises(InputError, match="is the query itself") as error:
        step.transform(kit.frame(told, columns=["qid", "query"]))
    assert SECRET not in str(error.value)
    with pytest.raises(InputError, match="empty"):
        step.transform(kit.queries(" "))


def test_wrong_arguments_are_told_at_once(kit: Kit) -> None:
    with pytest.raises(UnknownNameError):
        kit.steps.Obfuscate("cpm(epsilon=1)")
    with pytest.raises(ParameterError, match="size"):
        kit.steps.Obfuscate(FAR, 0)
    with pytest.raises(ParameterError, match="rng"):
        kit.steps.Obfuscate(FAR, seed=-1)
    assert repr(kit.steps.Obfuscate(FAR, 2)) == "Obfuscate(cmp(epsilon=0.01), size=2)"


def test_without_pyterrier_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyterrier", None)
    with pytest.raises(MissingExtraError, match=r"\[pyterrier\]"):
        afresh().Obfuscate(FAR)
    monkeypatch.undo()
    afresh()
