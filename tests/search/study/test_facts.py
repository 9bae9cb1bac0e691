"""A report says how its figures were made."""

from importlib.metadata import version
from pathlib import Path

from tests.search.study.material import Variant

from veil.search.study.material import StudyMaterial
from veil.search.study.steps import facts
from veil.search.study.study import SearchStudy
from veil.studies.sweep import sweep


def test_the_facts_tell_how_it_was_made(folder: Path, variant: Variant) -> None:
    found = dict(sweep(variant("[4]", "[4, 2, 4]"), folder / "out", workers=0).facts)
    assert found["seed"] == "7"
    assert found["attackers"] == "bayes"
    assert found["variants per query"] == "4, 2"
    assert found["METEOR"] == "no synonyms"
    assert "cosine of" not in found  # there is no encoder
    for package in ("nltk", "textblob", "tokenizers"):
        assert found[package] == version(package)
    assert list(found).index("log") == list(found).index("queries") + 1


def test_the_facts_tell_what_the_cosine_is_of(study: SearchStudy) -> None:
    found = dict(facts(StudyMaterial(study.model_copy(update={"encoder": "wordllama"}))))
    assert found["cosine of"] == "vectors of wordllama"


def test_the_facts_tell_who_worked(study: SearchStudy, folder: Path) -> None:
    found = dict(sweep(study, folder / "out", workers=0).facts)
    assert found["workers"] == "0"
    assert found["cores"]
