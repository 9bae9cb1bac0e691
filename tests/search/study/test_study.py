"""A study file is read as written, and every mistake in it is one sentence that names the key."""

import re
from pathlib import Path

import pytest
from tests.search.study.material import STUDY, load

from veil.core.errors import InputError, VeilError
from veil.search.study.study import SearchStudy
from veil.studies.domains import load_study
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS


def test_a_study_is_read_as_it_is_written(study: SearchStudy, folder: Path) -> None:
    assert study.name == "tiny"
    assert study.engine == ("bm25",)  # one may stand alone
    assert study.collection == str(folder / "tiny")  # paths start at the file
    assert study.counts == (1, 2, 4)
    found = [str(each) for grid in study.mechanism for each, _ in grid.mechanisms(TEXT_MECHANISMS)]
    assert found[:2] == ["cmp(epsilon=1.0)", "cmp(epsilon=5.0)"]
    assert found[2].startswith("custext(epsilon=2.0, k=5")


def test_equal_studies_are_one(study: SearchStudy, folder: Path) -> None:
    assert hash(study) == hash(load_study(folder / "tiny.toml"))


def test_things_that_are_named_twice_are_one(folder: Path) -> None:
    file = folder / "tiny.toml"
    text = STUDY.replace('["bayes"]', '["bayes", "bayes()", "bayes(prior=uniform)"]')
    text = text.replace("k = 10", 'k = 10\nengine = ["bm25", "bm25()"]')
    text = text.replace('spec = "cmp"', 'spec = "cmp"\nattackers = ["linkage()", "linkage"]')
    file.write_text(text)
    study = load(file)
    assert study.attackers == ("bayes",)
    assert study.engine == ("bm25",)
    assert study.mechanism[0].attackers == ("linkage",)
    assert study.all_attackers == ("linkage", "bayes")


@pytest.mark.parametrize("parameter", ["", 'parameter = "window"\nvalues = [8, 12]\n'])
def test_the_documents_of_a_mechanism_lie_beside_the_file(folder: Path, parameter: str) -> None:
    file = folder / "tiny.toml"
    file.write_text(f'{STUDY}\n[[mechanism]]\nspec = "fea(index=tiny, longest=2)"\n{parameter}')
    for made, _ in load_study(file).mechanism[2].mechanisms(TEXT_MECHANISMS):
        assert f"longest=2, targets=10, index='{folder / 'tiny'}'" in str(made)
    for name in ("icd10cm", "irds:antique"):
        file.write_text(f"{STUDY}\n[[mechanism]]\nspec = \"fea(index='{name}')\"\n{parameter}")
        assert f"index='{name}'" in str(
            next(load_study(file).mechanism[2].mechanisms(TEXT_MECHANISMS))[0]
        )


