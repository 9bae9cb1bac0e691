"""``veil mechanisms`` and ``veil vectors``."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import pytest
from tests.cli.conftest import Veil

from veil import ATTACKS, ENGINES, MECHANISMS, api
from veil import cli as commands
from veil.cli.terminal import NewPath
from veil.core.errors import AssetError
from veil.measures import EVERYWHERE
from veil.measures.effectiveness import effectiveness
from veil.measures.risk import ATTACKERS
from veil.search.study.steps import AS_DEEP, UNION
from veil.text.measures import MEASURES
from veil.text.mechanisms import catalogue
from veil.text.vectors.catalogue import VECTORS


def test_mechanisms_are_listed_with_what_is_proved(veil: Veil) -> None:
    result = veil("mechanisms")
    assert (result.code, result.err) == (0, "")
    for name in catalogue.names():
        cls = catalogue.mechanism_class(name)
        assert f"\n{name}  " in "\n" + result.out
        assert cls.paper in result.out
        for key in cls.model_fields:
            assert f"\n  {key} " in result.out
    assert "epsilon FLOAT >0, required" in result.out
    assert "not proved: nothing is proved" in result.out
    assert "Costs add up: words x variants x epsilon" in result.out


BROKEN = {  # a plugin that fails on import, one that is none, and one that lacks what lists show
    "boom": "raise RuntimeError('xanthippe')\n",
    "nothing": "Nothing = 3\n",
    "bare": """
from typing import ClassVar
from veil.text.mechanisms.words import WordMechanism
from veil.text.mechanisms.words.cmp import CMP
from veil.search.study.steps import AS_DEEP, UNION

class Bare(WordMechanism):
    name: ClassVar[str] = "bare"
    k: int
    guarantee = CMP.guarantee
    bind = CMP.bind
