"""The fronts of packages: what type checkers read of them is what they give."""

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import veil
from veil.core.facade import facade

SOURCE = Path(veil.__file__).parent
FRONTS = [
    path.parent.name for path in SOURCE.glob("*/__init__.py") if "facade(" in path.read_text()
]


def typed(text: str) -> dict[str, str]:
    """Return the names that a module imports or defines for type checkers alone."""
    (block,) = [node for node in ast.parse(text).body if isinstance(node, ast.If)]
    return {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("veil.")
        for alias in node.names
    }


def test_fronts_are_found() -> None:
    assert {"dp", "dpia", "places", "ratings", "sensitive", "tables"} <= set(FRONTS)


@pytest.mark.parametrize("name", FRONTS)
def test_names_are_loaded_from_where_the_types_say(name: str) -> None:
    package = importlib.import_module(f"veil.{name}")
    for public, module in typed((SOURCE / name / "__init__.py").read_text()).items():
        there = (
            importlib.import_module(f"{module}.{public}")  # a room
            if module == f"veil.{name}"
            else getattr(importlib.import_module(module), public)
        )
        assert getattr(package, public) is there
        assert public in dir(package)
    with pytest.raises(AttributeError, match=f"veil.{name}' has no attribute 'protct'"):
        package.protct  # noqa: B018


def test_a_verb_keeps_its_name_beside_a_module_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "fronted"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "ask.py").write_text("def ask() -> int:\n    return 7\n")
    (package / "room.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    front = importlib.import_module("fronted")
    try:
        facade("fronted", {"fronted.ask": "ask"}, subpackages=("room",))
        module = importlib.import_module("fronted.ask")
        assert front.ask is module.ask
        assert isinstance(front.room, ModuleType)
        assert {"ask", "room"} <= set(dir(front))
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "fronted"]:
            del sys.modules[name]
