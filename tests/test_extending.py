"""The pages that tell how to add something: each example is installed, used, tested and broken.

A page is ``docs/add-a*.md``. It holds, in any order:

* one block of entry points (toml); for each of them one python block, the file that defines it;
* one row for each in the table of names, and in backticks where file and table are (text);
* python blocks with tests, which use the check of `veil.testing`;
* one mutant at least (toml), which the tests must notice;
* lines to try it with: every other python block, and the commands of every sh block.

Nothing here knows what is added but `GROUPS` and `CONTRACTS`.
"""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veil
from veil.cli import run
from veil.core.registry import Registry
from veil.testing import check
from veil.testing.check import REGISTRIES, loaded

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(veil.__file__).parent
# A domain is no component: tests/studies/test_domain.py installs that of add-a-domain.md.
PAGES = sorted(set((ROOT / "docs").glob("add-a*.md")) - {ROOT / "docs" / "add-a-domain.md"})
INDEX = ROOT / "docs" / "extending.md"
TABLES: tuple[Registry[Any], ...] = (veil.MECHANISMS, veil.ENGINES, veil.ATTACKS, veil.MEASURES)
GROUPS = {table.group: table for table in TABLES}
CONTRACTS = {  # the tests of all rows of a table, also of one that is added
    "veil.mechanisms.words": "tests/text/mechanisms/test_contract.py",
    "veil.attacks.text": "tests/text/attacks/test_check.py",
    "veil.measures.text": "tests/text/measures/test_measures.py",
}
ALONE = {
    **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # which takes longer than the tests
}


@dataclass(frozen=True)
class Page:
    """What a page holds."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    def blocks(self, language: str) -> list[str]:
        found = re.findall(rf"^```{language}\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL)
        assert all(isinstance(each, str) for each in found)
        return found

    @cached_property
    def group(self) -> str:
        (announced,) = self._announced
        return announced

    @cached_property
    def points(self) -> dict[str, str]:
        """Names, and ``module:Class``."""
        return dict(self._announced[self.group])

    @cached_property
    def _announced(self) -> dict[str, dict[str, str]]:
        (block,) = [each for each in self.blocks("toml") if "entry-points" in each]
        found: dict[str, dict[str, str]] = tomllib.loads(block)["project"]["entry-points"]
        return found

    @cached_property
    def files(self) -> dict[str, str]:
        """Sources by module; each class is defined by exactly one block."""
        found = {}
        for target in self.points.values():
            module, _, name = target.partition(":")
            defines = rf"^class {name}\b"
            (found[module],) = [
                each for each in self.blocks("python") if re.search(defines, each, re.MULTILINE)
            ]
        return found

    @cached_property
    def tests(self) -> list[str]:
        return [each for each in self.blocks("python") if "def test_" in each]

    @cached_property
    def lines(self) -> list[str]:
        """The python blocks that are neither a file nor tests."""
        others = [*self.files.values(), *self.tests]
        return [each for each in self.blocks("python") if each not in others]

    @cached_property
    def commands(self) -> list[list[str]]:
        lines = "".join(self.blocks("sh")).splitlines()
        return [shlex.split(line) for line in lines]

    @cached_property
    def mutants(self) -> list[dict[str, str]]:
        (block,) = [each for each in self.blocks("toml") if "[[mutant]]" in each]
        found: list[dict[str, str]] = tomllib.loads(block)["mutant"]
        return found

    @cached_property
    def rows(self) -> dict[str, tuple[str, str]]:
        """What stands in the table of names in this repository: module and class by name."""
        found = re.findall(r'^"(\w+)": "(veil[\w.]+):(\w+)",$', self.text, re.MULTILINE)
        return {name: (module, cls) for name, module, cls in found}


@pytest.fixture(params=PAGES, ids=lambda path: path.stem)
def page(request: pytest.FixtureRequest) -> Page:
    return Page(request.param)


def test_every_kind_has_its_page_and_is_found_from_the_index() -> None:
    assert {Page(path).group for path in PAGES} == set(GROUPS)
    index = (ROOT / "docs" / "extending.md").read_text("utf-8")
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    for path in PAGES:
        assert f"({path.name})" in index
        assert f" {path.name}\n" in site
        assert f"`{Page(path).group}`" in index


def test_page_is_complete(page: Page) -> None:
    assert page.points
    assert page.tests
    assert page.commands
    assert page.lines
    assert len(page.mutants) == len(page.points)
    assert all(command[0] == "veil" for command in page.commands)
    assert re.search(r"\bcheck(_\w+)?\(", "".join(page.tests))
    assert set(page.rows) == set(page.points)
    for name, target in page.points.items():
        module, cls = page.rows[name]
        assert target == f"veil_{name}:{cls}"
        assert f"`src/{module.replace('.', '/')}.py`" in page.text
        assert f"`{target.partition(':')[0]}.py`" in page.text


def test_example_imports_nothing_private(page: Page) -> None:
    for source in [*page.files.values(), *page.tests, *page.lines]:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(alias.name for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            assert not any(part.startswith("_") for name in names for part in name.split("."))


def test_example_is_short(page: Page) -> None:
    for source in page.files.values():
        assert len(source.splitlines()) <= 90
        assert max(map(len, source.splitlines())) <= 99


@pytest.fixture
def plugin(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install the example as a package with entry points."""
    for module, source in page.files.items():
        (tmp_path / f"{module}.py").write_text(source)
    for number, tests in enumerate(page.tests):
        (tmp_path / f"test_{number}.py").write_text(tests)
    info = tmp_path / "veil_example-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: veil-example\nVersion: 0.1\n")
    rows = "".join(f"{name} = {target}\n" for name, target in page.points.items())
    (info / "entry_points.txt").write_text(f"[{page.group}]\n{rows}")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in page.points:
        GROUPS[page.group]._loaded.pop(name, None)
    for module in page.files:
        sys.modules.pop(module, None)


