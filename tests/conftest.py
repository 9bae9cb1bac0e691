"""Small spaces made on the spot, a seeded generator, and the real data where it is at hand."""

import collections.abc
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from numpy.random import Generator
from tests.failures import name_failures

from veil.data.fetch import cache_folder
from veil.text.vectors.catalogue import at_hand, load_embeddings
from veil.text.vectors.embeddings import Embeddings

# Tests have caches of their own; compiling takes ten seconds, so they share what is compiled.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # tests load it by itself, too
os.environ.setdefault("VEIL_KERNELS", str(cache_folder() / "kernels"))
# A machine may be busy: no example is too slow, and none takes too long to make.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(  # for mutants: whether an example fails, not which is the smallest
    "same",
    settings.get_profile("patient"),
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile(os.environ.get("VEIL_TEST_EXAMPLES", "patient"))

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    """Name each failure when it happens; write the generated pages if they are missing."""
    name_failures(config)
    docs = Path(__file__).resolve().parents[1] / "docs"
    if not hasattr(config, "workerinput") and not (docs / "cli.md").is_file():
        subprocess.run([sys.executable, docs / "generate.py"], check=True)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> collections.abc.Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail if a file of tests cannot be imported; the search for doctests would skip it."""
    report = yield
    inside = Path(__file__).resolve().parent in collector.path.parents
    if inside and report.skipped and "unable to import module" in str(report.longrepr):
        report.outcome, report.longrepr = "failed", f"{collector.path.name} cannot be imported"
    return report


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


CANARY = "xanthippe"


@pytest.fixture
def canary() -> str:
    return CANARY


@pytest.fixture
def silent() -> Callable[[BaseException], None]:
    """Check that an error is one sentence and says nothing of what the file holds."""

    def check(error: BaseException) -> None:
        shown = "".join(traceback.format_exception(error))
        assert CANARY not in shown.lower()
        assert error.__cause__ is None
        assert error.__context__ is None or error.__suppress_context__
        assert "\n" not in str(error)
        assert str(error).endswith(".")

    return check


@pytest.fixture
def spoken() -> Callable[[BaseException], str]:
    """Return the message, after checking that it is one sentence."""

    def check(error: BaseException) -> str:
        message = str(error)
        assert "\n" not in message
        assert message.endswith(".")
        return message

    return check
