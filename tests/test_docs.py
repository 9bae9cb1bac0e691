"""The documentation says what the code does: generated pages, names, links and code blocks."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.search.conftest import BagEncoder

import veil
from veil.core.component import example
from veil.corpus.collection import Collection
from veil.corpus.documents import Document, Documents
from veil.search import rerank
from veil.text.attacks import attack

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")]
PAGES += sorted(DOCS.glob("*.md"))
GENERATED = ["cli.md", "engines.md", "http-api.md", "mechanisms.md", "threat-model.md"]
RUNNABLE = ["README.md", "docs/index.md", "docs/guarantees.md"]
RUNNABLE += ["docs/vectors.md", "docs/protecting-text.md", "docs/places.md", "docs/counts.md"]
RUNNABLE += ["docs/private-sql.md", "docs/tables.md"]
RUNNABLE += ["docs/private-search.md", "docs/collections.md", "docs/measuring.md"]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", GENERATED)
def test_generated_page_is_current(generate: ModuleType, name: str) -> None:
    written = (DOCS / name).read_text("utf-8")
    if name == "cli.md" and f"click {generate.CLICK}" not in written:
        pytest.skip("docs/cli.md was written with another version of click")
    assert written == generate.pages()[name], "run python docs/generate.py"


def test_the_check_names_a_page_that_differs(
    generate: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    assert generate.main([]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(GENERATED)
    assert generate.main(["--check"]) == 0
    (tmp_path / "cli.md").write_text("old")
    assert generate.main(["--check"]) == 1
    assert "docs/cli.md" in capsys.readouterr().err
    assert generate.main(["--chekc"]) == 2


def test_formulas_read_as_text(generate: ModuleType) -> None:
    assert generate.plain(r"\gamma = \frac{2}{\varepsilon} \ln\frac{1-\beta}{\beta}") == (
        "gamma = 2/epsilon ln((1-beta)/beta)"
    )
    assert not set("\\{}") & set(generate.mechanisms_page())


@pytest.mark.parametrize("name", [*veil.MECHANISMS.builtin, *veil.__all__])
def test_every_public_name_is_documented(name: str) -> None:
    assert any(re.search(rf"`(veil\.)?{name}\b", page.read_text("utf-8")) for page in PAGES)


@pytest.mark.parametrize("name", veil.MECHANISMS.builtin)
def test_readme_row_agrees_with_the_guarantee(name: str) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
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


def test_the_readme_has_one_place_for_figures() -> None:
    assert (ROOT / "README.md").read_text("utf-8").splitlines().count("## Figures") == 1


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
    monkeypatch.setattr(attack, "open_encoder", lambda *_: BagEncoder())
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path))


@pytest.mark.usefixtures("small_space")
@pytest.mark.parametrize("page", RUNNABLE)
def test_python_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where they may write
    found = blocks(ROOT / page)
    assert found
    for block in found:
        exec(compile(block, page, "exec"), {"__name__": "page"})  # noqa: S102 - our own page