""",
}


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs plugins that are not as they should be."""
    info = tmp_path / "veil_broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: veil-broken\nVersion: 1\n")
    rows = [f"{name} = veil_{name}:{name.capitalize()}" for name in BROKEN]
    groups = ("veil.mechanisms.words", "veil.attacks.words", "veil.engines", "veil.measures.text")
    (info / "entry_points.txt").write_text(
        "".join("\n".join([f"[{group}]", *rows, ""]) for group in groups)
    )
    for name, text in BROKEN.items():
        (tmp_path / f"veil_{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for table in (MECHANISMS, ATTACKS, ENGINES, MEASURES):
        for name in BROKEN:
            table._loaded.pop(name, None)
            sys.modules.pop(f"veil_{name}", None)


@pytest.mark.usefixtures("broken")
def test_a_broken_plugin_does_not_hide_the_others(veil: Veil) -> None:
    for command in (["mechanisms"], ["attackers"], ["engines"], ["measures"]):
        result = veil(*command)
        assert result.code == 0
        assert "veil_boom:Boom" in result.out
        assert "cannot be loaded (RuntimeError)" in result.out
        assert "veil_nothing:Nothing" in result.out
        assert "xanthippe" not in result.out
    assert "needs an example: Field(examples=[...])" in veil("mechanisms").out
    assert "cmp" in veil("mechanisms").out
    shown = veil("protect", "--help")
    assert (shown.code, "cmp" in shown.out) == (0, True)
    assert "cannot be loaded" in veil("protect", "boom", "--epsilon", "1", "a cat").refused()
    assert "cannot be loaded" in veil("mechanisms", "boom").refused()
    assert json.loads(veil("mechanisms", "--json").out)["boom"].startswith("The plugin veil_boom")


def test_some_mechanisms(veil: Veil) -> None:
    result = veil("mechanisms", "tem")
    assert result.lines[0].startswith("tem  ")
    assert "santext" not in result.out
    assert "No mechanism called 'tme'. Did you mean 'tem'?" in veil("mechanisms", "tme").refused()


def test_mechanisms_as_json(veil: Veil) -> None:
    document = json.loads(veil("mechanisms", "--json").out)
    assert tuple(document) == catalogue.names()
    for name, entry in document.items():
        assert str(catalogue.mechanism(entry["example"])) == entry["example"]
        cls = catalogue.mechanism_class(name)
        assert set(entry["schema"]["properties"]) == set(cls.model_fields)
        if "epsilon" in cls.model_fields:
            assert entry["schema"]["properties"]["epsilon"]["exclusiveMinimum"] == 0
        assert entry["guarantee"]["means"]
    assert document["wbb"]["guarantee"]["kind"] == "none"
    assert document["cmp"]["guarantee"]["kind"] == "metric-dp"


def test_measures_are_listed_with_what_they_count(veil: Veil) -> None:
    result = veil("measures")
    assert (result.code, result.err) == (0, "")
    for name in MEASURES.names():
        assert f"\n{name}  {MEASURES.get(name).says}\n" in result.out
    for table in EVERYWHERE.values():
        for name, sentence in table.items():
            assert f"\n{name}  {sentence}\n" in result.out
    some = veil("measures", "cosine", "QuIPU").out
    assert "cosine" in some
    assert "QuIPU" in some
    assert "jaccard" not in some
    assert "Did you mean 'jaccard'?" in veil("measures", "jacard").refused()
    document = json.loads(veil("measures", "--json").out)
    assert set(document["texts and variants"]) == set(MEASURES.names())
    assert document["risk"]["lazy"] == EVERYWHERE["risk"]["lazy"]


def test_what_is_measured_everywhere_is_what_is_computed() -> None:
    assert tuple(EVERYWHERE["risk"]) == ATTACKERS
    pytest.importorskip("ir_measures", reason="the extra 'measure' is not installed")
    found = effectiveness({"q": {"d": 1}}, ["q"], [["d"]])
    assert set(EVERYWHERE["utility"]) == {*found, "pooled recall", AS_DEEP, UNION}


def test_vectors_are_listed_without_fetching(veil: Veil, tmp_path: Path) -> None:
    result = veil("vectors")
    assert (result.code, result.err) == (0, "")
    assert [line.split()[0] for line in result.lines] == list(VECTORS)
    assert all("not fetched" in line for line in result.lines)
    assert not (tmp_path / "cache").exists()


def test_vectors_that_are_there_are_ready(veil: Veil, vectors: str, tmp_path: Path) -> None:
    from veil import load_embeddings

    load_embeddings(vectors).save(tmp_path / "cache" / "vectors" / "glove-50d")
    ready = [line for line in veil("vectors").lines if " ready " in line]
    assert [line.split()[0] for line in ready] == ["glove-50d"]
    result = veil("vectors", "glove-50d")
    assert result.code == 0
    assert "glove-50d: 17 words x 4 dimensions, ready" in result.err


@pytest.mark.parametrize(
    ("name", "message"),
    [("glove", "There are no vectors called 'glove'"), ("x.txt", "does not exist")],
)
def test_unknown_vectors(veil: Veil, name: str, message: str) -> None:
    assert message in veil("vectors", name).refused()


def test_fetching_ahead_of_time(veil: Veil, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(api, "encoder", lambda name, report: fetched.append(name))
    monkeypatch.setattr(api, "load_collection", lambda name, report: fetched.append(name))
    monkeypatch.setattr(api, "load_embeddings", lambda name, report: fetched.append(name))
    result = veil("fetch", "minilm", "icd10cm", "glove-50d")
    assert result.code == 0
    assert result.err.splitlines() == ["minilm: ready", "icd10cm: ready", "glove-50d: ready"]
    assert fetched == ["minilm", "icd10cm", "glove-50d"]
    assert "Did you mean 'wordnet'?" in veil("fetch", "minilm", "wordnat").refused()
    assert len(fetched) == 3  # nothing is fetched when a name is wrong


@pytest.mark.parametrize("name", ["minilm", "wordllama", "icd10cm", "wordnet"])
def test_fetching_again_puts_the_old_copy_aside(
    veil: Veil, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fetch = importlib.import_module("veil.cli.fetch")  # its command has the same name
    folder: Path = fetch._folder(name)
    seen: list[bool] = []

    def take(*_: object, **named: object) -> None:
        seen.append(folder.exists())
        if len(seen) > 1:
            raise AssetError("No connection.")
        folder.mkdir(parents=True)

    for place in ("encoder", "load_collection"):
        monkeypatch.setattr(api, place, take)
    monkeypatch.setattr(fetch, "wordnet", take)
    folder.mkdir(parents=True)
    (folder / "old").write_text("x")
    assert veil("fetch", "--again", name).code == 0
    assert seen == [False]
    assert list(folder.iterdir()) == []  # the new one
    (folder / "kept").write_text("x")
    assert "No connection" in veil("fetch", "--again", name).refused()
    assert [path.name for path in folder.iterdir()] == ["kept"]  # nothing is lost by failing
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def _commands(found: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), found
    if isinstance(found, click.Group):
        with click.Context(found) as context:
            for name in found.list_commands(context):
                below = found.get_command(context, name)
                if below is not None:
                    yield from _commands(below, (*path, name))


def test_no_command_makes_folders_above_what_it_writes() -> None:
    written = {"--out", "--output", "--record", "--pseudonyms"}
    found = [
        (path, option)
        for path, command in _commands(commands.veil, ())
        for option in command.params
        if written & set(option.opts) and path != "dp law" and not path.startswith("dp law ")
    ]
    assert len(found) > 40
    for path, option in found:
        assert isinstance(option.type, NewPath), f"{path} {option.opts}"


@pytest.mark.parametrize(
    "command",
    [
        ("audit", "study.toml", "-o", "no/out"),
        ("index", "docs.jsonl", "-o", "no/out"),
        ("sensitive", "index", "docs.jsonl", "-o", "no/out"),
        ("places", "plane", "p.csv", "-m", "disk(radius=3)", "-o", "no/out"),
        ("places", "protect", "p.csv", "-m", "disk(radius=3)", "-o", "no/out.csv"),
        ("score", "--qrels", "q.txt", "-o", "no/out"),
        ("dpia", "answers.toml", "-o", "no/out.html"),
        ("ledger", "export", "no/out.csv"),
        ("cover", "build", "wordnet", "--out", "no/out"),
    ],
)
def test_a_folder_that_is_not_there_is_refused_before_any_work(
    veil: Veil, tmp_path: Path, command: tuple[str, ...]
) -> None:
    placed = [str(tmp_path / one) if one.startswith("no/") else one for one in command]
    assert "Create it first" in veil(*placed).refused()
    assert not (tmp_path / "no").exists()


def test_choices_written_for_a_quick_start_are_those_of_the_library() -> None:
    from veil.cli import options, search
    from veil.proxy import settings
    from veil.text.policy import Unknown

    assert get_args(Unknown) == options.UNKNOWN
    assert settings.MAX_SIZE == search.MAX_SIZE
