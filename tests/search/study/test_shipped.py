"""The studies that come with the package, and those of the papers."""

from pathlib import Path

import pytest
from tests.search.study.material import load

from veil.corpus.icd10cm import NAMES
from veil.encoders.find import parse
from veil.search.engines import ENGINES
from veil.search.study.shipped import default_study, demo_study
from veil.search.study.study import SearchStudy
from veil.studies.study import Study
from veil.text.attacks import ATTACKS
from veil.text.mechanisms.find import TEXT_MECHANISMS

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "studies").glob("*.toml"))
every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def read(file: Path) -> SearchStudy:
    if "../../shared" in file.read_text() and not (ROOT.parent / "shared").is_dir():
        pytest.skip("the shared data is not at hand")
    return load(file)


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
    [f for f in FILES if f.stem not in ("cover", "nfcorpus", "slider")],
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
