"""The answers of a person, as the keys of a TOML file; all of them may be left out."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from veil.dpia.levels import THRESHOLDS

_LONGEST = 20_000  # characters of an answer
_MOST = 200  # entries of a list


def _listed(value: object) -> object:
    """Take one text for a list of one; what is empty is left out."""
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return tuple(text.strip() for text in texts if text.strip())
    raise ValueError("a text in quotes, or a list of texts")


def _day(value: object) -> object:
    """Read a day, also one that is written in quotes."""
    if isinstance(value, datetime):
        raise ValueError("a day without a time, as 2025-01-31")  # noqa: TRY004 - told by pydantic
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError("a day, as 2025-01-31") from None
    return value


Line = Annotated[str, Field(max_length=_LONGEST)]
Text = Annotated[tuple[Line, ...], BeforeValidator(_listed), Field(strict=False, max_length=_MOST)]
Day = Annotated[date, BeforeValidator(_day)]
Level = Annotated[int, Field(ge=1, le=4)]
Share = Annotated[float, Field(gt=0, lt=1)]
Events = Literal["access", "modification", "loss"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class People(_Part):
    """Who wrote the assessment, who looked at it, and who takes responsibility."""

    author: Text = ()
    evaluator: Text = ()
    validator: Text = ()


class Access(_Part):
    """What is feared of illegitimate access; how likely it is, is measured."""

    severity: Level | None = None
    why: Text = ()
    impacts: Text = ()
    threats: Text = ()
    sources: Text = ()


class Fear(Access):
    """What is feared of modification or loss, of which nothing is measured here."""

    likelihood: Level | None = None


class Risks(_Part):
    """The three events that are feared."""

    access: Access = Access()
    modification: Fear = Fear()
    loss: Fear = Fear()


class Measure(_Part):
    """A measure that is taken, and the events it is against."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    content: Text = ()
    against: Annotated[tuple[Events, ...], Field(strict=False)] = (
        "access", "modification", "loss",
    )  # fmt: skip


class Measurement(_Part):
    """Results of a study of any domain: a folder, or its ``results.csv``.

    `spec` and `size` say which configuration will be used; without them all count. `command` and
    `seed` are for folders that do not tell.
    """

    results: Annotated[str, Field(min_length=1)]
    spec: str = ""
    size: Annotated[int, Field(ge=1)] | None = None
    command: str = ""
    seed: Annotated[int, Field(ge=0)] | None = None


class Planned(_Part):
    """A release of a table, to be made and attacked at once."""

    spec: Annotated[str, Field(min_length=1)]
    attackers: Annotated[tuple[str, ...] | None, Field(strict=False)] = None


class Answers(_Part):
    """What a person says; empty where nothing is stated."""

    name: Text = ()
    date: Day | None = None
    next_review: Day | None = None
    description: Text = ()
    controller: Text = ()
    processor: Text = ()
    purposes: Text = ()
    legal_basis: Text = ()
    standards: Text = ()
    data: Text = ()
    recipients: Text = ()
    retention: Text = ()
    collection: Text = ()
    storage: Text = ()
    access: Text = ()
    querying: Text = ()
    assets: Text = ()
    minimisation: Text = ()
    accuracy: Text = ()
    information: Text = ()
    consent: Text = ()
    access_rights: Text = ()
    rectification: Text = ()
    objection: Text = ()
    contracts: Text = ()
    transfers: Text = ()
    stakeholders: Text = ()
    thresholds: Annotated[tuple[Share, Share, Share], Field(strict=False)] = THRESHOLDS
    people: People = People()
    risks: Risks = Risks()
    measures: Annotated[tuple[Measure, ...], Field(strict=False, max_length=_MOST)] = ()
    studies: Annotated[tuple[Measurement, ...], Field(strict=False, max_length=_MOST)] = ()
    release: Annotated[tuple[Planned, ...], Field(strict=False, max_length=_MOST)] = ()

    @model_validator(mode="after")
    def _in_order(self) -> "Answers":
        if list(self.thresholds) != sorted(set(self.thresholds)):
            raise ValueError("The three 'thresholds' must grow, as [0.01, 0.05, 0.2].")
        if self.date and self.next_review and self.next_review <= self.date:
            raise ValueError("The 'next_review' must be later than the 'date'.")
        return self
