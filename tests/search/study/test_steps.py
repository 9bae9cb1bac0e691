"""What a step leaves: a result, a reason why there is none, or nothing at all."""

from pathlib import Path

import pytest
from tests.reference.tiny_wordnet import write
from tests.search.study.material import STUDY, Variant

from veil.core.errors import AssetError, InputError, LawError, ParameterError
from veil.corpus import wordnet as wordnet_module
from veil.data.fetch import Report
from veil.studies import domains
from veil.studies import sweep as sweep_module
from veil.studies.experiment import Step
from veil.studies.figures import results
from veil.studies.store import Result, Store
from veil.studies.study import Study
from veil.studies.sweep import sweep
from veil.text.attack import Outcome
from veil.text.attacks.bayes import Bayes


@pytest.mark.parametrize("error", [AssetError("no net"), InputError("no file"), OSError("full")])
def test_an_error_that_may_pass_is_no_result(
    error: Exception, study: Study, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Outcome:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Bayes, "run", fail)
        with pytest.raises(type(error), match=str(error)):
            sweep(study, folder / "out", workers=0)
    found = sweep(study, folder / "out", workers=0)
    assert {row.measure for row in found.rows if row.kind == "risk"} >= {"lazy", "active"}
    assert not any("bayes against" in note for note in found.notes)


@pytest.mark.parametrize("error", [LawError("No law."), ParameterError("Not this one.")])
def test_a_reason_is_told_once_for_a_mechanism(
    error: Exception, study: Study, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Outcome:
        raise error

    monkeypatch.setattr(Bayes, "run", fail)
    told = sweep(study, folder / "out", workers=0).notes
    assert [note for note in told if "bayes" in note] == [
        f"bayes against cmp: {error}",
        f"bayes against custext: {error}",
    ]


@pytest.fixture
def tiny_wordnet(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A WordNet of a few words is fetched when it is asked for; lists where it was put."""
    fetched: list[Path] = []

    def unpack(scratch: Path, folder: Path, report: Report) -> None:
        fetched.append(write(folder))

    monkeypatch.setattr(wordnet_module, "_unpack", unpack)

    def whole(folder: Path) -> bool:
        return (folder / "data.noun").is_file()

    monkeypatch.setattr(wordnet_module, "whole_wordnet", whole)
    return fetched


SCRAMBLED = """
[[mechanism]]
spec = "aea"
parameter = "level"
values = [1, 2]
"""


def test_whether_meteor_knows_synonyms_is_settled_first(
    folder: Path, variant: Variant, tiny_wordnet: list[Path]
) -> None:
    """Also when a mechanism is what needs WordNet, and comes last."""
    found = sweep(variant(STUDY, STUDY + SCRAMBLED), folder / "out", workers=0)
    with Store(folder / "out") as store:
        kinds = store._db.execute("SELECT key FROM steps WHERE kind = 'similarity'").fetchall()
        stored = [store.get(key) for (key,) in kinds]
    assert [each.data["synonyms"] for each in stored if each] == [True] * 5
    assert len(tiny_wordnet) == 1
    assert dict(found.facts)["METEOR"] == "WordNet 3.1"
    assert [note for note in found.notes if note.startswith("bayes against")] == [
        "bayes against aea: The bayes attacker needs a mechanism with a law, but aea rewrites"
        " whole queries by rules; use the rerun or the inference attacker."
    ]


def test_a_wordnet_that_comes_in_between_changes_nothing(
    study: Study, folder: Path, monkeypatch: pytest.MonkeyPatch, tiny_wordnet: list[Path]
) -> None:
    def fetching(study: Study, step: Step, of: Result | None) -> Result:
        wordnet_module.wordnet()  # as another program might
        return domains.compute(study, step, of)

    monkeypatch.setattr(sweep_module, "compute", fetching)
    found = sweep(study, folder / "out", workers=0)
    assert tiny_wordnet
    assert dict(found.facts)["METEOR"] == "no synonyms"
    with Store(folder / "out") as store:
        kinds = store._db.execute("SELECT data FROM steps WHERE kind = 'similarity'").fetchall()
    assert kinds == [('{"synonyms": false}',)] * 3


def test_a_wordnet_that_cannot_be_had_is_told_when_it_is_needed(
    folder: Path, variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssetError("npm cannot download it; check the connection.")

    monkeypatch.setattr(wordnet_module, "_unpack", fail)
    chosen = variant(STUDY, STUDY + SCRAMBLED)
    with pytest.raises(AssetError, match="check the connection"):
        sweep(chosen, folder / "out", workers=0)
    with Store(folder / "out") as store:
        assert results(chosen, store).rows  # what there is can be looked at


def test_an_attacker_that_does_not_fit_leaves_its_reason(folder: Path, variant: Variant) -> None:
    found = sweep(variant('["bayes"]', '["intersect"]'), folder / "out", workers=0)
    assert any(note.startswith("intersect against cmp: The intersect") for note in found.notes)
    recovered = {(row.mechanism, row.size) for row in found.rows if row.kind == "recovery"}
    assert recovered == {("custext", 1), ("custext", 2), ("custext", 4)}