@pytest.fixture
def material(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the lines of a page name: vectors in the cache, documents, variants and a log."""
    words = tuple("the of for treatment skin cancer tumor doctor drug bone breast lung".split())
    vectors = np.random.default_rng(3).normal(size=(len(words), 3)).astype(np.float32)
    folder = tmp_path / "cache" / "vectors" / "glove-100d"
    veil.Embeddings(words, vectors, "glove-100d").save(folder)
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "documents.jsonl").write_text(
        "".join(f'{{"id": "{word}", "title": "{word}", "text": "cancer"}}\n' for word in words)
    )
    (work / "queries.txt").write_text("skin cancer\nlung drug\nbone\n")
    (work / "variants.csv").write_text(
        "id,text,obfuscatedText\n1,skin cancer,skin tumor\n1,skin cancer,bone cancer\n"
    )


@pytest.mark.usefixtures("plugin", "material")
def test_example_is_found_and_its_lines_run(
    page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(page.points) <= set(GROUPS[page.group].names())
    for command in page.commands:
        capsys.readouterr()
        assert run(command[1:]) == 0, capsys.readouterr().err
        assert capsys.readouterr().out
    for block in page.lines:
        exec(compile(block, page.path.name, "exec"), {"__name__": "page"})  # noqa: S102 - our own


def test_example_passes_its_tests_and_no_mutant_does(page: Page, plugin: Path) -> None:
    assert outcome(plugin) == (0, "")
    for mutant in page.mutants:
        (module,) = [
            target.partition(":")[0]
            for name, target in page.points.items()
            if mutant["file"] == f"{page.rows[name][0].replace('.', '/')}.py".removeprefix("veil/")
        ]
        source = page.files[module]
        assert source.count(mutant["old"]) == 1
        (plugin / f"{module}.py").write_text(source.replace(mutant["old"], mutant["new"]))
        assert outcome(plugin)[0] == 1, mutant["what"]
        (plugin / f"{module}.py").write_text(source)


def test_example_works_in_this_repository_as_the_page_says(page: Page, tmp_path: Path) -> None:
    """The files in their places, their rows in the table, and the tests with other imports."""
    shutil.copytree(SOURCE, tmp_path / "veil", ignore=shutil.ignore_patterns("__pycache__"))
    (table,) = set(re.findall(r"`src/(veil/[\w/]+/__init__\.py)`", page.text))
    rows = "".join(f'        "{n}": "{m}:{c}",\n' for n, (m, c) in page.rows.items())
    text = (tmp_path / table).read_text()
    assert text.count("builtin={\n") == 1
    (tmp_path / table).write_text(text.replace("builtin={\n", "builtin={\n" + rows))
    tests = "\n".join(page.tests)
    for name, target in page.points.items():
        module = page.rows[name][0]
        source = page.files[target.partition(":")[0]]
        (tmp_path / f"{module.replace('.', '/')}.py").write_text(source)
        tests = tests.replace(target.partition(":")[0], module)
    known = f"""
import importlib
from pathlib import Path

def test_rows():
    from veil import ATTACKS, ENGINES, MEASURES, MECHANISMS
    (table,) = [t for t in (ATTACKS, ENGINES, MEASURES, MECHANISMS) if t.group == {page.group!r}]
    for name in {list(page.points)!r}:
        assert name in table.builtin
        assert Path(importlib.import_module(table.get(name).__module__).__file__).is_relative_to(
            {str(tmp_path)!r}
        )
"""
    (tmp_path / "test_here.py").write_text(tests + known)
    assert outcome(tmp_path, package=tmp_path) == (0, "")
    if page.group in CONTRACTS:
        assert outcome(ROOT, CONTRACTS[page.group], package=tmp_path) == (0, "")


def outcome(folder: Path, *names: str, package: Path = SOURCE.parent) -> tuple[int, str]:
    """Run the tests of a folder; return the exit code, and what was said if it is no success."""
    names = names or tuple(path.name for path in folder.glob("test_*.py"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *names],
        cwd=folder,
        env={**ALONE, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout[-3000:] + done.stderr[-1000:] if done.returncode else ""


def points_of_index() -> dict[str, tuple[str, str]]:
    """Return each part of the index by its name: its group, and ``module:name``."""
    found: dict[str, tuple[str, str]] = {}
    for block in Page(INDEX).blocks("toml"):
        for group, points in tomllib.loads(block)["project"]["entry-points"].items():
            found |= {name: (group, target) for name, target in points.items()}
    return found


def files_of_index() -> dict[str, str]:
    """Return the sources of the index by module."""
    blocks = Page(INDEX).blocks("python")
    sources = {}
    for _, target in points_of_index().values():
        module, _, name = target.partition(":")
        pattern = rf"^(class|def) {name}\b"
        sources[module] = next(
            block for block in blocks if re.search(pattern, block, re.MULTILINE)
        )
    return sources


def test_every_registry_is_in_the_index() -> None:
    text = INDEX.read_text("utf-8")
    for place in REGISTRIES:
        assert f"`{loaded(place).group}` |" in text
    assert {group for group, _ in points_of_index().values()} <= set(
        re.findall(r"`(veil[\w.]+)` \|$", text, re.MULTILINE)
    )


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install all parts of the index as one package."""
    for module, source in files_of_index().items():
        (tmp_path / f"{module}.py").write_text(source)
    info = tmp_path / "veil_parts-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: veil-parts\nVersion: 0.1\n")
    rows = [
        f"[{group}]\n{name} = {target}\n" for name, (group, target) in points_of_index().items()
    ]
    (info / "entry_points.txt").write_text("".join(rows))
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for place in REGISTRIES:
        for name in points_of_index():
            loaded(place)._loaded.pop(name, None)
    for module in files_of_index():
        sys.modules.pop(module, None)


@pytest.mark.usefixtures("parts")
def test_parts_of_the_index_are_found_checked_and_used(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = {loaded(place).group: loaded(place) for place in REGISTRIES}
    for name, (group, target) in points_of_index().items():
        check(known[group].get(name) if group in known else loaded(target))
    written = set(files_of_index().values())
    for block in Page(INDEX).blocks("python"):
        if block not in written and "def test_" not in block:
            capsys.readouterr()
            exec(compile(block, "extending.md", "exec"), {"__name__": "page"})  # noqa: S102 - ours
            assert capsys.readouterr().out


def test_the_test_of_the_index_passes(parts: Path) -> None:
    (tests,) = Page(INDEX).tests
    (parts / "test_parts.py").write_text(tests)
    assert outcome(parts) == (0, "")
