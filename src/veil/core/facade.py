"""Lazy packages: each public name is loaded from its module on first access.

A package calls `facade` once, and imports the same names under ``TYPE_CHECKING`` for readers and
type checkers.
"""

import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType

from veil.core.former import FORMER, warn_renamed


def facade(
    package: str,
    names: Mapping[str, str],
    subpackages: Collection[str] = (),
    former: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Make the names of a package available, each imported on first access.

    `names` maps a module to the names it defines, separated by spaces. `subpackages` can be
    reached as attributes, too. If a name is also the name of a module, importing that module does
    not replace it. `former` maps names of the last release to those of today; they work with a
    warning.
    """
    modules = {name: module for module, listed in names.items() for name in listed.split()}

    class Facade(ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            if not (name in modules and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __getattr__(self, name: str) -> object:
            if name in subpackages:
                return import_module(f"{package}.{name}")
            if name in former:
                warn_renamed(f"{package}.{name}", f"{package}.{former[name]}")
                module = f"{package}.{name}"
                if former[name] in subpackages and module in FORMER:
                    return import_module(module)
                self.__dict__[name] = getattr(self, former[name])
                return self.__dict__[name]
            if name not in modules:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value: object = getattr(import_module(modules[name]), name)
            self.__dict__[name] = value
            return value

        def __dir__(self) -> list[str]:
            private = (name for name in self.__dict__ if name.startswith("_"))
            return sorted({*private, *modules, *subpackages})

    sys.modules[package].__class__ = Facade
