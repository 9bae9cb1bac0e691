"""Compile functions with numba, and keep the result where nobody else can put anything.

What numba keeps of a compiled function is a pickle: loading one runs whatever it says. Numba looks
for them beside the source, or where the environment says. Here they lie in an owner-only folder of
the cache, which is looked at before each loading (see `veil.data.files`); where it cannot be
had, functions are compiled anew by every process, which takes some ten seconds.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import Cache, CompileResultCacheImpl, _CacheLocator

from veil.data.fetch import cache_folder
from veil.data.files import is_own, make_own

Compiled = Callable[[Callable[..., Any]], Any]


def compiled(**options: object) -> Compiled:
    """Return a decorator that compiles a function without the interpreter's lock."""

    def decorate(function: Callable[..., Any]) -> Any:  # noqa: ANN401 - numba has no types
        made = njit(nogil=True, **options)(function)
        made._cache = OwnCache(function)
        return made

    return decorate


def kernels_folder() -> Path:
    """Folder of the compiled functions of this very source, whether it is there or not.

    It is in ``$VEIL_KERNELS``, else in the cache folder.
    """
    chosen = os.environ.get("VEIL_KERNELS")
    return (Path(chosen) if chosen else cache_folder() / "kernels") / _stamp()


@cache
def _stamp() -> str:
    """Name all sources that are compiled: functions of one file use those of others."""
    made = hashlib.sha256(sys.version.encode())
    for file in sorted(Path(__file__).parents[1].rglob("_fused*.py")):
        made.update(file.read_bytes())
    return made.hexdigest()[:32]


class OwnCache(Cache):  # type: ignore[misc]
    """Numba's cache of one function, in a folder that is looked at before it is believed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._impl_class = _Kept
        super().__init__(function)

    def load_overload(self, sig: object, target_context: object) -> Any:  # noqa: ANN401
        """Load what was compiled before; None where there is nothing to be believed."""
        if not is_own(Path(self._cache_path)):
            return None
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - a torn file fails in any way: compile anew
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep what was compiled, or do without."""
        folder = Path(self._cache_path)
        if make_own(folder):
            with suppress(Exception):  # as above, or a full disk
                super().save_overload(sig, data)
            with suppress(OSError):
                for file in folder.iterdir():
                    file.chmod(0o600)


class _Kept(CompileResultCacheImpl):  # type: ignore[misc]
    """How numba writes a function down; the place is ours, whatever the environment says."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Place(function)
        module = Path(function.__code__.co_filename).stem
        name = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))


class _Place(_CacheLocator):  # type: ignore[misc]
    """Where the compiled functions lie."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_file = function.__code__.co_filename
        self._line = function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        """Do nothing: it was made before."""

    def get_cache_path(self) -> str:
        return str(kernels_folder())

    def get_source_stamp(self) -> str:
        return _stamp()

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Place":
        del py_file
        return cls(py_func)
