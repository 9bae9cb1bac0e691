"""The secret behind the hashes of the ledger: in the user's keyring, or in a private file."""

import contextlib
import hashlib
import hmac
import os
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from veil.core.errors import LedgerError
from veil.corpus.tokens import tokens
from veil.data.files import whole_file
from veil.proxy.folder import require_private

Place = Literal["keyring", "file"]

FILE = "ledger.key"
_SERVICE = "veil-ledger"
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Key:
    """Makes hashes that say nothing to who does not have the key."""

    place: Place
    _secret: bytes = field(repr=False)

    def query(self, text: str) -> bytes:
        """Return the hash (16 bytes) of a query, whatever its order, case and punctuation.

        >>> key = Key("file", bytes(32))
        >>> key.query("Skin cancer, treatment") == key.query("treatment SKIN cancer")
        True
        """
        words = sorted(folded(text[token.start : token.end]) for token in tokens(text))
        return self._hash(b"query", "\n".join(words or [folded(text)]))

    def words(self, words: tuple[str, ...], setting: str) -> tuple[bytes, ...]:
        """Return a hash for each word of a text; a word that comes again has another one.

        Under another setting the hashes are others, so that draws of one word that are
        independent cannot be put together without the key.
        """
        counts: dict[str, int] = {}
        hashes = []
        for word in map(folded, words):
            counts[word] = counts.get(word, 0) + 1
            hashes.append(self._hash(b"word", f"{setting}\n{counts[word]}\n{word}"))
        return tuple(hashes)

    def terms(self, terms: Iterable[str]) -> bytes:
        """Return the hash of a list of terms, whatever its order."""
        return self._hash(b"terms", "\n".join(sorted(set(map(folded, terms)))))[:4]

    def decoy(self, word: bytes, query: bytes, count: int) -> int:
        """Return one of `count` numbers, as if drawn once for a word in a query.

        Both are given by their hashes. In another query the same word has another decoy, so that
        the two cannot be told to have a word in common.
        """
        both = word + query
        long = hashlib.blake2b(both, key=self._secret, digest_size=32, person=b"decoy").digest()
        return int.from_bytes(long) % count

    @property
    def sign(self) -> bytes:
        """Return what tells this key from others, and nothing about it."""
        return self._hash(b"sign", "")

    def fits(self, sign: bytes) -> bool:
        """Whether this is the key that a ledger was made with."""
        return hmac.compare_digest(self.sign, sign)

    def _hash(self, kind: bytes, text: str) -> bytes:
        plain = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(plain, key=self._secret, digest_size=16, person=kind).digest()


def folded(word: str) -> str:
    """Return a word as it is compared: in one spelling of its letters, without case."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def make_key(folder: Path) -> Key:
    """Make a key for a new ledger: in the keyring if there is one, else in a 0600 file."""
    secret = secrets.token_bytes(_BYTES)
    if _store(folder, secret):
        return Key("keyring", secret)
    with whole_file(folder / FILE, private=True) as part:
        part.write_bytes(secret)
    return Key("file", secret)


def find_key(folder: Path, place: Place) -> Key:
    """Return the key of a ledger, or say why it cannot be had."""
    secret = _stored(folder) if place == "keyring" else _read(folder / FILE)
    if len(secret) != _BYTES:
        where = "in the keyring" if place == "keyring" else f"at {folder / FILE}"
        raise LedgerError(
            f"The key of the ledger is not {where}, so that what was released cannot be told;"
            " bring it back, or start anew, with nothing known of what was released before: veil"
            " ledger forget --all."
        )
    return Key(place, secret)


def has_key(folder: Path) -> bool:
    """Whether there is anything that may be the key of a ledger in this folder."""
    return (folder / FILE).exists() or bool(_stored(folder))


def drop_key(folder: Path) -> bool:
    """Remove the key wherever it is; every hash is then worth nothing. False if there was none."""
    there = has_key(folder)
    (folder / FILE).unlink(missing_ok=True)
    ring = _keyring()
    if ring is not None:
        with contextlib.suppress(Exception):  # not there, or locked: told below
            ring.delete_password(_SERVICE, _account(folder))
        if _stored(folder):
            raise LedgerError(
                "The key of the ledger could not be removed from the keyring; unlock it, then try"
                " again."
            )
    return there


def _read(path: Path) -> bytes:
    try:
        require_private(path, path.stat().st_mode)
        return path.read_bytes() if path.stat().st_size == _BYTES else b""
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise LedgerError(
            f"The key of the ledger at {path} cannot be read ({error.strerror})."
        ) from None


class _Ring:
    """What is used of the `keyring` package."""

    def __init__(self) -> None:
        import keyring

        self._ring = keyring.get_keyring()
        self.usable = float(getattr(self._ring, "priority", 0) or 0) > 0

    def get_password(self, service: str, account: str) -> str | None:
        return self._ring.get_password(service, account)

    def set_password(self, service: str, account: str, value: str) -> None:
        self._ring.set_password(service, account, value)

    def delete_password(self, service: str, account: str) -> None:
        self._ring.delete_password(service, account)


def _keyring() -> _Ring | None:
    """Return the user's keyring, or None where there is none that keeps secrets."""
    if os.environ.get("VEIL_KEYRING") == "off":
        return None
    try:
        ring = _Ring()
    except Exception:  # noqa: BLE001 - not installed, or its service does not answer
        return None
    return ring if ring.usable else None


def _store(folder: Path, secret: bytes) -> bool:
    ring = _keyring()
    if ring is None:
        return False
    try:
        ring.set_password(_SERVICE, _account(folder), secret.hex())
        return ring.get_password(_SERVICE, _account(folder)) == secret.hex()
    except Exception:  # noqa: BLE001 - locked, or no service: the file is as good a place
        return False


def _stored(folder: Path) -> bytes:
    ring = _keyring()
    try:
        value = ring.get_password(_SERVICE, _account(folder)) if ring is not None else None
        return bytes.fromhex(value or "")
    except Exception:  # noqa: BLE001 - told by the caller, without what the backend says
        return b""


def _account(folder: Path) -> str:
    return str(folder.resolve())
