"""A small study and answers for it, for the tests of assessments."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from veil.dpia.write import dpia
from veil.studies.export import export
from veil.studies.results import PLAIN, Card, Results, Row

PLAIN_ROW = Row("people", "", PLAIN, PLAIN, "", 0.0, 1, "risk", "success", "linkage",
                0.9, 0.8, 0.95, 200, 0.01, domain="tables")  # fmt: skip
RISK = replace(PLAIN_ROW, mechanism="mdav", spec="mdav(k=3)", score=0.04, low=0.03, high=0.06)
UTILITY = replace(
    RISK, kind="utility", measure="information kept", attacker="", score=0.8, chance=None
)
ROWS = (PLAIN_ROW, RISK, replace(RISK, attacker="attribute", score=0.02), UTILITY)
CARDS = (Card("mdav(k=3)", "k-anonymity", None, "k-anonymity: k = 3", "", "Not all.", "record"),)
FACTS = (("command", "veil tables plane people.csv"), ("seed", "4"), ("veil", "9.9"))
STUDY = Results("people", ROWS, cards=CARDS, facts=FACTS, domain="tables",
                worst=(("mdav(k=3)", 1, "linkage", 0.625),))  # fmt: skip
QUESTIONS = (
    "name description controller processor legal_basis standards data purposes collection storage"
    " access querying assets recipients retention minimisation accuracy information consent"
    " access_rights rectification objection contracts transfers stakeholders"
).split()


def study(folder: Path, found: Results = STUDY, name: str = "out") -> dict[str, Any]:
    """Write the results of a study, and return keys that name them."""
    export(found, folder / name)
    return {"date": "2025-01-31", "studies": [{"results": str(folder / name)}]}


def full(folder: Path) -> dict[str, Any]:
    """Return keys that leave nothing open."""
    fear = {key: ["x"] for key in ("why", "impacts", "threats", "sources")} | {"severity": 2}
    return {
        **study(folder),
        **{key: f"The {key}." for key in QUESTIONS},
        "people": {"author": "Ann", "evaluator": "Eve", "validator": "Val"},
        "risks": {
            "access": fear,
            "modification": {**fear, "likelihood": 1},
            "loss": {**fear, "likelihood": 3},
        },
        "measures": [
            {"title": "Locks", "content": "Doors are locked.", "against": ["modification", "loss"]}
        ],
        "studies": [{"results": str(folder / "out"), "spec": "mdav(k=3)"}],
    }


def written(keys: dict[str, Any], folder: Path) -> dict[str, str]:
    """Write all three documents, and return their texts by ending."""
    made = {}
    for ending in ("html", "md", "json"):
        dpia(keys, folder / f"dpia.{ending}")
        made[ending] = (folder / f"dpia.{ending}").read_text("utf-8")
    return made


def answers(keys: dict[str, Any], folder: Path) -> dict[int, dict[str, Any]]:
    """Return the answers of the JSON by their number."""
    document = json.loads(written(keys, folder)["json"])
    return {one["reference_to"]: one["data"] for one in document["answers"]}
