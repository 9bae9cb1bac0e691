"""Small spaces made on the spot, a seeded generator, and the real data where it is at hand."""

import os
import signal
import socket
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import settings
from numpy.random import Generator

from veil.data.assets import at_hand, load_embeddings
from veil.data.embeddings import Embeddings
from veil.data.fetch import cache_folder

# Tests have caches of their own; compiling takes ten seconds, so they share what is compiled.
os.environ.setdefault("VEIL_KERNELS", str(cache_folder() / "kernels"))
settings.register_profile("veil", deadline=None)  # a loaded machine is no fault of the code
settings.load_profile("veil")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def make_space(words: int, dim: int, seed: int = 0) -> Embeddings:
    """Draw vectors of varying length; words are pronounceable and distinct."""
    rng = np.random.default_rng(seed)
    spelt = tuple(_spell(i) for i in range(words))
    vectors = rng.normal(size=(words, dim)) * rng.uniform(0.5, 2, size=(words, 1))
    return Embeddings(spelt, vectors.astype(np.float32), f"tiny-{words}x{dim}")


def _spell(number: int) -> str:
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    word = ""
    for _ in range(3):
        number, digit = divmod(number, len(syllables))
        word += syllables[digit]
    return word


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Let the programs that tests start be interrupted, also where a shell in the background
    made them deaf to it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections to anywhere but this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> object:
        host = address[0] if isinstance(address, tuple) else "local"
        if host not in ("127.0.0.1", "::1", "localhost", "local"):
            _refuse()
        return connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


def _refuse() -> NoReturn:
    pytest.fail("a test reached for the network")


@pytest.fixture
def rng() -> Generator:
    return np.random.default_rng(20261116)


@pytest.fixture(scope="session")
def space() -> Embeddings:
    """Sixty words in four dimensions."""
    return make_space(60, 4)


@pytest.fixture(scope="session")
def glove() -> Embeddings:
    if not at_hand("glove-100d"):
        pytest.skip("glove-100d is not in the cache: veil vectors glove-100d fetches it")
    return load_embeddings("glove-100d")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real test data."""
    if not SHARED.is_dir():
        pytest.skip("the shared test data is not at hand")
    return SHARED
