"""Private search: engines, and the pipeline that queries them.

The package is callable: ``veil.search(query, ...)`` searches, and ``veil.search.engines`` is a
subpackage.
"""

import inspect
import sys
from types import ModuleType


class _Callable(ModuleType):
    """A package that can be called."""

    def __call__(self, *arguments: object, **keywords: object) -> object:
        from veil.search.api import search

        return search(*arguments, **keywords)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        if name in ("attack", "mechanism"):  # of the texts that are sent
            from veil import text

            return getattr(text, name)
        raise AttributeError(f"module 'veil.search' has no attribute {name!r}")

    @property
    def __signature__(self) -> inspect.Signature:
        from veil.search.api import search

        return inspect.signature(search)


sys.modules[__name__].__class__ = _Callable
