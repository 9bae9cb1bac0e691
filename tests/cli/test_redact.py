"""``veil protect --redact`` and ``veil restore``: there and back, by the map of that run alone."""

import json
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Veil

from veil.core.types import Variants
from veil.text import files
from veil.text.protect import protect_stream
from veil.text.redact.pseudonyms import Pseudonyms

MAIL, PHONE = "ada@example.org", "+39 049 827 1234"


def rows(path: Path) -> list[str]:
    return [json.loads(line)["obfuscatedText"] for line in path.read_text().splitlines()]


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    path = tmp_path / "mails.txt"
    path.write_text(f"the cat of {MAIL}\nthe dog, {PHONE}\nflu of {MAIL}\n")
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_replaced_can_be_put_back(
    veil: Veil, vectors: str, mails: Path, tmp_path: Path, workers: int
) -> None:
    out, names, back = tmp_path / "out.jsonl", tmp_path / "map.json", tmp_path / "back.jsonl"
    protect = ("protect", "cmp", "--epsilon", 5, "--vectors", vectors, mails, "-o", out)
    result = veil(*protect, "--redact", "patterns", "--pseudonyms", names, "--workers", workers)
    assert result.code == 0
    assert "2 EMAIL, 1 PHONE" in result.err
    assert MAIL not in out.read_text() + result.err
    assert stat.S_IMODE(names.stat().st_mode) == 0o600
    assert veil("restore", out, "--map", names, "-o", back).code == 0
    assert [MAIL in row for row in rows(back)] == [True, False, True]
    assert PHONE in rows(back)[1]
    assert stat.S_IMODE(back.stat().st_mode) == 0o600


def test_a_map_goes_on(veil: Veil, vectors: str, mails: Path, tmp_path: Path) -> None:
    out, names = tmp_path / "out.txt", tmp_path / "map.json"
    words = ("protect", "cmp", "--epsilon", 5, "--vectors", vectors, mails, "-o", out)
    pseudonyms = []
    for _ in range(2):
        assert veil(*words, "--redact", "patterns", "--pseudonyms", names).code == 0
        pseudonyms.append([line.split()[-1] for line in out.read_text().splitlines()])
    assert pseudonyms[0] == pseudonyms[1]


def test_the_map_of_what_was_printed_is_there_when_a_later_text_is_refused(
    veil: Veil, vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "protect_stream", partial(protect_stream_of, batch_of=1))
    source, names = tmp_path / "mails.txt", tmp_path / "map.json"
    source.write_text(f"the cat of {MAIL}\nof the\n")
    words = ("protect", "cmp", "--epsilon", 5, "--vectors", vectors, source, "--select", "content")
    refused = veil(*words, "--redact", "patterns", "--pseudonyms", names)
    assert refused.code != 0
    (made,) = Pseudonyms.load(names).originals
    assert made in refused.out


def protect_stream_of(*given: Any, batch_of: int, **choices: Any) -> Iterator[Variants]:  # noqa: ANN401
    return protect_stream(*given, **(choices | {"batch": batch_of}))


def test_a_kind_alone_names_no_original(veil: Veil, tmp_path: Path) -> None:
    out, back = tmp_path / "out.txt", tmp_path / "back.txt"
    out.write_text("write to [EMAIL]\n")
    Pseudonyms().save(tmp_path / "map.json")
    told = veil("restore", out, "--map", tmp_path / "map.json", "-o", back)
    assert "The file has no pseudonyms" in told.err
    assert back.read_text() == "write to [EMAIL]\n"


def test_maps_that_are_missing_damaged_or_of_another_run(
    veil: Veil, vectors: str, mails: Path, tmp_path: Path
) -> None:
    out, back, other = tmp_path / "out.txt", tmp_path / "back.txt", tmp_path / "other.json"
    words = ("protect", "cmp", "--epsilon", 5, "--vectors", vectors, mails, "-o", out)
    veil(*words, "--redact", "patterns", "--pseudonyms", tmp_path / "map.json")
    assert "There is no map" in veil("restore", out, "--map", other, "-o", back).refused()
    other.write_text('{"kind": "veil-pseudonyms"')
    assert "is damaged" in veil("restore", out, "--map", other, "-o", back).refused()
    Pseudonyms().save(other)
    assert "another run" in veil("restore", out, "--map", other, "-o", back).refused()
    assert "overwrite an input" in veil("restore", out, "--map", other, "-o", out).refused()
    assert not back.exists()
    new = tmp_path / "new.txt"
    both = (*words[:-1], new, "--redact", "patterns", "--pseudonyms", new)
    assert "overwrite the map" in veil(*both).refused()
    assert not new.exists()
    assert "Add --redact" in veil(*words, "--pseudonyms", other).refused()
