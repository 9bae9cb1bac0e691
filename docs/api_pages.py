"""Write the pages of the API: every public name once, its docstring put in by mkdocstrings.

Nothing is imported. A package's public names are what its ``__init__`` imports under the same
name (also for type checkers alone, where names are loaded when they are first asked for) or
lists in ``__all__``.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGES = "veil places dp tables ratings sensitive cover dpia testing".split()
GROUPS = {
    "function": "Functions",
    "class": "Classes",
    "table": "Tables of names",
    "error": "Errors",
}
OWN = ("veil.dpia.write", "dpia")  # found by its name in veil.tables, which does not import it


@dataclass(frozen=True)
class Name:
    """A public name: where it is written down, what it is, and what it does in one line."""

    name: str
    module: str
    kind: str
    summary: str

    @property
    def path(self) -> str:
        """Where it lives, which is also its address on its page."""
        return f"{self.module}.{self.name}"


def pages() -> dict[str, str]:
    """Return the text of the overview and of a page for each package, by file name."""
    packages = [called if called == "veil" else f"veil.{called}" for called in PACKAGES]
    names = {package: list(public(package)) for package in packages}
    homes: dict[str, str] = {}  # where a name that several packages have is written down
    for package in packages:
        for name in names[package]:
            if name.path not in homes or name.module.startswith(f"{package}."):
                homes[name.path] = package
    written = {_file(package): _page(package, names[package], homes) for package in packages}
    rows = [f"| [`{each}`]({_file(each)}) | {_summary(_tree(each))} |" for each in packages]
    written["api.md"] = (
        "# API\n\nAll public names of Python, from their docstrings. What is not listed here may"
        " change without notice.\n\n| package | what it has |\n|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )
    return written


def public(package: str) -> Iterator[Name]:
    """Find the public names of a package, sorted."""
    tree = _tree(package)
    listed = {
        str(item)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for item in ast.literal_eval(node.value)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("veil."):
            for alias in node.names:
                if alias.asname == alias.name or alias.name in listed:
                    found.add((alias.name, str(node.module)))
        elif isinstance(node, ast.FunctionDef) and node.name == OWN[1]:
            found.add((OWN[1], OWN[0]))
    for name, module in sorted(found, key=lambda pair: pair[0].lower()):
        if not name.startswith("_") and not _is_module(f"{module}.{name}", module):
            yield _described(name, module)


def _described(name: str, module: str) -> Name:
    body = _tree(module).body[::-1]  # of overloads the last one has the docstring
    for here, following in zip(body, [None, *body], strict=False):
        if isinstance(here, ast.ClassDef) and here.name == name:
            return Name(name, module, "error" if _raised(name) else "class", _summary(here))
        if isinstance(here, ast.FunctionDef) and here.name == name:
            return Name(name, module, "function", _summary(here))
        if isinstance(here, ast.AnnAssign) and ast.unparse(here.target) == name:
            told = following.value if isinstance(following, ast.Expr) else None
            text = str(told.value) if isinstance(told, ast.Constant) else ""
            return Name(name, module, "table", " ".join(text.split("\n\n")[0].split()))
    for node in body:  # handed on by a module that does not define it
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return _described(name, str(node.module))
    raise SystemExit(f"{module} has no {name}.")


def _raised(name: str) -> bool:
    return name.endswith("Error") or name == "NoAnswer"


def _page(package: str, names: list[Name], homes: dict[str, str]) -> str:
    tree = _tree(package)
    called = package.rpartition(".")[2]
    parts = [f"# {package}\n", f"{_summary(tree)}\n"]
    for kind, heading in GROUPS.items():
        group = [name for name in names if name.kind == kind]
        if not group:
            continue
        parts.append(f"## {heading}\n\n| name | |\n|---|---|")
        for name in group:
            home = "" if homes[name.path] == package else _file(homes[name.path])
            parts.append(f"| [`{name.name}`]({home}#{name.path}) | {name.summary} |")
        parts.append("")
        parts += [
            f"::: {name.path}\n    options:\n      heading: {called}.{name.name}\n"
            f"      toc_label: {name.name}\n"
            for name in group
            if homes[name.path] == package
        ]
    return "\n".join(parts)


def _file(package: str) -> str:
    return f"api-{package.rpartition('.')[2]}.md"


def _summary(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    """Return the first paragraph of a docstring as one line that may stand in a table."""
    text = (ast.get_docstring(node) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


def _is_module(path: str, within: str) -> bool:
    """Tell a package handed on as such from a verb beside a module of the same name."""
    return (
        _location(path) is not None
        and within.count(".") == path.count(".") - 1
        and not any(
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and node.name == path.rpartition(".")[2]
            for node in _tree(path).body
        )
    )


def _location(module: str) -> Path | None:
    path = SOURCE / module.replace(".", "/")
    choices = (path / "__init__.py", path.with_suffix(".py"))
    return next((choice for choice in choices if choice.is_file()), None)


@cache
def _tree(module: str) -> ast.Module:
    path = _location(module)
    if path is None:
        raise SystemExit(f"there is no module {module}.")
    return ast.parse(path.read_text(encoding="utf-8"))
