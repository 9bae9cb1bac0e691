"""Combine answers and measured figures: likelihoods, largest risk and gaps."""

import calendar
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from veil.dpia.answers import (
    EVENTS,
    GAP,
    LISTED,
    PEOPLE,
    QUESTIONS,
    Access,
    Answers,
    Event,
    Text,
    likelihood,
)
from veil.dpia.load import AnswersFile, load
from veil.dpia.measured import Source, configuration_name, measure, read
from veil.studies.results import Row

REVIEW = 6  # default months until the next review


class Gap(NamedTuple):
    """A missing answer: its step from 1, and its key."""

    step: int
    what: str


@dataclass(frozen=True)
class Assessment:
    """The content of the document.

    Attributes
    ----------
    answers, sources
        A person's answers, and the measured figures.
    day
        The day of the assessment.
    """

    answers: Answers
    sources: tuple[Source, ...]
    day: date

    @property
    def title(self) -> str:
        """The name of the assessment."""
        return " ".join(self.answers.name) or GAP

    @property
    def review(self) -> date:
        """The day of the next review."""
        return self.answers.next_review or months_after(self.day, REVIEW)

    def stated(self, key: str) -> Text:
        """Return the answer to a question."""
        answer: Text = getattr(self.answers, key)
        return answer

    def event(self, event: Event) -> Access:
        """Return the answers about a feared event."""
        answers: Access = getattr(self.answers.risks, event.key)
        return answers

    @cached_property
    def largest(self) -> tuple[Source, Row] | None:
        """The largest risk of the configurations that will be used, with its study."""
        largest = [(source, source.counted[0]) for source in self.sources if source.counted]
        return max(largest, key=lambda pair: pair[1].score, default=None)

    def likelihood(self, event: Event) -> int | None:
        """Return the likelihood of an event: measured for access, otherwise stated."""
        if event.key != "access":
            stated: int | None = getattr(self.event(event), "likelihood", None)
            return stated
        if self.largest is None:
            return None
        return likelihood(self.largest[1].score, self.answers.thresholds)

    def defended(self, event: Event) -> bool:
        """Return whether there is a measure against an event. Protection is one against access."""
        protected = event.key == "access" and any(source.chosen for source in self.sources)
        return protected or any(event.key in item.against for item in self.answers.measures)

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """All missing answers, by step."""
        return tuple(sorted(self._gaps(), key=lambda gap: gap.step))

    def _gaps(self) -> Iterator[Gap]:
        if not self.answers.name:
            yield Gap(1, "name")
        yield from (Gap(item.step, item.key) for item in QUESTIONS if not self.stated(item.key))
        for event in EVENTS:
            parts = [*LISTED, "severity", "why"]
            parts += [] if event.key == "access" else ["likelihood"]
            empty = [part for part in parts if not getattr(self.event(event), part)]
            yield from (Gap(3, f"risks.{event.key}.{part}") for part in empty)
        yield from self._unmeasured()
        yield from self._untaken()
        unnamed = [key for key in PEOPLE if not getattr(self.answers.people, key)]
        yield from (Gap(5, f"people.{key}") for key in unnamed)

    def _untaken(self) -> Iterator[Gap]:
        if not self.answers.measures:
            yield Gap(4, "measures")
        else:
            bare = [event.key for event in EVENTS if not self.defended(event)]
            yield from (Gap(4, f"measures against {key}") for key in bare)
        empty = [item.title for item in self.answers.measures if not item.content]
        yield from (Gap(4, f"content of the measure '{title}'") for title in empty)

    def _unmeasured(self) -> Iterator[Gap]:
        if not self.sources:
            yield Gap(3, "measured risks (studies, or table and release)")
        for source in self.sources:
            parts = ("command", "seed", "version")
            untold = [part for part in parts if getattr(source, part) == GAP]
            yield from (Gap(3, f"{part} of {source.title}") for part in untold)
            if not source.chosen:
                yield Gap(3, f"which configuration of {source.title} will be used (spec)")
            unproved = {
                configuration_name(row) for row in source.counted if source.claim(row) is None
            }
            if unproved:
                yield Gap(3, f"what is proved of {len(unproved)} configurations of {source.title}")


def assess(source: str | Path | Mapping[str, Any]) -> Assessment:
    """Return the assessment of a file of answers, with the figures that it names."""
    return assess_file(load(source))


def assess_file(file: AnswersFile) -> Assessment:
    """Return the assessment of an opened file of answers."""
    answers = file.answers
    day = answers.date or date.today()
    sources = [
        read(measurement, number, file.folder)
        for number, measurement in enumerate(answers.studies, start=1)
    ]
    if file.table:
        sources.append(measure(file))
    return Assessment(answers, tuple(sources), day)


def months_after(day: date, months: int) -> date:
    """Return the same day some months later, or the last day of that month.

    >>> months_after(date(2024, 8, 31), 6)
    datetime.date(2025, 2, 28)
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))
