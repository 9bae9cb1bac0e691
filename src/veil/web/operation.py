"""One address of the interface for programs: what it takes, does and returns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from veil.web.asks import Ask
from veil.web.service import Service


@dataclass(frozen=True, slots=True)
class Operation:
    """One address of the interface.

    Attributes
    ----------
    run
        Does the work, and may block.
    ask, answer
        What it takes, in the body or in the address, and what it returns.
    sends
        Whether an engine is asked, so that it can fail or be refused.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    run: Callable[[Service, Any], BaseModel]
    ask: type[Ask]
    answer: type[BaseModel]
    sends: bool = False


def alone(work: Callable[[Any], BaseModel]) -> Callable[[Service, Any], BaseModel]:
    """Return work that needs nothing of the service."""
    return lambda _, ask: work(ask)
