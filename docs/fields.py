"""Give the parameters of components, which are fields, the descriptions that they declare.

Examples in docstrings become code: ``>>>`` alone would be three quotations, one in the other.
mkdocstrings runs it (``extensions`` in mkdocs.yml) on what it read of the package, unimported.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

from griffe import Attribute, Docstring, ExprName, Extension, Module, Object

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$|```).*)*", re.MULTILINE)


class Fields(Extension):
    """Reads ``Field(description=...)`` of an attribute as its docstring."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:  # noqa: ANN401
        """Look at each attribute of a class that has no docstring of its own, and at examples."""
        for docstring in _docstrings(pkg):
            docstring.value = _EXAMPLE.sub("```pycon\\n\\g<0>\\n```", docstring.value)
        for attribute in _attributes(pkg):
            if attribute.docstring is None and (said := _description(attribute, pkg)):
                attribute.docstring = Docstring(said, parent=attribute)


def _docstrings(within: Object) -> Iterator[Docstring]:
    if within.docstring is not None:
        yield within.docstring
    for member in within.members.values():
        if isinstance(member, Object):
            yield from _docstrings(member)


def _attributes(within: Object) -> Iterator[Attribute]:
    for member in within.members.values():
        if isinstance(member, Attribute) and within.is_class:
            yield member
        elif isinstance(member, Object) and (member.is_module or member.is_class):
            yield from _attributes(member)


def _description(attribute: Attribute, package: Module) -> str:
    declared: object = attribute.annotation
    if isinstance(declared, ExprName):  # a name that stands for a type with its range
        inside, _, path = declared.canonical_path.partition(".")
        known = inside == package.name and path.split(".")[0] in package.members
        declared = package[path].value if known and isinstance(package[path], Attribute) else ""
    for text in (declared, attribute.value):
        if "description=" in str(text):
            for node in ast.walk(ast.parse(str(text), mode="eval")):
                if isinstance(node, ast.keyword) and node.arg == "description":
                    return str(node.value.value) if isinstance(node.value, ast.Constant) else ""
    return ""
