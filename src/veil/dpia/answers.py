"""The questions of an assessment, and the schema of a person's answers.

Question numbers are those of the PIA software of the CNIL, whose files `veil.dpia.write` writes.
The five steps are the usual process of an impact assessment: identify the needs, describe the
processing, assess the risks, mitigate them, and the final steps.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

THRESHOLDS = (0.01, 0.05, 0.2)
LEVELS = {1: "negligible", 2: "limited", 3: "significant", 4: "maximum"}


def likelihood(risk: float, thresholds: Sequence[float] = THRESHOLDS) -> int:
    """Return the level of a risk: 1 plus the number of thresholds that it reaches.

    >>> [likelihood(risk) for risk in (0.0, 0.01, 0.05, 0.2, 1.0)]
    [1, 2, 3, 4, 4]
    """
    return 1 + sum(risk >= threshold for threshold in thresholds)


def level(number: int) -> str:
    """Return a level as text.

    >>> level(3)
    '3 of 4 (significant)'
    """
    return f"{number} of 4 ({LEVELS[number]})"


def scale(thresholds: Sequence[float]) -> str:
    """Return the likelihood of each range of risks, as text.

    >>> scale(THRESHOLDS)
    'below 0.01: 1, below 0.05: 2, below 0.2: 3, otherwise 4'
    """
    ranges = [f"below {bound:g}: {number}" for number, bound in enumerate(thresholds, start=1)]
    return ", ".join([*ranges, f"otherwise {len(thresholds) + 1}"])


GAP = "NOT STATED"
STEPS = (
    "Identify the needs",
    "Description of the processing",
    "Risk assessment",
    "Risk mitigation",
    "Final steps",
)


class Question(NamedTuple):
    """A question: its key in the file, its step from 1, its number, and its text."""

    key: str
    step: int
    reference: int
    asks: str


QUESTIONS = (
    Question("description", 1, 111, "Which processing is assessed?"),
    Question("controller", 1, 112, "Who is the controller?"),
    Question("processor", 1, 112, "Who is the processor?"),
    Question("legal_basis", 1, 212, "What is the legal basis?"),
    Question("standards", 1, 113, "Which standards or codes of conduct apply?"),
    Question("data", 1, 121, "Which data are stored?"),
    Question("purposes", 2, 211, "For what purposes?"),
    Question("collection", 2, 122, "How are the data collected?"),
    Question("storage", 2, 122, "How are they stored?"),
    Question("access", 2, 122, "Who has access, and how?"),
    Question("querying", 2, 122, "How are they queried, and what leaves?"),
    Question("assets", 2, 123, "On which systems and media are they stored?"),
    Question("recipients", 2, 121, "Who receives them?"),
    Question("retention", 2, 215, "How long are they kept?"),
    Question("minimisation", 2, 213, "Why is each of them needed?"),
    Question("accuracy", 2, 214, "How are they kept accurate and up to date?"),
    Question("information", 2, 221, "How are the people informed?"),
    Question("consent", 2, 222, "How is consent obtained, if it is the legal basis?"),
    Question("access_rights", 2, 223, "How do people exercise access and portability?"),
    Question("rectification", 2, 224, "How do they exercise rectification and erasure?"),
    Question("objection", 2, 225, "How do they exercise restriction and objection?"),
    Question("contracts", 2, 226, "What do the contracts with processors say?"),
    Question("transfers", 2, 227, "Are data transferred abroad, and how are they protected?"),
    Question("stakeholders", 5, 0, "Who was consulted, and what did they say?"),
)
PEOPLE = {"author": "Author", "evaluator": "Evaluator", "validator": "Validator"}


class Event(NamedTuple):
    """A feared event: its key, the tens of its question numbers, and its title."""

    key: str
    tens: int
    title: str


EVENTS = (
    Event("access", 320, "Illegitimate access to data"),
    Event("modification", 330, "Unwanted modification of data"),
    Event("loss", 340, "Disappearance of data"),
)
LISTED = {  # the parts of an event that are lists, by the last digit of their question
    "impacts": (1, "Impacts on the people"),
    "threats": (2, "Threats"),
    "sources": (3, "Sources of the risk"),
}


_LONGEST = 20_000  # characters of an answer
_MOST = 200  # entries of a list


def _listed(value: object) -> object:
    """Return a text or a list of texts as a tuple, without empty texts."""
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return tuple(text.strip() for text in texts if text.strip())
    raise ValueError("a text in quotes, or a list of texts")


def _day(value: object) -> object:
    """Return a date, which may be quoted."""
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
    """Author, evaluator and validator of the assessment."""

    author: Text = ()
    evaluator: Text = ()
    validator: Text = ()


class Access(_Part):
    """Answers about illegitimate access, whose likelihood is measured."""

    severity: Level | None = None
    why: Text = ()
    impacts: Text = ()
    threats: Text = ()
    sources: Text = ()


class Fear(Access):
    """Answers about modification or loss, whose likelihood is not measured."""

    likelihood: Level | None = None


class Risks(_Part):
    """Answers about the three feared events."""

    access: Access = Access()
    modification: Fear = Fear()
    loss: Fear = Fear()


class Measure(_Part):
    """A measure, and the events that it prevents or mitigates."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    content: Text = ()
    against: Annotated[tuple[Events, ...], Field(strict=False)] = (
        "access", "modification", "loss",
    )  # fmt: skip


class Measurement(_Part):
    """Results of a study of any domain: a folder, or its ``results.csv``.

    `spec` and `size` select the configuration that will be used; without them all count.
    `command` and `seed` are for folders without this information.
    """

    results: Annotated[str, Field(min_length=1)]
    spec: str = ""
    size: Annotated[int, Field(ge=1)] | None = None
    command: str = ""
    seed: Annotated[int, Field(ge=0)] | None = None


class Planned(_Part):
    """A release of a table, to be created and attacked now."""

    spec: Annotated[str, Field(min_length=1)]
    attackers: Annotated[tuple[str, ...] | None, Field(strict=False)] = None


class Answers(_Part):
    """A person's answers, empty if not stated."""

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
            raise ValueError("'thresholds' must be three increasing numbers: [0.01, 0.05, 0.2].")
        if self.date and self.next_review and self.next_review <= self.date:
            raise ValueError("'next_review' must be later than 'date'.")
        return self
