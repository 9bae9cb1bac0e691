"""What was typed: texts, one file, or standard input. A mistyped file name is not a text.

What may be a text is not quoted: messages end up in logs.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from veil.core.errors import InputError
from veil.data.lines import UNREAD, suffix_of
from veil.data.records import READABLE

_SUFFIXES = {*READABLE, *UNREAD, ".gz", ".text", ".md", ".log", ".dat"}
_PATH = re.compile(r"(~|\.{0,2})[/\\]|[A-Za-z]:[/\\]")  # how a path begins
_AS_TEXT = "pass a text with --text"


@dataclass(frozen=True)
class Given:
    """Texts, or else a file, or else (neither) standard input."""

    texts: tuple[str, ...] = ()
    path: Path | None = None


def read_given(arguments: tuple[str, ...], texts: tuple[str, ...]) -> Given:
    """Tell what the arguments are; `texts` are those of --text, which are texts for certain."""
    if not (arguments or texts):
        raise InputError("Missing TEXTS; see --help.")
    kinds = [_kind(argument) for argument in arguments]
    if set(kinds) <= {"text"}:
        return Given((*arguments, *texts))
    if set(kinds) == {"file"} and len(kinds) > 1 and not texts:
        raise InputError("Give one file; a file is protected alone, each by a command of its own.")
    if len(arguments) + len(texts) > 1:
        raise InputError(
            "Give either texts or one file, not both; a file is protected alone, and a text goes"
            " by --text or has a space in it."
        )
    return Given() if arguments[0] == "-" else Given(path=Path(arguments[0]))


def _kind(argument: str) -> str:
    """Return text or file; raise where it is neither."""
    if argument == "-":
        return "file"
    path, spaced = Path(argument), any(map(str.isspace, argument))
    meant = Path(argument.strip())  # a blank at an end is a slip of the hand
    try:
        folder, there = path.is_dir(), path.exists()
        inside = path.name != argument and path.parent.is_dir()
        inside = inside or (meant != path and argument.strip() != "" and meant.exists())
    except (OSError, ValueError):  # a sentence can be too long for a file name
        folder = there = inside = False
    if folder and argument:
        raise InputError(f"{path} is a folder; name a file of texts, or {_AS_TEXT}.")
    if there and argument:
        return "file"
    named = inside or suffix_of(meant) in _SUFFIXES or bool(_PATH.match(argument.strip()))
    if spaced and not named:
        return "text"
    shown = f"There is no file {path}" if named and not spaced else "There is no such file"
    hint = f"check the path, or {_AS_TEXT}" if named else f"{_AS_TEXT}, or with a space in it"
    raise InputError(f"{shown}; {hint}.")
