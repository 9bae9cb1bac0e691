"""The key of the ledger: equal for equal queries, of no use without the key, and never shared."""

import os
from pathlib import Path

import pytest

from veil.core.errors import LedgerError
from veil.proxy.ledger.key import FILE, Key, drop_key, find_key, make_key

KEY = Key("file", bytes(range(32)))


class FakeRing:
    """A keyring in memory."""

    priority = 1.0

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, account: str) -> str | None:
        return self.kept.get((service, account))

    def set_password(self, service: str, account: str, value: str) -> None:
        self.kept[service, account] = value

    def delete_password(self, service: str, account: str) -> None:
        del self.kept[service, account]


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> FakeRing:
    keyring = pytest.importorskip("keyring")
    fake = FakeRing()
    monkeypatch.setattr(keyring, "get_keyring", lambda: fake)
    monkeypatch.delenv("VEIL_KEYRING", raising=False)
    return fake


@pytest.mark.parametrize(
    "same",
    ["cancer skin", "SKIN Cancer", " skin\tcancer ", "skin, cancer!", "ｓkin cancer"],
)
def test_order_case_punctuation_and_spelling_make_no_difference(same: str) -> None:
    assert KEY.query(same) == KEY.query("skin cancer")


@pytest.mark.parametrize("other", ["skin", "skin cancer skin", "skincancer", "skin-cancer", ""])
def test_other_queries_have_other_hashes(other: str) -> None:
    assert KEY.query(other) != KEY.query("skin cancer")


def test_hashes_depend_on_the_key_and_on_what_is_hashed() -> None:
    other = Key("file", bytes(32))
    assert other.query("skin") != KEY.query("skin")
    assert KEY.words(("skin",), "cmp")[0] != KEY.query("skin")
    assert not KEY.fits(other.sign)
    assert KEY.fits(KEY.sign)
    assert bytes(range(32)).hex() not in repr(KEY)
    assert str(bytes(range(32))) not in repr(KEY)


def test_a_word_that_comes_twice_has_two_hashes() -> None:
    first, second, third = KEY.words(("new", "york", "NEW"), "cmp")
    assert len({first, second, third}) == 3
    assert KEY.words(("NEW",), "cmp") == (first,)
    assert KEY.words(("NEW",), "tem") != (first,)


def test_punctuation_alone_is_hashed_as_it_is() -> None:
    assert KEY.query("?!") != KEY.query("...")


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    assert key.place == "file"
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert find_key(tmp_path, "file").fits(key.sign)
    (tmp_path / FILE).chmod(0o640)
    with pytest.raises(LedgerError, match="chmod go-rwx"):
        find_key(tmp_path, "file")


@pytest.mark.parametrize("content", [None, b"", b"short", bytes(33)])
def test_a_key_that_is_gone_or_cut_is_told(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / FILE).write_bytes(content)
        (tmp_path / FILE).chmod(0o600)
    with pytest.raises(LedgerError, match="Restore it"):
        find_key(tmp_path, "file")


def test_the_keyring_is_used_where_there_is_one(tmp_path: Path, ring: FakeRing) -> None:
    key = make_key(tmp_path)
    assert key.place == "keyring"
    assert not list(tmp_path.iterdir())
    assert find_key(tmp_path, "keyring").fits(key.sign)
    drop_key(tmp_path)
    assert not ring.kept
    with pytest.raises(LedgerError, match="not in the keyring"):
        find_key(tmp_path, "keyring")


def test_a_keyring_that_fails_is_not_used(
    tmp_path: Path, ring: FakeRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: str) -> None:
        raise RuntimeError

    monkeypatch.setattr(ring, "set_password", locked)
    assert make_key(tmp_path).place == "file"
    monkeypatch.setattr(ring, "get_password", locked)
    with pytest.raises(LedgerError, match="not in the keyring"):
        find_key(tmp_path, "keyring")


def test_a_user_can_do_without_the_keyring(
    tmp_path: Path, ring: FakeRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEIL_KEYRING", "off")
    assert make_key(tmp_path).place == "file"
    assert not ring.kept
    assert os.environ["VEIL_KEYRING"] == "off"


def test_decoys_are_even_and_stay(tmp_path: Path) -> None:
    words = KEY.words(tuple(f"word{i}" for i in range(3000)), "cmp")
    query, unrelated = KEY.query("one"), KEY.query("two")
    samples = [KEY.decoy(word, query, 10) for word in words]
    assert samples == [KEY.decoy(word, query, 10) for word in words]
    assert all(240 < samples.count(i) < 360 for i in range(10))
    other = make_key(tmp_path)
    assert samples != [other.decoy(word, query, 10) for word in words]
    same = sum(
        KEY.decoy(word, unrelated, 10) == item for word, item in zip(words, samples, strict=True)
    )
    assert 240 < same < 360  # by chance
