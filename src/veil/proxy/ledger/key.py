"""The secret key of the ledger's hashes, in the user's keyring or in a private file."""

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
    """Computes hashes that reveal nothing without the key."""

    place: Place
    _secret: bytes = field(repr=False)

    def query(self, text: str) -> bytes:
        """Return the hash (16 bytes) of a query, ignoring word order, case and punctuation.

        >>> key = Key("file", bytes(32))
        >>> key.query("Skin cancer, treatment") == key.query("treatment SKIN cancer")
        True
        """
        words = sorted(folded(text[token.start : token.end]) for token in tokens(text))
        return self._hash(b"query", "\n".join(words or [folded(text)]))

    def words(self, words: tuple[str, ...], setting: str) -> tuple[bytes, ...]:
        """Return a hash for each word of a text; repetitions of a word get different hashes.

        The hashes depend on the setting, so that independent samples of the same word cannot be
        linked without the key.
        """
        counts: dict[str, int] = {}
        hashes = []
        for word in map(folded, words):
            counts[word] = counts.get(word, 0) + 1
            hashes.append(self._hash(b"word", f"{setting}\n{counts[word]}\n{word}"))
        return tuple(hashes)

    def terms(self, terms: Iterable[str]) -> bytes:
        """Return the hash of a set of terms."""
        return self._hash(b"terms", "\n".join(sorted(set(map(folded, terms)))))[:4]

    def decoy(self, word: bytes, query: bytes, count: int) -> int:
        """Return a pseudorandom number below `count` for a word in a query.

        Word and query are hashes. In another query the same word has another decoy, so the decoys
        do not reveal that two queries share a word.
        """
        pair = word + query
        digest = hashlib.blake2b(pair, key=self._secret, digest_size=32, person=b"decoy").digest()
        return int.from_bytes(digest) % count

    @property
    def sign(self) -> bytes:
        """A fingerprint that distinguishes keys and reveals nothing about them."""
        return self._hash(b"sign", "")

    def fits(self, sign: bytes) -> bool:
        """Return whether the ledger was created with this key."""
        return hmac.compare_digest(self.sign, sign)

    def _hash(self, kind: bytes, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._secret, digest_size=16, person=kind).digest()


def folded(word: str) -> str:
    """Return a word in the form that is compared: NFKC, case-folded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def make_key(folder: Path) -> Key:
    """Create a key for a new ledger: in the keyring, or else in a file of mode 0600."""
    secret = secrets.token_bytes(_BYTES)
    if _store(folder, secret):
        return Key("keyring", secret)
    with whole_file(folder / FILE, private=True) as part:
        part.write_bytes(secret)
    return Key("file", secret)


def find_key(folder: Path, place: Place) -> Key:
    """Return the key of a ledger, or raise an error if it is unavailable."""
    secret = _stored(folder) if place == "keyring" else _read(folder / FILE)
    if len(secret) != _BYTES:
        where = "in the keyring" if place == "keyring" else f"at {folder / FILE}"
        raise LedgerError(
            f"The key of the ledger is not {where}, so past releases are unknown. Restore it, or"
            " start over without any record of earlier releases: veil ledger forget --all."
        )
    return Key(place, secret)


def has_key(folder: Path) -> bool:
    """Return whether the folder or the keyring may hold a ledger key."""
    return (folder / FILE).exists() or bool(_stored(folder))


def drop_key(folder: Path) -> bool:
    """Delete the key from file and keyring; return whether there was one.

    Without the key, the hashes are useless.
    """
    existed = has_key(folder)
    (folder / FILE).unlink(missing_ok=True)
    ring = _keyring()
    if ring is not None:
        with contextlib.suppress(Exception):  # missing, or locked: see below
            ring.delete_password(_SERVICE, _account(folder))
        if _stored(folder):
            raise LedgerError(
                "The key of the ledger could not be removed from the keyring. Unlock the"
                " keyring, then try again."
            )
    return existed


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
    """The part of the `keyring` package that is used."""

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
    """Return the user's keyring, or None if there is none that keeps secrets."""
    if os.environ.get("VEIL_KEYRING") == "off":
        return None
    try:
        ring = _Ring()
    except Exception:  # noqa: BLE001 - not installed, or its service is not running
        return None
    return ring if ring.usable else None


def _store(folder: Path, secret: bytes) -> bool:
    ring = _keyring()
    if ring is None:
        return False
    try:
        ring.set_password(_SERVICE, _account(folder), secret.hex())
        return ring.get_password(_SERVICE, _account(folder)) == secret.hex()
    except Exception:  # noqa: BLE001 - locked, or no service: a file is as good
        return False


def _stored(folder: Path) -> bytes:
    ring = _keyring()
    try:
        value = ring.get_password(_SERVICE, _account(folder)) if ring is not None else None
        return bytes.fromhex(value or "")
    except Exception:  # noqa: BLE001 - the caller reports it without the backend's message
        return b""


def _account(folder: Path) -> str:
    return str(folder.resolve())
