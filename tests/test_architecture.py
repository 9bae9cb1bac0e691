"""Who may import whom, beyond what the contracts of import-linter say."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import veil
from veil.studies import DOMAINS

SOURCE = Path(veil.__file__).parent


def test_what_is_private_is_imported_within_its_own_package_only() -> None:
    found = [f"{importer} imports {name}" for importer, name in _private_imports(SOURCE)]
    assert found == []


@pytest.mark.parametrize(
    ("module", "line", "private"),
    [
        ("a/one.py", "from veil.b._two import three", "veil.b._two"),
        ("a/one.py", "import veil.b._two", "veil.b._two"),
        ("a/one.py", "from veil.b import _two", "veil.b._two"),
        ("a/one.py", "from veil.a.two import _three", "veil.a.two._three"),
        ("a/b/one.py", "from veil.a._two import three", "veil.a._two"),
        ("one.py", "def f():\n    from veil.a import _two", "veil.a._two"),
        ("a/one.py", "from veil.a import two\ntwo._three()", "veil.a.two._three"),
        ("a/one.py", "import veil.a.two as short\nshort._three()", "veil.a.two._three"),
    ],
)
def test_an_offence_is_found(tmp_path: Path, module: str, line: str, private: str) -> None:
    path = tmp_path / "veil" / module
    path.parent.mkdir(parents=True)
    path.write_text(line)
    importer = f"veil.{module.removesuffix('.py').replace('/', '.')}"
    assert (importer, private) in set(_private_imports(tmp_path / "veil"))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("a/one.py", "from veil.a._two import three"),
        ("a/one.py", "from veil.a import _two\n_two.three()"),
        ("a/__init__.py", "from veil.a._two import three"),
        ("a/one.py", "from veil.b import two\nfrom __future__ import annotations\ntwo.__doc__"),
    ],
)
def test_what_is_no_offence(tmp_path: Path, module: str, line: str) -> None:
    path = tmp_path / "veil" / module
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert list(_private_imports(tmp_path / "veil")) == []


def _private_imports(root: Path) -> Iterator[tuple[str, str]]:
    """Yield modules below a folder with the private names of others that they use."""
    for path in sorted(root.rglob("*.py")):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        package = ".".join(parts[:-1])
        for name in _names(ast.parse(path.read_text("utf-8"))):
            pieces = name.split(".")
            for place, piece in enumerate(pieces):
                private = piece.startswith("_") and not piece.startswith("__")
                if private and ".".join(pieces[:place]) != package:
                    yield ".".join(parts), ".".join(pieces[: place + 1])


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the full names of all that is imported from veil, and of what is taken from that."""
    known = dict(_imported(tree))
    yield from known.values()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            whole = known.get(node.value.id, "")
            if whole.rpartition(".")[2].islower():  # a module; of classes others look after
                yield f"{whole}.{node.attr}"


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield names of a module with what of veil they stand for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if (whole := source + alias.name).startswith("veil"):
                    yield alias.asname or alias.name, whole


def test_contributing_shows_the_tree_as_it_is() -> None:
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()
    tree = text[text.index("src/veil/\n") : text.index("tests/          ")]
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    heads = re.findall(r"^  (\w+)/ +(.*(?:\n {16}.*)*)", tree, re.MULTILINE)
    assert {room for room, _ in heads} == rooms
    for room, description in heads:
        for folder in re.findall(r"([\w/]+)/", description):
            assert (SOURCE / room / folder).is_dir(), f"{room}/{folder}"


@pytest.mark.parametrize("name", [*DOMAINS, "text"])
def test_every_domain_has_mechanism_and_attack(name: str) -> None:
    package = import_module(f"veil.{name}")
    assert callable(package.mechanism)
    assert callable(package.attack)
