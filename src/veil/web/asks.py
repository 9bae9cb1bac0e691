"""What programs may ask for: each body is declared once, checked and described by that.

An error is one sentence that names the parameter and quotes no value: a value may be a text.
"""

from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from veil.proxy.types import SIZE, Setting, usual_size
from veil.text.mechanisms import find
from veil.text.policy import Policy, Unknown
from veil.web.faults import StatusError
from veil.web.specs import check_spec

MAX_QUERIES = 100
MAX_TEXTS = 1_000
MAX_WORDS = 100
MAX_SIZE = 200  # variants of one search
_SELECT = ("all", "content")  # or pos:, whose tagger is part of Veil; others open models

Spec = Annotated[
    str,
    Field(
        max_length=2_000,
        description="spec of a mechanism; see /api/mechanisms",
        examples=["cmp(epsilon=6)"],
    ),
]


class Ask(BaseModel):
    """The body of a request, or the parameters in its address."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    verb: ClassVar[str]

    @classmethod
    def read(cls, given: object, *, strict: bool) -> Self:
        """Check what was given; `strict` for JSON, where numbers are not written as texts."""
        try:
            return cls.model_validate(given, strict=strict)
        except ValidationError as error:
            raise StatusError(422, _sentence(cls, error.errors())) from None

    @property
    def weight(self) -> int:
        """How many requests it counts for."""
        return 1

    def check(self) -> None:
        """Refuse a mechanism that may not be asked for over the web; this may take a moment."""
        spec = getattr(self, "mechanism", None)
        if spec is not None:
            check_spec(spec)


class ProtectAsk(Ask):
    """Texts to make variants of. The draws are fresh: a seed is not accepted."""

    verb: ClassVar[str] = "protect"

    texts: list[str] = Field(
        min_length=1, max_length=MAX_TEXTS, description="texts", examples=[["a cat"]]
    )
    mechanism: Spec
    size: int | None = Field(
        default=None,
        ge=1,
        le=1_000,
        description="variants per text; 1 unless the mechanism sends a whole group",
    )
    unknown: Unknown = Field(
        default="random", description="what happens to words that the vectors do not know"
    )
    policies: dict[str, Policy] = Field(
        default_factory=dict,
        max_length=10,
        description="for number, email, url, identifier or symbol: replace, drop, mask or keep",
    )
    select: str | list[str] | None = Field(
        default=None,
        description="words to protect: all, content, 'pos:NN JJ', or a list of terms",
    )
    in_clear: bool = Field(
        default=False,
        description="whether a text is handed back as it is where none of its words is protected;"
        " else it is refused",
    )

    @model_validator(mode="after")
    def _opens_nothing(self) -> Self:
        chosen = self.select
        if isinstance(chosen, str) and chosen not in _SELECT and not chosen.startswith("pos:"):
            raise _unfit(
                "The 'select' parameter of protect must be all, content, 'pos:' with tags (as"
                " 'pos:NN JJ'), or a list of terms."
            )
        return self


class SearchAsk(Ask):
    """A query, or several; an engine elsewhere sees variants of them alone."""

    verb: ClassVar[str] = "search"

    query: str | None = Field(default=None, description="what to search for")
    queries: list[str] | None = Field(
        default=None, min_length=1, max_length=MAX_QUERIES, description="several queries"
    )
    mechanism: Spec | None = Field(
        default=None, description="spec of a mechanism, instead of a stop"
    )
    size: int | None = Field(
        default=None,
        ge=1,
        le=MAX_SIZE,
        description=f"variants to send, with a mechanism  [default: {SIZE}, or a whole group]",
    )
    stop: int | None = Field(
        default=None,
        ge=0,
        description="stop of the slider, instead of a mechanism; see /api/plane"
        "  [default: the one that the page starts with]",
    )
    plain: bool | None = Field(
        default=None,
        description="true: search for the query as it is, if a rule of the gate lets it pass or"
        " engine and documents are your own and on this machine; false: privately"
        "  [default: as it is for those, unless a mechanism or a stop is given; else privately]",
    )
    show: int | None = Field(
        default=None, ge=1, le=10_000, description="results of each query  [default: all]"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.query is None) == (self.queries is None):
            raise _unfit("Give either 'query' or 'queries'.")
        if self.stop is not None and self.mechanism is not None:
            raise _unfit("Give either 'mechanism' or 'stop', not both.")
        if self.size is not None and self.mechanism is None:
            raise _unfit("The 'size' parameter goes with a 'mechanism'.")
        if self.plain and self.query is None:
            raise _unfit("The 'plain' parameter goes with a single 'query'.")
        return self

    @property
    def all_queries(self) -> list[str]:
        """All queries, be it one or several."""
        return [self.query] if self.query is not None else list(self.queries or ())

    def here(self, *, own: bool) -> bool:
        """Tell whether the queries are searched as they are, on this machine alone."""
        if not own or self.plain is False:
            return False
        return self.plain is True or (self.mechanism is None and self.stop is None)

    @property
    def weight(self) -> int:
        """How many requests it counts for: one for each query."""
        return len(self.all_queries)

    def setting(self) -> Setting | None:
        """Return the setting that was spelt out, if one was."""
        if self.mechanism is None:
            return None
        size = usual_size(find.mechanism(self.mechanism), self.size)
        if size > MAX_SIZE:
            raise StatusError(
                422, f"At most {MAX_SIZE} texts are sent for one query over the web."
            )
        return Setting(self.mechanism, size)


class ExplainAsk(Ask):
    """Words, and the mechanism whose doings are to be explained."""

    verb: ClassVar[str] = "explain"

    mechanism: Spec
    words: list[str] = Field(min_length=1, max_length=MAX_WORDS, description="known words")
    top: int = Field(default=10, ge=1, le=1_000, description="likeliest outputs to show")
    eta: float = Field(
        default=0.05, gt=0, lt=1, description="mass left out of the effective support"
    )
    samples: int = Field(
        default=2_000, ge=1, le=100_000, description="draws where the law is not known"
    )


class LedgerAsk(Ask):
    """Which entries of the ledger."""

    verb: ClassVar[str] = "ledger"

    count: int = Field(default=50, ge=1, le=1_000, description="entries, newest first")
    before: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="entries with a number below this one"
    )


class Nothing(Ask):
    """No parameters."""

    verb: ClassVar[str] = "this address"


def _unfit(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("unfit", "{sentence}", {"sentence": sentence})


def _sentence(cls: type[Ask], details: list[ErrorDetails]) -> str:
    """Render the most telling error in one sentence: a misspelt name comes first."""
    detail = min(details, key=lambda each: each["type"] != "extra_forbidden")
    known = ", ".join(cls.model_fields) or "none"
    kind, place = detail["type"], detail["loc"]
    if kind == "extra_forbidden":
        return f"{cls.verb} has no such parameter; its parameters are: {known}."
    if kind == "unfit":
        return detail["msg"]
    if not place:
        return f"The request must be a JSON object; its parameters are: {known}."
    name = f"The '{place[0]}' parameter of {cls.verb}"
    if kind == "missing":
        return f"{name} is required; its parameters are: {known}."
    where = next((f", item {part + 1}," for part in place[1:] if isinstance(part, int)), "")
    return f"{name}{where} {_wanted(kind, detail)}."


def _wanted(kind: str, detail: ErrorDetails) -> str:
    """Say what must hold; pydantic's own words name bounds and choices, and no value."""
    context = detail.get("ctx", {})
    if kind == "too_long":
        return f"must have at most {context['max_length']:,} items"
    if kind == "too_short":
        return f"must have at least {context['min_length']:,} items"
    said = detail["msg"].partition(", got ")[0].partition(", unable ")[0]
    return said.replace("Input should be", "must be").replace("String should", "must")
