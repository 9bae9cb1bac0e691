"""The documentation says what the code does: generated pages, names, links and code blocks."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click
import numpy as np
import pytest
from click.testing import CliRunner
from tests.search.conftest import BagEncoder

import veil
from veil.cli import veil as program
from veil.cli.flags import Components
from veil.cli.index import index
from veil.core.component import example
from veil.corpus.collection import Collection, Document, Documents
from veil.search import rerank

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")]
PAGES += sorted(DOCS.glob("*.md"))
GENERATED = ["cli.md", "engines.md", "http-api.md", "mechanisms.md", "threat-model.md"]
GENERATED += sorted(path.name for path in DOCS.glob("api*.md"))
FINDINGS = (ROOT / "docs" / "findings.md").read_text("utf-8").partition("## The word")[2]
RUNNABLE = ["README.md", "docs/index.md", "docs/guarantees.md"]
RUNNABLE += ["docs/vectors.md", "docs/protecting-text.md", "docs/places.md", "docs/counts.md"]
RUNNABLE += ["docs/private-sql.md", "docs/tables.md", "docs/ratings.md", "docs/sensitive.md"]
RUNNABLE += ["docs/start-engineer.md", "docs/start-researcher.md"]
RUNNABLE += ["docs/private-search.md", "docs/collections.md", "docs/measuring.md"]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def generate() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        yield loaded("generate")


def loaded(name: str) -> ModuleType:
    """Run a file of the docs as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generated(generate: ModuleType) -> dict[str, str]:
    pages: dict[str, str] = generate.pages()
    return pages


def test_all_generated_pages_are_known(generated: dict[str, str]) -> None:
    assert sorted(generated) == sorted(GENERATED)


def test_the_help_of_a_command_is_that_of_its_own_context(generate: ModuleType) -> None:
    """Tests run commands by themselves before, where -h is no option."""
    command = click.Command("one")
    assert "-h," not in command.get_help(click.Context(command))
    names = click.Context(command, help_option_names=["-h", "--help"])
    assert "-h, --help" in generate._help(names, 2)


