"""Private queries in PyTerrier pipelines. Needs the extra ``pyterrier``.

``Obfuscate("cmp(epsilon=10)") >> bm25 >> rerank`` replaces each query, and no later step sees the
original. ``PrivateSearch(bm25, "cmp(epsilon=10)") >> rerank`` sends only variants to the engine,
and returns one result list per query, together with the query itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veil.pyterrier.steps import Fuse as Fuse
    from veil.pyterrier.steps import Obfuscate as Obfuscate
    from veil.pyterrier.steps import PrivateSearch as PrivateSearch

_MODULES = {  # public name -> module, loaded on first access
    "Fuse": "veil.pyterrier.steps",
    "Obfuscate": "veil.pyterrier.steps",
    "PrivateSearch": "veil.pyterrier.steps",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'veil.pyterrier' has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
