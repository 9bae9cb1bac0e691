"""No record, query, cell, coordinate or risk of a single record is in an assessment."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.dpia.case import written
from tests.ratings.test_study import keys as of_ratings
from tests.search.conftest import BagEncoder
from tests.search.study.material import STUDY, write_material
from tests.sensitive.test_study import CANARY as LETTER
from tests.sensitive.test_study import keys as of_letters
from tests.sensitive.test_study import written as letters
from tests.tables.people import ILLNESSES, PERSON
from tests.tables.people import written as write_people

from veil.studies import DOMAINS
from veil.studies.domains import make_study, parse_study, vocabulary
from veil.studies.export import export
from veil.studies.results import PLAIN, Card, Example, Results, Row, Section
from veil.studies.sweep import sweep
from veil.task.classifiers import logistic
from veil.text.attacks import posterior

CANARY = "xanthippe"
Made = tuple[dict[str, Any], list[str]]  # keys of a study, and what may not be seen of its data


def _tables(folder: Path) -> Made:
    path = write_people(folder)
    keys = {
        "table": str(path), "identifiers": ["name"], "qi": ["age", "sex", "district"],
        "confidential": ["illness", "wage"], "mechanism": [{"spec": "pram(p=0.7)"}],
        "attackers": ["linkage", "attribute"],
    }  # fmt: skip
    with path.open(encoding="utf-8") as file:
        wages = [row["wage"] for row in csv.DictReader(file)]
    return keys, [PERSON, *ILLNESSES, "N1", "S2", *wages]


def _places(folder: Path) -> Made:
    rng = np.random.default_rng(3)
    points = np.column_stack([rng.normal(5e5, 300, 30), rng.normal(9e5, 200, 30)]).round(3)
    lines = [f"{x!r},{y!r},{CANARY}" for x, y in points.tolist()]
    path = folder / "homes.csv"
    path.write_text("x,y,owner\n" + "\n".join(lines) + "\n")
    masks = [{"spec": "donut(low=5, high=200)"}]
    keys = {"points": str(path), "mechanism": masks, "crs": "metres"}
    return keys, [CANARY, *(f"{number:.0f}" for number in points.ravel())]


def _dp(folder: Path) -> Made:
    rng = np.random.default_rng(3)
    lines = [f"{bit},{CANARY}{i}" for i, bit in enumerate(rng.integers(0, 2, 40).tolist())]
    path = folder / "ward.csv"
    path.write_text("ill,name\n" + "\n".join(lines) + "\n")
    keys = {
        "secret": str(path), "column": "ill", "rows": 12, "groups": 3, "queries": 30,
        "mechanism": [{"spec": "geometric(epsilon=1)"}], "attackers": ["differencing"],
    }  # fmt: skip
    return keys, [CANARY]


def _ratings(folder: Path) -> Made:
    made = of_ratings(folder)
    titles = "\n".join(f"{item},{CANARY} {item}" for item in range(60))
    (folder / "items.csv").write_text(f"item,title\n{titles}\n")
    attackers = ["scoreboard(known=4)", "membership"]
    mechanism = [{"spec": "dppopularity(epsilon=1)", "attackers": attackers}]
    return made | {"items": str(folder / "items.csv"), "mechanism": mechanism}, [CANARY, "user-0"]


def _sensitive(folder: Path) -> Made:
    keys = of_letters(letters(folder), mechanism=[{"spec": "prefilter(threshold=0.1)"}])
    with (folder / "docs.jsonl").open(encoding="utf-8") as file:
        ids = [json.loads(line)["id"] for line in file]
    return keys, [LETTER, "invoice", *(f"{name} " for name in ids), "rare", "common"]


def _task(folder: Path) -> Made:
    words = [f"{CANARY}{chr(97 + i)}" for i in range(12)]
    rng = np.random.default_rng(5)
    vectors = (" ".join([word, *map(str, rng.normal(size=4).round(3).tolist())]) for word in words)
    (folder / "vectors.txt").write_text("\n".join(vectors) + "\n")
    lines = ["text,label"]
    for number in range(80):
        own = words[:6] if number % 2 else words[6:]
        lines.append(
            f"{' '.join(rng.permutation(own)[:3])} {number},{'good' if number % 2 else 'bad'}"
        )
    (folder / "texts.csv").write_text("\n".join(lines) + "\n")
    keys = {
        "texts": str(folder / "texts.csv"), "vectors": str(folder / "vectors.txt"), "test": 20,
        "classifier": ["logistic(texts=50)"], "mechanism": [{"spec": "cmp(epsilon=10)"}],
    }  # fmt: skip
    return keys, [CANARY]


MAKERS: dict[str, Callable[[Path], Made]] = {
    "dp": _dp, "places": _places, "ratings": _ratings, "sensitive": _sensitive,
    "tables": _tables, "task": _task,
}  # fmt: skip


def test_every_domain_has_a_real_study_here() -> None:
    assert {*MAKERS, "search"} == set(DOMAINS)


def assert_silent(made: dict[str, str], secrets: list[str]) -> None:
    """Check that no document says any of the secrets, and that they say something."""
    for text in made.values():
        plain = text.replace("\\", "").casefold()
        assert "largest measured risk is" in plain
        for secret in secrets:
            assert secret.casefold() not in plain
        assert not re.search(r"(?:0\.\d+[,;\s]+){6}", plain)  # no list of the risks of records


@pytest.fixture(autouse=True)
def no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every encoder is a bag of words, and the cache is the test's own."""
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    bag = BagEncoder()
    for place, verb in (
        (logistic, "open_encoder"),
        (import_module("veil.text.attack"), "open_encoder"),
        (posterior, "encoder"),
    ):
        monkeypatch.setattr(place, verb, lambda *_, **__: bag)


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_real_study_says_nothing_of_its_data(name: str, tmp_path: Path) -> None:
    if name == "sensitive":
        pytest.importorskip("sklearn")
    keys, secrets = MAKERS[name](tmp_path)
    study = make_study({"name": "small", "domain": name, **keys}, "the test", tmp_path)
    export(sweep(study, tmp_path / "out", workers=0), tmp_path / "out")
    spec = keys["mechanism"][0]["spec"]
    made = written({"studies": [{"results": str(tmp_path / "out"), "spec": spec}]}, tmp_path)
    assert_silent(made, secrets)