MISTAKES = [
    ("sizes = [4]", "size = [4]", "tiny.toml has no 'size'. Did you mean 'sizes'?"),
    ("seed = 7", "sead = 7", "tiny.toml has no 'sead'. Did you mean 'seed'?"),
    ("values = [2]", "value = [2]", "[[mechanism]] 2 of tiny.toml has no 'value'."),
    ('spec = "cmp"', 'spce = "cmp"', "[[mechanism]] 1 of tiny.toml has no 'spce'. Did you mean"),
    ('spec = "cmp"', "", "[[mechanism]] 1 of tiny.toml needs 'spec'"),
    ("sizes = [4]", "sizes = [0]", "The 'sizes' number 1 of tiny.toml must be at least 1. Got 0"),
    ("sizes = [4]", "sizes = []", "The 'sizes' of tiny.toml must be a list of at least 1."),
    ("sizes = [4]", 'sizes = "4"', "The 'sizes' of tiny.toml must be a list."),
    ("k = 10", "k = 10.5", "The 'k' of tiny.toml must be a whole number. Got 10.5 instead."),
    ("k = 10", "k = 0", "The 'k' of tiny.toml must be at least 1. Got 0 instead."),
    ("seed = 7", "seed = -1", "The 'seed' of tiny.toml must be at least 0. Got -1 instead."),
    ("seed = 7", "seed = true", "The 'seed' of tiny.toml must be a whole number. Got True"),
    ("[1, 5]", '["a"]', "The 'values' number 1 of [[mechanism]] 1 of tiny.toml must be a number."),
    ("[1, 5]", "[nan]", "The 'values' number 1 of [[mechanism]] 1 of tiny.toml must be a finite"),
    ("[1, 5]", "[1, -5]", "In [[mechanism]] 1 of tiny.toml: The 'epsilon' parameter of cmp must"),
    ("[1, 5]", "[1, 1]", "In [[mechanism]] 1 of tiny.toml: cmp(epsilon=1.0) occurs twice"),
    ("values = [1, 5]", "", "[[mechanism]] 1 of tiny.toml must have both 'parameter' and"),
    ('"cmp"', '"cpm"', "In [[mechanism]] 1 of tiny.toml: No mechanism called 'cpm'. Did you mean"),
    (
        '"cmp"',
        '"cmp(epsilon=2)"',
        "tiny.toml: 'epsilon' is in the spec and",
    ),
    ('= "epsilon"', '= "epsilom"', "has no 'epsilom'. Did you mean 'epsilon'?"),
    (
        '["bayes"]',
        '["bays"]',
        "In tiny.toml, 'attackers': No attack called 'bays'. Did you mean",
    ),
    (
        '["bayes"]',
        '["inference(encoder=wordlama)"]',
        "In tiny.toml, 'attackers': No encoder called 'wordlama'. Did you mean 'wordllama'?",
    ),
    (
        '["bayes"]',
        '["inference(encoder=distilbert-base-uncased)"]',
        "whose name has no slash is written as huggingface(model=distilbert-base-uncased).",
    ),
    (
        "k = 10",
        'k = 10\nengine = "dense(encoder=wordlama)"',
        "In tiny.toml, 'engine': No encoder called 'wordlama'. Did you mean 'wordllama'?",
    ),
    (
        'spec = "cmp"',
        'spec = "cmp"\nattackers = "bays"',
        "In [[mechanism]] 1 of tiny.toml: No attack called 'bays'. Did you mean 'bayes'?",
    ),
    (
        '"custext(k=5)"\nparameter = "epsilon"\nvalues = [2]',
        '"fea(index=tyni)"',
        "The 'index' of [[mechanism]] 2 of tiny.toml must be one of icd10cm",
    ),
    ('["bayes"]', "[1]", "The 'attackers' number 1 of tiny.toml must be a text in quotes."),
    ("k = 10", "engine = []", "The 'engine' of tiny.toml must be a list of at least 1."),
    ('encoder = "none"', 'encoder = "mini"', "In tiny.toml, 'encoder': No encoder called 'mini'."),
    ('"tiny"', '"tyni"', "The 'collection' of tiny.toml must be one of icd10cm"),
    (
        '"log.txt"',
        '"lag.txt"',
        "The 'log' of tiny.toml must be one of collection, collection+wordnet, irds:ID,",
    ),
    ('"vectors.txt"', '"glove"', "The 'vectors' of tiny.toml must be one of glove-50d,"),
    ("seed = 7", "seed = ", "tiny.toml is not a TOML file: Invalid value (at line"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[m[1] or m[2] for m in MISTAKES])
def test_a_mistake_is_one_sentence(old: str, new: str, message: str, folder: Path) -> None:
    file = folder / "tiny.toml"
    assert old in STUDY
    file.write_text(STUDY.replace(old, new, 1))
    with pytest.raises(VeilError, match=re.escape(message)) as caught:
        load_study(file)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_study_without_mechanisms_is_told_so(folder: Path) -> None:
    file = folder / "tiny.toml"
    file.write_text(STUDY.partition("[[mechanism]]")[0])
    with pytest.raises(VeilError, match=r"tiny.toml needs \[\[mechanism\]\]. Available: name,"):
        load_study(file)


def test_a_mechanism_that_is_no_table(folder: Path) -> None:
    file = folder / "tiny.toml"
    file.write_text(STUDY.partition("[[mechanism]]")[0] + 'mechanism = ["cmp"]')
    with pytest.raises(VeilError, match=r"must be a table, written as \[\[mechanism\]\]"):
        load_study(file)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.toml \(No such file or directory"):
        load_study(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(InputError, match=r"latin.toml is not UTF-8. Convert it."):
        load_study(tmp_path / "latin.toml")


def test_the_default_attackers_know_the_mechanisms(folder: Path) -> None:
    file = folder / "tiny.toml"
    text = STUDY.replace('attackers = ["bayes"]\n', "")
    file.write_text(f'{text}\n[[mechanism]]\nspec = "aea"\n')
    study = load(file)
    assert study.attackers == ("inference", "bayes")
    assert study.mechanism[0].attackers is None
    assert study.mechanism[2].attackers == ("inference", "bayes", "rerun")
    file.write_text(f'{STUDY}\n[[mechanism]]\nspec = "aea"\n')
    assert load(file).mechanism[2].attackers is None  # they were named
