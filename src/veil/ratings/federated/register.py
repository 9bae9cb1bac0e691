"""Keys that are known beforehand: a client's own, and the public ones of all."""

from pathlib import Path

from veil.core.errors import InputError
from veil.data.files import whole_file
from veil.data.lines import read_lines
from veil.ratings.federated.primitives import KEY, fresh


def read_register(path: Path) -> dict[int, bytes]:
    """Return the public keys of a file by number: the first line is client 1."""
    found = [_key(line.strip(), path) for line in read_lines(path) if line.strip()]
    if len(set(found)) < len(found) or len(found) < 2:
        raise InputError(f"{path.name} must hold two or more keys, each of them once.")
    return dict(enumerate(found, 1))


def own_key(path: Path) -> bytes:
    """Read the private key of a file that its owner alone can read; make it if there is none."""
    if not path.exists():
        with whole_file(path, private=True) as part:
            part.write_text(fresh().hex() + "\n", encoding="ascii")
    if path.stat().st_mode & 0o077:
        raise InputError(f"{path.name} can be read by others; make it yours alone (chmod 600).")
    return _key(path.read_text(encoding="utf-8", errors="replace").strip(), path)


def _key(text: str, path: Path) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY:
        raise InputError(
            f"{path.name} must hold keys of {2 * KEY} hexadecimal digits, one a line."
        )
    return key
