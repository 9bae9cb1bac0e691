"""The site is complete and loads nothing from elsewhere: API, formulas, and the pages as built."""

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from veil.core.registry import Registry

pytest.importorskip("latex2mathml")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings")

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
EXTERNAL = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?(?:https?:)?//"
    r"|<link\b(?![^>]*rel=[\"']?(?:canonical|next|prev))[^>]*\bhref=[\"']?(?:https?:)?//"
)
IMPORT = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")


def loaded(name: str) -> ModuleType:
    """Run a file of the docs as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


api = loaded("api_pages")
formulas = loaded("formulas")
PACKAGES = [name if name == "veil" else f"veil.{name}" for name in api.PACKAGES]


def rendered(text: str) -> str:
    markdown = importlib.import_module("markdown")
    page = markdown.markdown(text, extensions=["pymdownx.superfences", formulas.Formulas()])
    return str(page)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_api_has_the_public_names_that_the_package_has(package: str) -> None:
    module = importlib.import_module(package)
    listed = getattr(module, "__all__", None) or {
        name
        for name in dir(module)
        if not name.startswith("_")
        and not isinstance(value := getattr(module, name), ModuleType)
        and (isinstance(value, Registry) or getattr(value, "__module__", "").startswith("veil."))
    }
    assert {name.name for name in api.public(package)} == set(listed)


def test_every_public_name_is_shown_once_with_a_line_of_its_own() -> None:
    pages = api.pages()
    names = {name.path: name for package in PACKAGES for name in api.public(package)}
    assert [path for path, name in names.items() if not name.summary] == []
    shown = [path for page in pages.values() for path in re.findall(r"^::: (\S+)$", page, re.M)]
    assert sorted(shown) == sorted(names)


def test_every_formula_of_the_code_becomes_mathml() -> None:
    found = 0
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text("utf-8")
        if ":math:" not in text and ".. math::" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                page = rendered(ast.get_docstring(node) or "")
                found += page.count("<math")
                assert not re.search(r":math:|\.\. math::", page), path
    assert found > 200


def test_a_formula_ends_where_it_ends() -> None:
    page = rendered("One.\n\n.. math:: a = \\frac{1}{2},\n   \\quad b\n\nProved: c.")
    assert page.count("<math") == 2
    assert "<p>Proved: c.</p>" in page
    assert "<mfrac>" in rendered("Say $\\frac{1}{2}$ of it.")
    assert rendered("$$\na\n+ b\n$$\n\nmore").count("<math") == 1
    assert "ln</mi><mspace" in rendered(r"$\ln\frac{1}{2}$")


@pytest.mark.parametrize(
    "text", ["From $5 to $6.", "`$x$`", "```sh\n$ veil a\n$ veil b\n```", "```\n$$\na\n$$\n```"]
)
def test_other_dollars_are_left_alone(text: str) -> None:
    assert "<math" not in rendered(text)
    assert "$" in rendered(text)


def test_an_unknown_command_in_a_formula_stops_the_build() -> None:
    with pytest.raises(ValueError, match="no MathML"):
        rendered(r"$\nosuchthing{x}$")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Build the site as ``make docs`` does; a warning is an error, unless it is made quiet."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(out)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert built.returncode == 0, built.stderr
    return {
        str(path.relative_to(out)): path.read_text("utf-8")
        for ending in ("html", "css", "js")
        for path in out.rglob(f"*.{ending}")
    }


def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site: dict[str, str]) -> None:
    assert {f"{path.stem}.html" for path in DOCS.glob("*.md")} <= set(site)
    for name, text in site.items():
        assert not (name.endswith(".html") and EXTERNAL.search(text)), name
        assert not (name.endswith(".css") and IMPORT.search(text)), name


def test_pages_opened_from_a_folder_can_search(site: dict[str, str]) -> None:
    assert site["search/search_index.js"].startswith("var __index = {")
    assert '<script src="worker.js">' in site["index.html"]


def test_the_pages_are_rendered(site: dict[str, str]) -> None:
    assert site["mechanisms.html"].count("<math") > 10
    assert "<math" in site["api-veil.html"]
    assert 'class="highlight"' in site["start-engineer.html"]
    assert "privacy budget per word and variant" in site["api-veil.html"]
    assert "<blockquote>" not in "".join(site[f"api-{name}.html"] for name in ("dpia", "cover"))
    assert "&gt;&gt;&gt; " in site["api-cover.html"]
    for name, text in site.items():
        if not name.endswith(".html"):
            continue
        body = re.sub(r"<(pre|code|script)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.search(r":math:|\.\. math::|\$\$", body), name
        assert not re.search(r"<p>[^<]*\n(?:- |\||\d+\. )", body), name
