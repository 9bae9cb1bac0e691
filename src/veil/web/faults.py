"""What becomes of an error: a status, and one sentence that quotes nothing.

Whatever goes wrong, no exception leaves the application: a server that catches it would write
its message and its traceback to a log, and a message can quote a text.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from veil.core.errors import (
    AssetError,
    BudgetError,
    EngineError,
    GateError,
    LedgerError,
    MissingExtraError,
    RiskError,
    TrustError,
    VeilError,
    place,
)
from veil.web import pages
from veil.web.messages import (
    ASGIApp,
    Message,
    Receive,
    Response,
    Scope,
    Send,
    document,
    is_program,
    page,
)

Kind = Literal["budget", "gate", "risk", "engine", "input", "busy", "server"]

_JUDGED: tuple[tuple[type[VeilError], int, Kind], ...] = (  # the first that fits
    (BudgetError, 403, "budget"),
    (GateError, 403, "gate"),
    (RiskError, 403, "risk"),
    (EngineError, 502, "engine"),
    (AssetError, 500, "server"),
    (LedgerError, 500, "server"),
    (MissingExtraError, 500, "server"),
    (TrustError, 500, "server"),
    (VeilError, 422, "input"),  # a text or a parameter
)


class StatusError(VeilError):
    """A request that is not served, with the status that says so."""

    def __init__(self, status: int, message: str, kind: Kind = "input", **headers: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class GoneError(VeilError):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is answered in place of what was asked for."""

    status: int
    kind: Kind
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


def judge(error: Exception) -> Verdict:
    """Say what an error means to who asked."""
    if isinstance(error, StatusError):
        return Verdict(error.status, error.kind, str(error), error.headers)
    for family, status, kind in _JUDGED:
        if isinstance(error, family):
            return Verdict(status, kind, str(error))
    return Verdict(500, "server", f"{place(error)}.")


def rendered(verdict: Verdict, path: str) -> Response:
    """Make the response: JSON for programs, a page for people."""
    if is_program(path):
        told = json.dumps({"error": verdict.message, "kind": verdict.kind}, ensure_ascii=False)
        return document(told.encode("utf-8", "replace"), verdict.status, verdict.headers)
    return page(pages.error(verdict.status, verdict.message), verdict.status, verdict.headers)


class Faults:
    """Turn every error of the application into a response.

    `note` is told where unexpected errors arose, for the person who runs the server.
    """

    def __init__(self, app: ASGIApp, note: Callable[[str], None]) -> None:
        self._app, self._note = app, note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and let no error out."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except GoneError:
            return
        except Exception as error:  # noqa: BLE001 - the last line: nothing may pass
            verdict = judge(error)
            if verdict.status == 500:
                self._note(verdict.message)
            if not started:
                with suppress(Exception):  # who asked is gone, or there is no page for it
                    await rendered(verdict, scope["path"])(scope, receive, send)
