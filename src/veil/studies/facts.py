"""How the figures of a study were made, as a file beside its tables.

A table of figures says what was measured. What it takes to repeat or to judge them stands here:
the command, the seed, the version, and what is proved of each configuration. No example and no
part of the data is in it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.data.files import whole_file
from veil.studies.table import Results

FILE = "facts.json"
_MOST = 2**23  # characters of the file
_KEPT = ("command", "veil", "seed")  # of the facts of a study


@dataclass(frozen=True, slots=True)
class Claim:
    """What is proved of all releases of one subject, and what is not covered."""

    kind: str
    total: str
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """How figures were made; what is not known is empty.

    Attributes
    ----------
    command, seed, veil
        What was typed; the seed of the draws; the version.
    claims
        By spec and number of releases.
    notes
        Sentences that a reader of the figures must know.
    worst
        The highest risk of a single subject, by spec, number of releases and attacker.
    """

    name: str = ""
    command: str = ""
    seed: str = ""
    veil: str = ""
    claims: Mapping[tuple[str, int], Claim] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    worst: Mapping[tuple[str, int, str], float] = field(default_factory=dict)


def facts_of(found: Results) -> Facts:
    """Return how the figures of a study were made."""
    known = {name: value for name, value in found.facts if name in _KEPT}
    claims = {
        (card.spec, card.size): Claim(card.kind, card.total, card.caveat) for card in found.cards
    }
    worst = {(spec, size, by): risk for spec, size, by, risk in found.worst}
    return Facts(found.name, **known, claims=claims, notes=found.notes, worst=worst)


def write_facts(found: Results, folder: Path) -> Path:
    """Write them into a folder, whole or not at all, for their owner alone."""
    facts, path = facts_of(found), folder / FILE
    claims = [
        {"spec": spec, "size": size, **asdict(claim)}
        for (spec, size), claim in facts.claims.items()
    ]
    document = {
        "name": facts.name,
        **{key: getattr(facts, key) for key in _KEPT},
        "claims": claims,
        "notes": list(facts.notes),
        "worst": [[*place, risk] for place, risk in facts.worst.items()],
    }
    with whole_file(path, private=True) as part:
        part.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def read_facts(folder: Path) -> Facts:
    """Read them; of tables that were written without them nothing is known."""
    path = folder / FILE
    if not path.is_file():
        return Facts()
    try:
        with path.open(encoding="utf-8") as file:
            return _read(json.loads(file.read(_MOST)))  # a longer one is cut, and no JSON
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise InputError(
            f"{path} does not say how figures were made; run the study again."
        ) from None


def _read(document: Any) -> Facts:  # noqa: ANN401 - whatever the file holds
    claims = {
        (str(one["spec"]), int(one["size"])): Claim(
            str(one["kind"]), str(one["total"]), str(one["caveat"])
        )
        for one in document["claims"]
    }
    known = {key: str(document[key]) for key in ("name", *_KEPT)}
    worst = {
        (str(spec), int(size), str(by)): float(risk) for spec, size, by, risk in document["worst"]
    }
    return Facts(**known, claims=claims, notes=tuple(map(str, document["notes"])), worst=worst)
