"""Read the queries of a log: from a text file, or from ir_datasets."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from veil.core.errors import AssetError, InputError, MissingExtraError, UnknownNameError


def read_log(name: str) -> Iterator[str]:
    """Yield the queries of ``irds:ID``, or of a file with one per line, also a compressed one."""
    if name.startswith("irds:"):
        return _irds(name.removeprefix("irds:"))
    return _lines(Path(name))


def _irds(identifier: str) -> Iterator[str]:
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtraError(
            "A log of ir_datasets needs it: pip install 'veil[irds]'."
        ) from None
    try:
        for query in ir_datasets.load(identifier).queries_iter():
            yield str(query.default_text())
    except (KeyError, AttributeError):
        raise UnknownNameError(
            f"ir_datasets knows no queries of '{identifier[:60]}'; see its catalogue for the ids."
        ) from None
    except (OSError, RuntimeError) as error:
        raise AssetError(
            f"The log irds:{identifier} could not be had ({type(error).__name__}); check the"
            " connection, and what ir_datasets says about its licence."
        ) from None


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, also a compressed one."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"The log {path.name} cannot be read after line {number:,} ({type(error).__name__})."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"Line {number:,} of the log {path.name} is not UTF-8.") from None
