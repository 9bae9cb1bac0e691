"""The steps of `veil.pyterrier`, over PyTerrier itself and over what stands in for it."""

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest
from tests.pyterrier.kit import Frame, Kit, Step, engine_of


def afresh() -> ModuleType:
    """Import `veil.pyterrier` anew: which Transformer it builds on is settled then."""
    for name in [name for name in sys.modules if name.startswith("veil.pyterrier")]:
        del sys.modules[name]
    return import_module("veil.pyterrier")


@pytest.fixture(params=["real", "stand-in"])
def kit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kit]:
    """Steps, frames and an engine of the one or the other."""
    if request.param == "real":
        terrier = pytest.importorskip("pyterrier", reason="the extra 'pyterrier' is missing")
        frame = pytest.importorskip("pandas").DataFrame
        yield Kit(afresh(), frame, engine_of(terrier.Transformer, frame))
    else:
        stand_in = ModuleType("pyterrier")
        stand_in.Transformer = Step  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "pyterrier", stand_in)
        yield Kit(afresh(), Frame, engine_of(Step, Frame))
    monkeypatch.undo()
    afresh()
