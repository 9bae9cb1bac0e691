"""The studies that come with the package, and those of the papers."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from tests.search.study.material import load

from veil.cli.fetch import fetchable
from veil.corpus.catalogue import load_collection
from veil.corpus.icd10cm import NAMES
from veil.encoders import ENCODERS
from veil.encoders.catalogue import parse
from veil.search.engines import ENGINES
from veil.search.study import material
from veil.search.study.study import SearchStudy, default_study, demo_study
from veil.studies.domains import load_study
from veil.studies.study import Study
from veil.studies.sweep import sweep
from veil.text.attacks import ATTACKS
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "studies").glob("*.toml"))
EVERY = sorted((ROOT / "studies").rglob("*.toml"))
QUIPU = ROOT / "studies" / "quipu.toml"
every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


@lru_cache
def parsed(file: Path) -> Study:
    """Parse a file once for all tests."""
    return load_study(file)


def of_any_domain(file: Path) -> Study:
    if "../shared/data" in file.read_text() and not (ROOT.parent / "shared").is_dir():
        pytest.skip("the shared data is not at hand")
    return parsed(file)


def read(file: Path) -> SearchStudy:
    study = of_any_domain(file)
    assert isinstance(study, SearchStudy)
    return study


def specs(study: Study) -> dict[str, list[str]]:
    """Return the configurations of a study, by mechanism."""
    found: dict[str, list[str]] = {}
    for grid in study.mechanism:
        for each, _ in grid.mechanisms(TEXT_MECHANISMS):
            found.setdefault(each.name, []).append(str(each))
    return found


def test_the_studies_that_need_no_file_are_whole() -> None:
    tried = {grid.spec.partition("(")[0] for grid in default_study().mechanism}
    assert tried == set("cover cmp mahalanobis vickrey santext tem custext wbb aea fea".split())
    assert demo_study().collection == "icd10cm"


@every_file
def test_a_shipped_study_is_right(file: Path) -> None:
    assert "/work" not in file.read_text()
    study = read(file)
    assert study.name == file.stem
    parse(study.encoder)
    for each in (*study.engine, *study.all_attackers):
        registry = ENGINES if each in study.engine else ATTACKS
        parse(getattr(registry.parse(each), "encoder", "minilm"))


@every_file
def test_web_queries_are_not_rewritten_with_the_words_of_diagnoses(file: Path) -> None:
    study = read(file)
    for spec in specs(study).get("fea", ()):
        own = (study.collection,) if study.collection in NAMES else ()
        assert not any(f"index='{name}'" in spec for name in NAMES if name not in own)


@pytest.mark.parametrize(
    "file",
    [f for f in FILES if f.stem not in ("cover", "cover-letters", "nfcorpus", "slider")],
    ids=lambda f: f.stem,
)
def test_a_study_of_a_paper_runs_what_the_paper_ran(file: Path) -> None:
    found = specs(read(file))
    assert all("unit_direction=True" in spec for spec in found["mahalanobis"])
    assert all("mapping='neighbours'" in spec for spec in found.get("custext", ()))
    assert all("weights='linear'" in spec for spec in found.get("wbb", ()))
    assert all("'allow', unknown='keep'" in spec for spec in found.get("aea", ()))
    assert ("wbb" in found) is not file.stem.startswith("pypantera")
    assert "deviate" in file.read_text().lower()


@pytest.mark.parametrize("file", EVERY, ids=lambda file: file.stem)
def test_a_study_of_any_domain_says_what_it_needs_and_parses(file: Path) -> None:
    first, text = file.read_text().split("\n", 1)
    assert first.startswith(("# Needs: ", "# Needs nothing but: veil fetch "))
    beside = "../shared/data" in text
    assert beside == ("../shared/data" in first)
    assert ("irds:" in text.partition("[[")[0]) == ("ir_datasets" in first)
    assert of_any_domain(file).name == file.stem


def test_a_clone_and_what_can_be_fetched_run_quipu() -> None:
    study = read(QUIPU)
    first = QUIPU.read_text().split("\n", 1)[0]
    fetched = first.removeprefix("# Needs nothing but: veil fetch ").split()
    assert {study.collection, study.vectors, study.encoder} < set(fetched)
    assert study.log == "collection+wordnet"
    assert {"wordnet", "wordllama"} < set(fetched)
    assert set(fetched) <= set(fetchable())
    assert len(study.mechanism) == 10
    assert {each.partition("(")[0] for each in study.all_attackers} == {
        "inference", "bayes", "rerun",
    }  # fmt: skip


def test_a_small_cut_of_quipu_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All mechanisms but aea, which needs WordNet, on material made on the spot."""
    monkeypatch.setitem(ENCODERS.builtin, "bag", "tests.reference.bag_plugin:Bag")
    text = QUIPU.read_text().replace("encoder=wordllama", "encoder=bag")
    for old, new in {
        'collection = "icd10cm"': 'collection = "tiny"',
        '"collection+wordnet"': '"log.txt"',
        '"glove-100d"': '"vectors.txt"',
        'encoder = "minilm"': 'encoder = "none"',
        "sizes = [10]": "sizes = [2]",
        "values = [1, 5, 10, 20]": "values = [1, 20]",
        "index=icd10cm": "index=tiny",
    }.items():
        assert old in text
        text = text.replace(old, new)
    parts = [part for part in text.split("\n[[mechanism]]\n") if "aea(" not in part]
    (folder / "cut.toml").write_text("\n[[mechanism]]\n".join(parts).replace('"quipu"', '"cut"'))
    found = sweep(load(folder / "cut.toml"), folder / "out", workers=0)
    scored = {score.mechanism for score in found.scores if "inference" in score.attacker}
    assert scored == set("cmp mahalanobis vickrey custext santext tem wbb fea".split())
    assert {score.attacker for score in found.scores} >= {"inference(encoder=bag)", "bayes"}


def test_the_log_of_a_collection_can_have_the_names_of_things(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material, "nouns", lambda: iter(["skin cancer", "heart"]))
    collection = replace(load_collection(str(folder / "tiny")), log=("flu", "heart"))
    assert list(material.open_log("collection", collection, 0).texts) == ["flu", "heart"]
    both = material.open_log("collection+wordnet", collection, 0)
    assert sorted(both.texts) == ["flu", "heart", "skin cancer"]
    assert len(material.open_log("collection+wordnet", collection, 2)) == 2
