"""Compile functions with numba, and cache the result where nobody else can write.

Numba caches compiled functions as pickles, and loading a pickle runs its code. By default they are
next to the source, or in a folder named by the environment. Here they are in an owner-only folder
of the cache, which is checked before each loading (see `veil.data.files`). Without such a folder,
every process compiles the functions, which takes some ten seconds.
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
    """Return a decorator that compiles a function and releases the interpreter's lock."""

    def decorate(function: Callable[..., Any]) -> Any:  # noqa: ANN401 - numba has no types
        kernel = njit(nogil=True, **options)(function)
        kernel._cache = OwnCache(function)
        return kernel

    return decorate


def kernels_folder() -> Path:
    """Return the folder of the functions compiled from this source, whether or not it exists.

    It is in ``$VEIL_KERNELS``, or else in the cache folder.
    """
    folder = os.environ.get("VEIL_KERNELS")
    return (Path(folder) if folder else cache_folder() / "kernels") / _stamp()


@cache
def _stamp() -> str:
    """Return a digest of all compiled sources, because functions use those of other files."""
    content = hashlib.sha256(sys.version.encode())
    for file in sorted(Path(__file__).parents[1].rglob("_fused*.py")):
        content.update(file.read_bytes())
    return content.hexdigest()[:32]


class OwnCache(Cache):  # type: ignore[misc]
    """Numba's cache of one function, in a folder that is checked before it is trusted."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._impl_class = _CacheFormat
        super().__init__(function)

    def load_overload(self, sig: object, target_context: object) -> Any:  # noqa: ANN401
        """Load the compiled function, or None if there is no trusted one."""
        if not is_own(Path(self._cache_path)):
            return None
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - a damaged file raises any error: recompile
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Cache the compiled function, if possible."""
        folder = Path(self._cache_path)
        if make_own(folder):
            with suppress(Exception):  # as above, or a full disk
                super().save_overload(sig, data)
            with suppress(OSError):
                for file in folder.iterdir():
                    file.chmod(0o600)


class _CacheFormat(CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's file format, in our folder regardless of the environment."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function)
        module = Path(function.__code__.co_filename).stem
        name = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))


class _Locator(_CacheLocator):  # type: ignore[misc]
    """The folder of the compiled functions."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_file = function.__code__.co_filename
        self._line = function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        """Do nothing: `save_overload` creates the folder."""

    def get_cache_path(self) -> str:
        return str(kernels_folder())

    def get_source_stamp(self) -> str:
        return _stamp()

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Locator":
        del py_file
        return cls(py_func)
