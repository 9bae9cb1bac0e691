"""The front of a package: public names, each loaded from its module when it is asked for.

A package calls `facade` once, and imports the same names under ``TYPE_CHECKING`` for readers and
type checkers.
"""

import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from types import ModuleType


def facade(package: str, places: Mapping[str, str], rooms: Collection[str] = ()) -> None:
    """Give a package its names: `places` tells which names (a text) each module holds.

    `rooms` are packages within it that are reached by name. A name stays what it is beside a
    module that is called like it.
    """
    modules = {name: module for module, names in places.items() for name in names.split()}

    class Facade(ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            if not (name in modules and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __getattr__(self, name: str) -> object:
            if name in rooms:
                return import_module(f"{package}.{name}")
            if name not in modules:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            found: object = getattr(import_module(modules[name]), name)
            self.__dict__[name] = found
            return found

        def __dir__(self) -> list[str]:
            return sorted({*(n for n in self.__dict__ if n.startswith("_")), *modules, *rooms})

    sys.modules[package].__class__ = Facade
