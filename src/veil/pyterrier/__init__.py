"""Private queries in the pipelines of PyTerrier; needs the extra ``pyterrier``.

``Obfuscate("cmp(epsilon=10)") >> bm25 >> rerank`` replaces each query, and nothing after it sees
the original. ``PrivateSearch(bm25, "cmp(epsilon=10)") >> rerank`` asks with variants alone, and
gives back one list for each query, beside the query itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veil.pyterrier.steps import Fuse as Fuse
    from veil.pyterrier.steps import Obfuscate as Obfuscate
    from veil.pyterrier.steps import PrivateSearch as PrivateSearch

_MODULES = {  # where each public name lives; it is loaded when it is first asked for
    "Fuse": "veil.pyterrier.steps",
    "Obfuscate": "veil.pyterrier.steps",
    "PrivateSearch": "veil.pyterrier.steps",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'veil.pyterrier' has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