def test_the_help_of_a_command_does_not_depend_on_what_was_run_before(
    generate: ModuleType, generated: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_help_option", None)
    CliRunner().invoke(index, ["--help"])  # without its group, which says "-h, --help"
    assert generate.cli_page() in generated["cli.md"]


def test_the_check_names_a_page_that_differs(
    generate: ModuleType,
    generated: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    monkeypatch.setattr(generate, "pages", lambda: generated)
    assert generate.main([]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(GENERATED)
    assert generate.main(["--check"]) == 0
    (tmp_path / "cli.md").write_text("old")
    assert generate.main(["--check"]) == 1
    assert "docs/cli.md" in capsys.readouterr().err
    assert generate.main(["--chekc"]) == 2


def test_formulas_of_mechanisms_read_on_a_code_host(generate: ModuleType) -> None:
    page = generate.mechanisms_page()
    assert r"\frac{2}{\varepsilon} \ln\frac{(1-\beta)(|V|-1)}{\beta}" in page
    assert page.count("$$\n") % 2 == 0
    assert not re.search(r":math:|\.\. math::|``", page.replace("```", ""))


@pytest.mark.parametrize("name", [*veil.MECHANISMS.builtin, *veil.__all__])
def test_every_public_name_is_documented(name: str) -> None:
    assert any(re.search(rf"`(veil\.)?{name}\b", page.read_text("utf-8")) for page in PAGES)


@pytest.mark.parametrize("name", veil.MECHANISMS.builtin)
def test_row_of_a_mechanism_agrees_with_its_guarantee(name: str) -> None:
    text = (DOCS / "protecting-text.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) == 1
    _, _, parameters, proved, _, _ = rows[0].split("|")
    cls = veil.MECHANISMS.get(name)
    assert set(re.findall(r"`(\w+)`", parameters)) == set(cls.model_fields) - {"epsilon"}
    assert proved.strip().startswith(example(cls).guarantee.kind)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, _ = target.partition("#")
        if path and "://" not in path:
            assert (page.parent / path).is_file(), target


def test_the_readme_is_short_and_leaves_the_figures_to_their_page() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 200
    assert sum(line.startswith("![") for line in lines) == 1
    figures = (DOCS / "figures.md").read_text("utf-8")
    for part in re.split(r"^## ", figures, flags=re.MULTILINE)[1:]:
        assert re.search(r"make bench|python -m benchmarks", part), part.splitlines()[0]


def test_every_page_is_in_the_navigation_once() -> None:
    _, _, nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")
    listed = re.findall(r"^ +- [^#\n]*?([\w-]+\.md)$", nav, re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in DOCS.glob("*.md"))
    groups = re.findall(r"^  - (\w+):$", nav, re.MULTILINE)
    assert groups == ["Start", "Use", "Understand", "Reference"]


def commands(page: Path) -> list[str]:
    """Return the lines of a page that a reader types, also those in tables and examples."""
    text = page.read_text("utf-8")
    typed = re.findall(r"^\$ (veil .*)$", text, re.MULTILINE)
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        typed += [line for line in block.splitlines() if line.startswith("veil ")]
    return typed + re.findall(r"\| `(veil [^`]+)` \|", text)


def test_what_the_readme_says_of_cmp_is_what_was_found() -> None:
    row = re.search(r"\| `cmp\(epsilon=5\)` \| 0\.\d+ \| (0\.\d+) .*?\| (0\.\d+) ", FINDINGS)
    assert row
    found = tuple(f"{100 * float(one):.0f}" for one in row.groups())
    readme = (ROOT / "README.md").read_text("utf-8")
    page = (DOCS / "start-researcher.md").read_text("utf-8")
    assert re.findall(r"in (\d+) % of the cases\), and\s+is found in (\d+) %", readme) == [found]
    assert re.findall(r"ten guesses in (\d+) % and (\d+) %", page) == [found]


@pytest.mark.parametrize("name", ["README.md", *(f"docs/{p.name}" for p in DOCS.glob("start-*"))])
def test_commands_have_the_options_that_are_shown(name: str) -> None:
    typed = commands(ROOT / name)
    assert len(typed) > 3
    for line in typed:
        words = shlex.split(line, comments=True)[1:]
        command = leaf(words)
        known = {option for part in command.params for option in part.opts}
        given = {word for word in words if re.match(r"-[a-zA-Z]|--", word)}
        assert given <= known, line


def leaf(words: list[str]) -> click.Command:
    """Take the names of commands off the words, and return the last one."""
    command: click.Command = program
    while words:
        if isinstance(command, Components) and "-m" in words:
            at = words.index("-m")
            _, spec = words.pop(at), words.pop(at)
            return command.get_command(click.Context(command), spec)
        below = getattr(command, "commands", {})
        inner = below.get(words[0])
        if inner is None and isinstance(command, click.Group):
            inner = command.get_command(click.Context(command), words[0])
            assert inner is not None, f"there is no veil {words[0]}"
        if inner is None:
            break
        command = inner
        words.pop(0)
    return command


@pytest.fixture
def small_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let every name open a few words in three dimensions, or as many documents."""
    words = tuple("the of for treatment skin cancer tumor doctor drug bone breast lung".split())
    vectors = np.random.default_rng(3).normal(size=(len(words), 3)).astype(np.float32)
    space = veil.Embeddings(words, vectors, "small")
    monkeypatch.setattr(veil, "load_embeddings", lambda _: space)
    documents = Documents.of(Document(f"d{i}", word, "plain text") for i, word in enumerate(words))
    small = Collection("small", documents, {"q": "skin"}, {"q": {"d4": 1}}, words)
    monkeypatch.setattr(veil, "load_collection", lambda _: small)
    monkeypatch.setattr(rerank, "encoder", lambda *_: BagEncoder())
    monkeypatch.setattr(import_module("veil.text.attack"), "open_encoder", lambda *_: BagEncoder())
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path))


@pytest.mark.usefixtures("small_space")
@pytest.mark.parametrize("page", RUNNABLE)
def test_python_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where they may write
    found = blocks(ROOT / page)
    assert found
    for block in found:
        exec(compile(block, page, "exec"), {"__name__": "page"})  # noqa: S102 - our own page
