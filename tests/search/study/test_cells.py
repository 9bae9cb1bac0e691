"""A step is named by all that changes its result, and by nothing else."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.search.study.material import STUDY, load

from veil.corpus.lexical import ANALYSER
from veil.search.study import material, steps
from veil.search.study.material import StudyMaterial
from veil.search.study.steps import cells, plain_steps
from veil.studies.experiment import Cell, Step

Make = Callable[[str], list[Cell]]
FEA = 'spec = "fea(index=tiny)"'


@pytest.fixture
def make(folder: Path) -> Make:
    """Gives the cells of the tiny study with other mechanisms."""

    def of(mechanism: str) -> list[Cell]:
        file = folder / "other.toml"
        file.write_text(f"{STUDY.partition('[[mechanism]]')[0]}[[mechanism]]\n{mechanism}\n")
        return cells(StudyMaterial(load(file)))

    return of


@pytest.fixture(autouse=True)
def nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "wordnet", lambda **_: None)


def _key(found: list[Cell]) -> str:
    return found[0].release.key


@pytest.mark.parametrize(
    ("mechanism", "package", "matters"),
    [
        ('spec = "cmp(epsilon=2)"', "textblob", False),
        ('spec = "wbb(epsilon=2, k=2, n=3)"', "textblob", True),
        ('spec = "wbb(epsilon=2, k=2, n=3)"', "spacy", False),
        ('spec = "aea"', "textblob", True),
        ('spec = "aea"', "nltk", True),
        (FEA, "nltk", True),
    ],
)
def test_another_tagger_or_stemmer_makes_other_variants(
    mechanism: str, package: str, matters: bool, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _key(make(mechanism))
    known = steps.installed
    monkeypatch.setattr(steps, "installed", lambda name: known(name) + "9" * (name == package))
    assert (_key(make(mechanism)) != before) is matters


@pytest.mark.parametrize(("mechanism", "matters"), [('spec = "aea"', False), (FEA, True)])
def test_other_terms_make_other_variants(
    mechanism: str, matters: bool, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _key(make(mechanism))
    monkeypatch.setattr(steps, "ANALYSER", ANALYSER + 1)
    assert (_key(make(mechanism)) != before) is matters


@pytest.mark.parametrize(
    ("mechanism", "matters"), [('spec = "cmp(epsilon=2)"', False), ('spec = "aea"', True)]
)
def test_another_wordnet_makes_other_variants(
    mechanism: str, matters: bool, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _key(make(mechanism))
    monkeypatch.setattr(steps, "wordnet_folder", lambda: Path("wordnet/4.0"))
    assert (_key(make(mechanism)) != before) is matters


def test_documents_count_by_what_they_hold_and_not_by_where_they_lie(
    make: Make, folder: Path
) -> None:
    before = _key(make(FEA))
    copy = folder / "copy"
    shutil.copytree(folder / "tiny", copy)
    assert _key(make('spec = "fea(index=copy)"')) == before
    docs = copy / "docs.jsonl"
    docs.write_text(docs.read_text().replace("bebaba", "zzbaba"))
    assert _key(make('spec = "fea(index=copy)"')) != before


def test_a_search_by_vectors_counts_the_weights_of_its_encoder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "tiny.toml"
    file.write_text(STUDY.replace("k = 10", 'k = 10\nengine = ["bm25", "dense"]'))

    def steps(weights: str) -> list[Step]:
        monkeypatch.setattr(StudyMaterial, "encoder_key", lambda _, spec: f"{spec} {weights}")
        return plain_steps(StudyMaterial(load(file)))

    (lexical, dense), (same, other) = steps("one"), steps("two")
    assert lexical.key == same.key
    assert dense.key != other.key


def test_the_same_step_by_another_name_is_the_same(folder: Path) -> None:
    """Also in a study that was put together by a program."""
    study = load(folder / "tiny.toml").model_copy(
        update={"engine": ("bm25", "bm25()"), "attackers": ("bayes", "bayes(prior=uniform)")}
    )
    assert len(plain_steps(StudyMaterial(study))) == 1
    kinds = [step.kind for step in cells(StudyMaterial(study))[0].steps]
    assert kinds == ["search", "similarity", "attack", "attack", "attack"]  # 1, 2, 4 variants