def test_a_real_search_says_nothing_of_its_queries(tmp_path: Path) -> None:
    write_material(tmp_path)
    study = parse_study(STUDY.replace("[1, 5]", "[5]"), "tiny.toml", tmp_path)
    found = sweep(study, tmp_path / "out", workers=0)
    assert any("baba" in example.subject for example in found.examples)  # as all words have it
    assert {card.size for card in found.cards} == {4}
    export(found, tmp_path / "out")
    made = written({"studies": [{"results": str(tmp_path / "out")}]}, tmp_path)
    assert_silent(made, ["baba"])


def test_a_table_that_is_measured_now_says_nothing_of_its_data(tmp_path: Path) -> None:
    keys, secrets = _tables(tmp_path)
    del keys["mechanism"]
    made = written({**keys, "releases": ["mondrian(k=5)"]}, tmp_path)
    assert_silent(made, secrets)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["levels"]


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_any_domain_gives_its_figures_and_nothing_else(name: str, tmp_path: Path) -> None:
    """Whatever else the results of a study hold, also of a domain that has no row above."""
    words = vocabulary(name)
    risk = Row("data", "", "m", "m(x=1)", "", 0.0, 1, "risk", words.risks[0].name, "someone",
               0.125, 0.1, 0.15, 50, 0.01, domain=name)  # fmt: skip
    rows = (risk, replace(risk, mechanism=PLAIN, spec=PLAIN, score=0.875))
    found = Results(
        "study",
        rows,
        examples=(Example("m(x=1)", CANARY, (CANARY,)),),
        cards=(Card("m(x=1)", "none", None, "nothing", CANARY, "", "record"),),
        facts=(("command", "veil audit"), ("seed", "1"), ("log", CANARY)),
        domain=name,
        remarks=(CANARY,),
        sections=(Section("s", CANARY, (CANARY,), private=True),),
    )
    export(found, tmp_path / "out")
    made = written({"studies": [{"results": str(tmp_path / "out")}]}, tmp_path)
    assert_silent(made, [CANARY])
    for text in made.values():
        assert "0.125" in text
        assert words.title in text
