"""``veil audit claims``: the verdicts, the exit code, and that 'veil audit' is what it was."""

import importlib
import json
import math
from pathlib import Path

import pytest
from tests.cli.conftest import Veil
from tests.reference import broken

import veil as package
from veil.core.component import example
from veil.text.measures.claims import audit_claim, line_space


def test_all_mechanisms_are_tried_and_none_is_refuted(veil: Veil) -> None:
    result = veil("audit", "claims", "--samples", 2000, "--seed", 1)
    assert (result.code, result.err) == (0, "")
    for name in package.MECHANISMS.names():
        assert f" {example(package.MECHANISMS.get(name)).brief} " in result.out
    assert "(proved)" in result.out
    assert "out of reach" in result.out
    assert "2,000 draws can show at most 4.0" in result.out
    assert "REFUTED" not in result.out


def test_a_refuted_claim_is_told_by_the_exit_code(veil: Veil) -> None:
    result = veil("audit", "claims", "wbb(epsilon=1)", "cmp", "--seed", 1)
    assert result.code == 1
    (refuted,) = [text for text in result.lines if "REFUTED" in text]
    assert "wbb(epsilon=1.0)" in refuted
    assert "1.000 (published)" in refuted
    assert "not refuted" in result.out


def test_as_json(veil: Veil) -> None:
    result = veil("audit", "claims", "--json", "wbb(epsilon=1)", "cmp(epsilon=2)", "--seed", 1)
    assert result.code == 1
    one, other = json.loads(result.out)
    assert (one["mechanism"].partition("(")[0], one["verdict"], one["refuted"]) == (
        "wbb",
        "REFUTED",
        True,
    )
    assert (other["verdict"], other["refuted"]) == ("not refuted", False)
    assert 0 < other["measured"] < other["claimed"] < other["reach"]
    assert len(other["pairs"]) == 4
    again = veil("audit", "claims", "--json", "wbb(epsilon=1)", "cmp(epsilon=2)", "--seed", 1)
    assert again.out == result.out


def test_words_of_vectors_of_ones_own(veil: Veil, vectors: str) -> None:
    told = ("cmp(epsilon=0.1)", "--vectors", vectors, "--words", "cat", "dog", "--json")
    (found,) = json.loads(veil("audit", "claims", *told, "--samples", 1000).out)
    (pair,) = found["pairs"]
    assert set(pair["words"]) == {"cat", "dog"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cmpp"], "Did you mean 'cmp'?"),
        (["cmp(epsilon=-1)"], "must be a number > 0"),
        (["aea"], "claims no epsilon"),
        (["cmp", "--words", "cat", "dog"], "--vectors"),
        (["cmp", "--samples", "10"], "from 1000"),
        (["cmp", "--error", "2"], "--error"),
        (["cmp", "--pairs", "0"], "--pairs"),
        (["--jso"], "Did you mean --json?"),
    ],
)
def test_bad_input(veil: Veil, arguments: list[str], sentence: str) -> None:
    assert sentence in veil("audit", "claims", *arguments).refused()


def test_the_audit_of_studies_is_what_it_was(veil: Veil, tmp_path: Path) -> None:
    shown = veil("audit", "--help")
    assert shown.code == 0
    assert "Usage: veil audit [OPTIONS] [STUDY]" in shown.out
    assert "claims  Sample each MECHANISM" in shown.out
    assert "Usage: veil audit claims [OPTIONS]" in veil("audit", "claims", "--help").out
    named = tmp_path / "claims"
    named.write_text("colection = 'x'\n")
    assert "Did you mean 'collection'?" in veil("audit", named).refused()
    for arguments in (["./claims"], ["--", "claims"], ["--out", "x", "claims"], ["claim"]):
        assert "Cannot read the study" in veil("audit", *arguments).refused()
    assert "--demo cannot be combined with a study" in veil("audit", "x.toml", "--demo").refused()
    assert "Unknown command" in veil("audit", "x.toml", "y.toml").refused()


def test_the_audit_without_arguments_is_that_of_all_mechanisms(
    veil: Veil, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("veil.cli.audit")  # its command has the same name

    def stop() -> None:
        raise package.InputError("The default study.")

    monkeypatch.setattr(module, "default_study", stop)
    assert "The default study." in veil("audit").refused()


@pytest.mark.parametrize("epsilon", [1, 3, 10, 100])
def test_half_the_noise_shows_along_the_line(epsilon: float) -> None:
    audit = audit_claim(broken.HalfNoiseCMP(epsilon=epsilon), line_space(), rng=1)
    assert audit.verdict == "REFUTED"
    assert audit.worst.reached > 1


def test_verdicts_and_reach() -> None:
    mechanism, space, words = broken.violations()["cmp, noise shared by places"]
    found = audit_claim(mechanism, space, words, samples=1000, rng=1)
    assert found.worst.lower <= found.reach < math.log(1000)
    high = audit_claim(package.mechanism("wbb(epsilon=50)"), line_space(), samples=1000, rng=1)  # type: ignore[arg-type]
    assert high.verdict == "out of reach"
    assert high.reach == pytest.approx(max(pair.lower for pair in high.pairs), abs=0.1)
    across = package.mechanism("custext(epsilon=2, k=8)")
    ends = ("word0", "word60")
    assert audit_claim(across, line_space(), ends, rng=1).verdict == "nothing is claimed"  # type: ignore[arg-type]
