"""A task as an experiment: the contract of domains, what is measured, and its commands."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.search.conftest import BagEncoder

from veil.cli import veil
from veil.core.errors import InputError, ParameterError
from veil.studies.domains import make_study
from veil.studies.results import Results
from veil.studies.sweep import sweep
from veil.task.api import table
from veil.task.study import ABOVE, ACCURACY, Tasks, TaskStudy, read, read_texts
from veil.testing import check_domain

CLEAR, NOISY = 500.0, 0.01
CMP = {"spec": "cmp", "parameter": "epsilon", "values": [NOISY, CLEAR]}


def keys(folder: Path, **given: Any) -> dict[str, Any]:  # noqa: ANN401
    usual: dict[str, Any] = {
        "texts": str(folder / "texts.csv"),
        "vectors": str(folder / "vectors.txt"),
        "test": 40,
        "classifier": ["logistic(texts=80)", "logistic(train=protected, texts=80)"],
        "mechanism": [CMP],
    }
    return usual | given


def study(folder: Path, **given: Any) -> TaskStudy:  # noqa: ANN401
    actual = make_study(
        {"name": "t", "domain": "task", **keys(folder, **given)}, "the test", folder
    )
    assert isinstance(actual, TaskStudy)
    return actual


def scores(found: Results) -> dict[tuple[str, str, str], float]:
    return {(row.spec, row.task, row.measure): row.score for row in found.rows}


def test_a_task_is_a_domain(folder: Path) -> None:
    check_domain("task", keys(folder, classifier=["logistic(texts=80)"]))


def test_utility_and_risk_fall_with_the_noise(folder: Path) -> None:
    actual = sweep(study(folder), folder / "out", workers=0)
    output = scores(actual)
    noisy, clear = (f"cmp(epsilon={e})" for e in (NOISY, CLEAR))
    for task in ("logistic(texts=80)", "logistic(train=protected, texts=80)"):
        assert output["plain", task, ABOVE] == 1
        assert output["plain", task, ACCURACY] >= 0.9
        assert output[clear, task, ABOVE] >= 0.9
        assert output[noisy, task, ABOVE] < 0.5 < output[clear, task, ABOVE]
        assert output[noisy, task, ACCURACY] < output[clear, task, ACCURACY]
    risks = {row.spec: row for row in actual.rows if (row.kind, row.measure) == ("risk", "lazy")}
    assert risks[clear].score > 0.9 > 0.3 > risks[noisy].score
    assert risks[clear].n == 40
    assert all(0 <= row.low <= row.score <= row.high <= 1 for row in actual.rows)
    card = next(card for card in actual.cards if card.spec == clear)
    assert "6 words x 1 variant" in card.total
    assert any(value == "40" for name, value in actual.facts if name == "test texts")
    assert any("one protected form" in note for note in actual.notes)


def test_what_teaches_protected_is_what_the_mechanism_made(folder: Path, bag: BagEncoder) -> None:
    """Also against noise that turns every label round, who learns from it reads what is left."""
    experiment = Tasks(study(folder))
    release = experiment.cells()[0].release
    output = experiment.compute(release, None)
    assert len(output.data["training"]) == 80
    unprotected = set(experiment.bench.training.texts)
    assert not unprotected & {row[0] for row in output.data["training"] if row}
    bag.encoded.clear()
    step = experiment.cells()[0].steps[1]
    experiment.compute(step, output)
    assert {row[0] for row in output.data["training"]} <= set(bag.encoded)


def test_a_text_without_variants_is_the_commonest_label(folder: Path) -> None:
    bench = Tasks(study(folder)).bench
    common = bench.labelled.classes.index(bench.training.majority)

    class Other:
        def shares(self, texts: Any) -> np.ndarray:  # noqa: ANN401
            rows = np.zeros((len(texts), 2))
            rows[:, 1 - common] = [0.9 if "loud" in text else 0.4 for text in texts]
            rows[:, common] = 1 - rows[:, 1 - common]
            return rows

    assert read(Other(), [[], ["loud"], ["still"], ["loud", "still"]], common).tolist() == [
        common,
        1 - common,
        common,
        1 - common,  # on the mean of both
    ]
    classifier = bench.task.classifier[0]
    from veil.task.classifiers import CLASSIFIERS

    actual = read_texts(bench, CLASSIFIERS.parse(classifier), None)
    assert np.array_equal(actual.arrays["right"], actual.arrays["plain"])
    assert actual.arrays["majority"].mean() == np.mean(
        [label == bench.training.majority for label in bench.test.labels]
    )


def test_whole_groups_and_informed_attackers_work_too(folder: Path) -> None:
    groups = [{"spec": "blind(source=half, count=3)"}]
    values = study(
        folder,
        mechanism=[{"spec": "custext(k=5, epsilon=3)", "attackers": ["bayes"]}, *groups],
        sizes=[3],
        classifier=["logistic(texts=80)"],
    )
    actual = sweep(values, folder / "out", workers=0)
    bayes = [row for row in actual.rows if row.attacker == "bayes" and row.measure == "lazy"]
    assert bayes[0].score > 0.5
    blind = next(row for row in actual.rows if row.mechanism == "blind" and row.measure == ABOVE)
    assert blind.score < 0.3


def test_a_judge_with_a_gap_is_told(folder: Path) -> None:
    from tests.text.attacks.endpoint import likeliest, serving

    calls: list[int] = []

    def answer(question: dict[str, Any]) -> str:
        calls.append(1)
        return "hm" if len(calls) == 1 else likeliest(question)

    with serving(answer) as endpoint:
        values = study(
            folder,
            attackers=[f"judge(url='{endpoint.url}')"],
            mechanism=[{"spec": f"cmp(epsilon={CLEAR})"}],
        )
        actual = sweep(values, folder / "out", workers=0)
    assert any("1 guesses had no answer" in note for note in actual.notes)
    lazy = next(row for row in actual.rows if row.kind == "risk" and row.measure == "lazy")
    assert lazy.score == pytest.approx(39 / 40)


def test_commands(folder: Path) -> None:
    values = ["--vectors", str(folder / "vectors.txt"), "--test", "40"]
    command = ["task", "sentiment", str(folder / "texts.csv"), "-m", f"cmp(epsilon={CLEAR})"]
    classifier = ["--classifier", "logistic(texts=80)", "--out", str(folder / "out")]
    actual = CliRunner().invoke(veil, [*command, *values, *classifier], catch_exceptions=False)
    assert actual.exit_code == 0, actual.output
    assert "plain texts" in actual.output
    assert "1.000 [1.000, 1.000]" in actual.output
    assert "not private" in actual.output
    assert (folder / "out" / "results.csv").is_file()
    former = [*command, *values, *classifier, "--attacker", "nobody"]
    assert (
        "Use: veil task sentiment TEXTS -m SPEC -a SPEC" in CliRunner().invoke(veil, former).output
    )
    for verb in ("methods", "attackers"):
        listed = CliRunner().invoke(veil, ["task", verb], catch_exceptions=False)
        assert ("cmp" if verb == "methods" else "judge") in listed.output


def test_columns_stay_under_each_other(folder: Path) -> None:
    actual = sweep(study(folder), folder / "out", workers=0)
    long = tuple(replace(row, spec=row.spec.ljust(60, ".")) for row in actual.rows)
    head, *lines = table(replace(actual, rows=long)).splitlines()[1:4]
    assert {line.index("[") for line in lines} == {head.index("accuracy") + len("0.000 ")}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"classifier": ["oracle"]}, "classifier"),
        ({"log": "nowhere.txt"}, "log"),
        ({"test": 0}, "test"),
    ],
)
def test_mistakes_are_found_before_any_work(
    folder: Path, given: dict[str, Any], told: str
) -> None:
    with pytest.raises((InputError, ParameterError, LookupError), match=told):
        study(folder, **given)
