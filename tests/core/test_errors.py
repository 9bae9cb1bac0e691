"""Errors that are told again, with where they arose, stay what they are."""

from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

import veil
from veil.core.errors import (
    EngineError,
    MissingExtraError,
    UnprotectedError,
    VeilError,
    install_hint,
    with_message,
)
from veil.studies.choose import Choice, UncertifiedError
from veil.studies.study import locate_errors

CHOICE = Choice.__new__(Choice)


@pytest.mark.parametrize(
    "error",
    [
        UnprotectedError(3, "Row 3"),
        EngineError("It is down.", sent=4),
        MissingExtraError("It is not installed."),
        UncertifiedError("None is certified.", CHOICE),
    ],
)
def test_an_error_is_told_again_whatever_its_class_takes(error: VeilError) -> None:
    with pytest.raises(type(error)) as raised, locate_errors("Cell 2"):
        raise error
    assert str(raised.value) == f"Cell 2: {error}"
    assert vars(raised.value) == vars(error)


def test_every_class_of_errors_can_be_told_again() -> None:
    kinds = [getattr(veil, name) for name in veil.__all__ if name.endswith("Error")]
    assert UnprotectedError in kinds
    for kind in kinds:
        assert str(with_message(kind.__new__(kind), "So it is.")) == "So it is."


_NOTES = [
    (
        '{"dir_info": {"editable": true}, "url": "file://FOLDER"}',
        "pip install -e 'FOLDER[search]'",
    ),
    ('{"dir_info": {}, "url": "file://FOLDER"}', "pip install 'FOLDER[search]'"),
    ('{"dir_info": {}, "url": "file://FOLDER/a%20b"}', "pip install 'FOLDER/a b[search]'"),
    ('{"archive_info": {}, "url": "file://FOLDER/v.whl"}', "pip install 'FOLDER/v.whl[search]'"),
    ('{"dir_info": {}, "url": "file://FOLDER/gone"}', "pip install 'veil[search]'"),
    (
        '{"archive_info": {}, "url": "https://x.example/v.whl"}',
        "pip install 'veil[search] @ https://x.example/v.whl'",
    ),
    (
        '{"vcs_info": {"vcs": "git", "commit_id": "c0ffee"}, "url": "https://x.example/veil"}',
        "pip install 'veil[search] @ git+https://x.example/veil@c0ffee'",
    ),
    ("not JSON", "pip install 'veil[search]'"),
    ("[]", "pip install 'veil[search]'"),
    ('{"vcs_info": {}}', "pip install 'veil[search]'"),
    ('{"url": 5, "dir_info": "x"}', "pip install 'veil[search]'"),
    (None, "pip install 'veil[search]'"),
]


@pytest.mark.parametrize(("note", "wanted"), _NOTES)
def test_a_hint_fits_how_veil_was_installed(
    note: str | None, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "v.whl").touch()
    text = None if note is None else note.replace("FOLDER", str(tmp_path))
    distribution = SimpleNamespace(read_text=lambda _: text)
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: distribution)
    install_hint.cache_clear()
    try:
        told = str(MissingExtraError("It needs x: pip install 'veil[search]'."))
    finally:
        install_hint.cache_clear()
    assert told == f"It needs x: {wanted.replace('FOLDER', str(tmp_path))}."


def test_a_hint_of_a_veil_that_was_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    install_hint.cache_clear()
    assert install_hint("search,web") == "pip install 'veil[search,web]'"
    install_hint.cache_clear()
