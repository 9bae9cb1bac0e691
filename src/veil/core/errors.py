"""All errors that a user can cause; each message says what to do.

::

    VeilError
    ├── ParameterError      a parameter out of its range, or of the wrong type
    ├── UnknownNameError    no component of that name
    ├── InputError          a text, a table or a vectors file that cannot be used
    │   ├── UnprotectedError  a text of which nothing would be protected
    │   ├── GateError       a rule of the user's own refuses to send a query
    │   ├── RiskError       a local attacker guesses a query from its variants
    │   └── UncertifiedError  no configuration is certified to keep a bound (veil.studies.choose)
    ├── LawError            the mechanism has no closed-form output distribution
    ├── EngineError         an engine gave no answer, or an unusable one
    │   └── NoAnswer        one query had no answer (veil.search.engines.network.remote)
    ├── StepError           a step of a study failed with an unexpected error
    ├── TrustError          a string that was not released was about to leave
    ├── AssetError          a download failed
    ├── RefusedError        a query to a database was refused (veil.dp)
    ├── ProtocolError       a party does not follow a protocol (veil.ratings.federated)
    │   └── VoidError       a round had too few survivors, and nothing of it was opened
    ├── BudgetError         a release would cost more than the remaining budget
    ├── LedgerError         the ledger of releases cannot be used
    │   └── StaleError      another process released the same query meanwhile (veil.proxy.ledger)
    └── MissingExtraError   an optional dependency is not installed

No message quotes a text to be protected, because messages end up in logs.
"""

import json
import re
import shlex
import traceback
from functools import cache
from pathlib import Path
from typing import TypeVar


def error_location(error: BaseException) -> str:
    """Return the location of an unexpected error without its message, which may quote a text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"internal error ({type(error).__name__}{where})"


class VeilError(Exception):
    """The family of all errors raised on purpose."""


Error = TypeVar("Error", bound=VeilError)


def with_message(error: Error, message: str) -> Error:
    """Return a copy of the error with another message, without calling its constructor.

    >>> str(with_message(UnprotectedError(3), "Query 3 cannot be sent."))
    'Query 3 cannot be sent.'
    """
    copy = type(error).__new__(type(error))
    vars(copy).update(vars(error))
    copy.args = (message,)
    return copy


class ParameterError(VeilError, ValueError):
    """A parameter is out of its range or of the wrong type."""


class UnknownNameError(VeilError, LookupError):
    """There is no component of that name."""


class InputError(VeilError, ValueError):
    """A text, a table or a file of vectors cannot be used."""


class UnprotectedError(InputError):
    """Nothing in a text would be protected; `number` is its position, from 1.

    `where` replaces the number in the message.
    """

    def __init__(self, number: int, where: str = "") -> None:
        called = where or f"Text {number:,}"
        super().__init__(
            f"{called} has no word that would be protected, so it would be released unprotected."
            " Select other words, remove it, or allow that: in_clear=True, --in-clear."
        )
        self.number, self.where = number, where

    def __reduce__(self) -> tuple[type["UnprotectedError"], tuple[int, str]]:
        return type(self), (self.number, self.where)


class LawError(VeilError):
    """The mechanism has no law in closed form."""


class EngineError(VeilError):
    """An engine gave no answer, or an unusable one.

    `sent` is the number of queries that left this machine anyway; None if unknown.
    """

    def __init__(self, *words: object, sent: int | None = None) -> None:
        super().__init__(*words)
        self.sent = sent


class StepError(VeilError):
    """A step of a study failed; finished results are kept."""


class TrustError(VeilError, TypeError):
    """A string that was not released, or only for experiments, was about to leave."""


class AssetError(VeilError):
    """A required download failed."""


_EXTRA = re.compile(r"pip install 'veil\[([a-z,]+)\]'")


def fit_install_hint(message: str) -> str:
    """Replace ``pip install 'veil[...]'`` by the command for this installation."""
    return _EXTRA.sub(lambda found: install_hint(found[1]), message)


@cache
def install_hint(extras: str) -> str:
    """Return the command that adds extras to this installation of Veil.

    It names the folder, file or repository that Veil was installed from, according to pip. If
    that is unknown or missing, it names the package on the index.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # slow, and seldom needed

    try:
        note = json.loads(distribution("veil").read_text("direct_url.json") or "{}")
        url = str(note.get("url", ""))
        if "vcs_info" in note:
            ref = note["vcs_info"].get("requested_revision") or note["vcs_info"]["commit_id"]
            requirement = f"veil[{extras}] @ {note['vcs_info']['vcs']}+{url}@{ref}"
            return f"pip install {shlex.quote(requirement)}"
        place = _local_path(url)
        if place is None and "archive_info" in note:
            return f"pip install {shlex.quote(f'veil[{extras}] @ {url}')}"
        editable = "-e " if note.get("dir_info", {}).get("editable") else ""
    except (PackageNotFoundError, ValueError, LookupError, AttributeError, TypeError, OSError):
        place, editable = None, ""
    if place is None or not place.exists():
        return f"pip install 'veil[{extras}]'"
    return f"pip install {editable}{shlex.quote(f'{place}[{extras}]')}"


def _local_path(url: str) -> Path | None:
    """Return the path of a file: address, or None for another one."""
    if not url.startswith("file:///"):
        return None
    coded = url.removeprefix("file://").encode()
    path = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), coded).decode()
    return Path(path[1:] if re.match(r"/[A-Za-z]:/", path) else path)


class MissingExtraError(VeilError, ImportError):
    """An optional dependency is not installed.

    ``pip install 'veil[...]'`` in the message becomes what fits this installation.
    """

    def __init__(self, message: str) -> None:
        super().__init__(fit_install_hint(message))


class BudgetError(VeilError):
    """A release would cost more than the remaining budget."""


class RefusedError(VeilError):
    """A query was refused: it is not allowed, or its answer would reveal too much."""


class GateError(InputError):
    """One of the user's rules refuses to send the query in any form."""


class RiskError(InputError):
    """A local attacker guesses the query from the variants within the bound that was set."""


class LedgerError(VeilError):
    """The ledger cannot be used: it is damaged, its key is missing, or others can read it."""
