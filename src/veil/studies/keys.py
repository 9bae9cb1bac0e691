"""The names of steps: one digest of all that changes a result, made in one way for all domains."""

import hashlib
import json
from collections.abc import Iterable, Mapping

from veil.core.errors import ParameterError


def step_key(kind: str, version: int, made_from: Mapping[str, object]) -> str:
    """Return the digest of a canonical form: the order in which things were named is no part.

    `version` is the domain's number for what a step of that kind computes; a change of that needs
    a new number.
    """
    whole = {"kind": kind, "version": version, **made_from}
    try:
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(
            "A step of a study has a parameter that has no written form."
        ) from None
    return hashlib.sha256(text.encode()).hexdigest()


def digest(parts: Iterable[str]) -> str:
    """Return the digest of texts in their order, told apart whatever they hold."""
    made = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "little") + data)
    return made.hexdigest()
