"""Write an assessment as HTML, Markdown or JSON for the PIA software of the CNIL.

The assessment in the shape of what the PIA software of the CNIL exports, which it can import.
The texts of that software are HTML: answers are escaped, and their paragraphs marked.

References
----------
CNIL. Open source PIA software, version 3. https://www.cnil.fr/en/open-source-pia-software-helps-carry-out-data-protection-impact-assesment
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.core.formatting import printable
from veil.data.files import require_folder, whole_file
from veil.dpia.answers import EVENTS, GAP, LISTED, PEOPLE, QUESTIONS, Event
from veil.dpia.assessment import Assessment, assess_file
from veil.dpia.document import Grid, Items, Pairs, Paragraph, html, markdown
from veil.dpia.load import AnswersFile, claims, load
from veil.dpia.report import (
    document,
    group_keys,
    largest_risk,
    measured_parts,
    paragraphs,
    protections,
    risk_origin,
)
from veil.drawing.markup import tag

_ID = 1  # of the assessment: a file holds one
_EDITED = 0  # the status of an assessment that nobody has looked at
REFERENCES = (111, 112, 113, 121, 122, 123, *range(211, 216), *range(221, 228))


def cnil(assessment: Assessment) -> str:
    """Write the JSON."""
    made = datetime.combine(assessment.day, time(), UTC).isoformat().replace("+00:00", "Z")
    people = {
        f"{key}_name": " ".join(paragraphs(getattr(assessment.answers.people, key)))
        for key in PEOPLE
    }
    pia = {
        "id": _ID,
        "name": printable(assessment.title),
        "status": _EDITED,
        "is_example": 0,
        "category": "",
        **people,
        "dpo_status": None,
        "dpo_opinion": "",
        "dpos_names": "",
        "concerned_people_searched_opinion": None,
        "concerned_people_searched_content": "",
        "concerned_people_opinion": _html(paragraphs(assessment.answers.stakeholders)),
        "concerned_people_status": None,
        "people_names": "",
        "rejection_reason": "",
        "applied_adjustments": "",
        "created_at": made,
        "updated_at": made,
    }
    document = {
        "pia": pia,
        "answers": [*_questions(assessment), *_events(assessment)],
        "measures": list(_measures(assessment)),
        "evaluations": [],
        "comments": [{"pia_id": _ID, "reference_to": 326, "for_measure": False, "created_at": made,
                      "description": _html(_closing(assessment))}],
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _answer(
    reference: int, told: Sequence[str], gauge: int | None = None, listed: Sequence[str] = ()
) -> dict[str, Any]:
    data = {"text": _html(told), "gauge": gauge, "list": list(listed)}
    return {"pia_id": _ID, "reference_to": reference, "data": data}


def _html(told: Sequence[str]) -> str:
    return "".join(tag("p", line) for line in told)


def _questions(assessment: Assessment) -> Iterator[dict[str, Any]]:
    """Answer the questions on context and principles; some have several of ours."""
    for reference in REFERENCES:
        mine = [one for one in QUESTIONS if one.reference == reference]
        told: list[str] = []
        for one in mine:
            found = paragraphs(assessment.stated(one.key))
            told += [f"{one.asks} {found[0]}", *found[1:]] if len(mine) > 1 else found
        yield _answer(reference, told)


def _events(assessment: Assessment) -> Iterator[dict[str, Any]]:
    """Answer what is asked of each event that is feared."""
    for event in EVENTS:
        said = assessment.event(event)
        for key, (digit, _) in LISTED.items():
            found = paragraphs(getattr(said, key))
            listed = [] if found == (GAP,) else found
            yield _answer(event.tens + digit, () if listed else found, None, listed)
        titles = _titles(assessment, event)
        yield _answer(event.tens + 4, () if titles else (GAP,), None, titles)
        yield _answer(event.tens + 5, paragraphs(said.why), said.severity)
        yield _answer(event.tens + 6, _likelihood(assessment, event), assessment.likelihood(event))


def _likelihood(assessment: Assessment, event: Event) -> Sequence[str]:
    if event.key == "access":
        return tuple(_figures(assessment))
    stated = assessment.likelihood(event) is not None
    return paragraphs(assessment.event(event).why) if stated else (GAP,)


def _figures(assessment: Assessment) -> Iterator[str]:
    """Yield the largest risk, and every other figure with how it was made, as sentences."""
    yield " ".join(largest_risk(assessment))
    yield risk_origin(assessment)
    for part in measured_parts(assessment):
        match part:
            case Pairs(entries):
                yield "; ".join(f"{asked}: {' '.join(told)}" for asked, told in entries)
            case Grid(caption, heads, rows):
                yield f"{caption}:"
                for row in rows:
                    yield "; ".join(f"{name}: {one}" for name, one in zip(heads, row, strict=True))
            case Items(entries):
                yield from (rest for _, rest in entries)
            case Paragraph(text, hint) if hint:
                yield text


def _titles(assessment: Assessment, event: Event) -> list[str]:
    """Return the measures against an event; what protects releases is against access."""
    found = [
        printable(one.title) for one in assessment.answers.measures if event.key in one.against
    ]
    if event.key == "access":
        found += [title for title, _ in protections(assessment)]
    return found


def _measures(assessment: Assessment) -> Iterator[dict[str, Any]]:
    for one in assessment.answers.measures:
        yield _measure(printable(one.title), paragraphs(one.content))
    for title, told in protections(assessment):
        yield _measure(title, told)


def _measure(title: str, told: Sequence[str]) -> dict[str, Any]:
    return {"pia_id": _ID, "title": title, "content": _html(told), "placeholder": ""}


def _closing(assessment: Assessment) -> list[str]:
    missing = group_keys([printable(gap.what) for gap in assessment.gaps])
    return [
        f"Next review: {assessment.review.isoformat()}.",
        f"{GAP}: {missing}." if missing else "Every question has an answer.",
    ]


_WRITERS: dict[str, Callable[[Assessment], str]] = {
    ".html": lambda found: html(document(found)),
    ".md": lambda found: markdown(document(found)),
    ".json": cnil,
}


def dpia(study: str | Path | Mapping[str, Any], path: str | Path) -> Assessment:
    """Write the impact assessment of a study, and return what it says.

    Parameters
    ----------
    study
        TOML file of a person's answers and of what was measured, or its keys.
    path
        Where it is written, by its ending: a page (``.html``), Markdown (``.md``), or the JSON
        of the PIA software of the CNIL (``.json``).
    """
    asked, target = load(study), Path(path)
    _check(target, asked)
    found = assess_file(asked)
    written = _WRITERS[target.suffix.lower()](found)
    if claims(written):
        raise InputError(
            "A name in the results says that something complies with the law, which no figure"
            " shows; rename it."
        )
    with whole_file(target, private=True) as part:
        part.write_text(written, encoding="utf-8", errors="replace")
    return found


def _check(target: Path, asked: AnswersFile) -> None:
    """Refuse, before any work, what cannot be written or would replace an input."""
    if target.suffix.lower() not in _WRITERS:
        raise InputError(
            f"{target.name} must end in one of {', '.join(_WRITERS)}, which tells the format."
        )
    require_folder(target)
    if target.exists() and any(one.exists() and target.samefile(one) for one in asked.inputs):
        raise InputError(f"{target} is read for the assessment; name another file to write to.")
