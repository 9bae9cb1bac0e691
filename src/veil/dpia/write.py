"""Write an assessment as HTML, Markdown or JSON for the PIA software of the CNIL.

The JSON has the format of that software's exports, which it can import. Its texts are HTML, so
answers are escaped and their paragraphs tagged.

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

_ID = 1  # of the only assessment in the file
_EDITED = 0  # status: not evaluated
REFERENCES = (111, 112, 113, 121, 122, 123, *range(211, 216), *range(221, 228))


def cnil(assessment: Assessment) -> str:
    """Return the JSON for the PIA software of the CNIL."""
    date = datetime.combine(assessment.day, time(), UTC).isoformat().replace("+00:00", "Z")
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
        "created_at": date,
        "updated_at": date,
    }
    document = {
        "pia": pia,
        "answers": [*_questions(assessment), *_events(assessment)],
        "measures": list(_measures(assessment)),
        "evaluations": [],
        "comments": [{"pia_id": _ID, "reference_to": 326, "for_measure": False, "created_at": date,
                      "description": _html(_closing(assessment))}],
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _answer(
    reference: int, lines: Sequence[str], gauge: int | None = None, listed: Sequence[str] = ()
) -> dict[str, Any]:
    data = {"text": _html(lines), "gauge": gauge, "list": list(listed)}
    return {"pia_id": _ID, "reference_to": reference, "data": data}


def _html(lines: Sequence[str]) -> str:
    return "".join(tag("p", line) for line in lines)


def _questions(assessment: Assessment) -> Iterator[dict[str, Any]]:
    """Yield the answers on context and principles. Several of our questions may share a number."""
    for reference in REFERENCES:
        questions = [item for item in QUESTIONS if item.reference == reference]
        lines: list[str] = []
        for item in questions:
            answer = paragraphs(assessment.stated(item.key))
            several = len(questions) > 1
            lines += [f"{item.asks} {answer[0]}", *answer[1:]] if several else answer
        yield _answer(reference, lines)


def _events(assessment: Assessment) -> Iterator[dict[str, Any]]:
    """Yield the answers about each feared event."""
    for event in EVENTS:
        answers = assessment.event(event)
        for key, (digit, _) in LISTED.items():
            entries = paragraphs(getattr(answers, key))
            listed = [] if entries == (GAP,) else entries
            yield _answer(event.tens + digit, () if listed else entries, None, listed)
        titles = _titles(assessment, event)
        yield _answer(event.tens + 4, () if titles else (GAP,), None, titles)
        yield _answer(event.tens + 5, paragraphs(answers.why), answers.severity)
        yield _answer(event.tens + 6, _likelihood(assessment, event), assessment.likelihood(event))


def _likelihood(assessment: Assessment, event: Event) -> Sequence[str]:
    if event.key == "access":
        return tuple(_figures(assessment))
    stated = assessment.likelihood(event) is not None
    return paragraphs(assessment.event(event).why) if stated else (GAP,)


def _figures(assessment: Assessment) -> Iterator[str]:
    """Yield the largest risk, and all other figures with their origin, as sentences."""
    yield " ".join(largest_risk(assessment))
    yield risk_origin(assessment)
    for part in measured_parts(assessment):
        match part:
            case Pairs(entries):
                yield "; ".join(f"{question}: {' '.join(answer)}" for question, answer in entries)
            case Grid(caption, heads, rows):
                yield f"{caption}:"
                for row in rows:
                    cells = zip(heads, row, strict=True)
                    yield "; ".join(f"{name}: {cell}" for name, cell in cells)
            case Items(entries):
                yield from (rest for _, rest in entries)
            case Paragraph(text, hint) if hint:
                yield text


def _titles(assessment: Assessment, event: Event) -> list[str]:
    """Return the measures against an event. Protection of releases is one against access."""
    titles = [
        printable(item.title) for item in assessment.answers.measures if event.key in item.against
    ]
    if event.key == "access":
        titles += [title for title, _ in protections(assessment)]
    return titles


def _measures(assessment: Assessment) -> Iterator[dict[str, Any]]:
    for item in assessment.answers.measures:
        yield _measure(printable(item.title), paragraphs(item.content))
    for title, lines in protections(assessment):
        yield _measure(title, lines)


def _measure(title: str, lines: Sequence[str]) -> dict[str, Any]:
    return {"pia_id": _ID, "title": title, "content": _html(lines), "placeholder": ""}


def _closing(assessment: Assessment) -> list[str]:
    missing = group_keys([printable(gap.what) for gap in assessment.gaps])
    return [
        f"Next review: {assessment.review.isoformat()}.",
        f"{GAP}: {missing}." if missing else "Every question has an answer.",
    ]


_WRITERS: dict[str, Callable[[Assessment], str]] = {
    ".html": lambda assessment: html(document(assessment)),
    ".md": lambda assessment: markdown(document(assessment)),
    ".json": cnil,
}


def dpia(study: str | Path | Mapping[str, Any], path: str | Path) -> Assessment:
    """Write an impact assessment, and return it.

    Parameters
    ----------
    study
        TOML file with a person's answers and the measured figures, or its keys.
    path
        Output file: a web page (``.html``), Markdown (``.md``), or JSON for the PIA software of
        the CNIL (``.json``).
    """
    file, target = load(study), Path(path)
    _check(target, file)
    assessment = assess_file(file)
    written = _WRITERS[target.suffix.lower()](assessment)
    if claims(written):
        raise InputError(
            "A name in the results claims legal compliance, which no figure proves. Rename it."
        )
    with whole_file(target, private=True) as part:
        part.write_text(written, encoding="utf-8", errors="replace")
    return assessment


def _check(target: Path, file: AnswersFile) -> None:
    """Raise, before any work, if the output is not writable or would overwrite an input."""
    if target.suffix.lower() not in _WRITERS:
        raise InputError(
            f"{target.name} must end in one of {', '.join(_WRITERS)}, which sets the format."
        )
    require_folder(target)
    if target.exists() and any(path.exists() and target.samefile(path) for path in file.inputs):
        raise InputError(f"The output would overwrite the input {target}. Choose another file.")
