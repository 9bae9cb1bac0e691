"""Request bodies of the HTTP interface; each is declared once and validated.

A request may set numbers and choices of a mechanism, but nothing that the mechanism opens. A
string can be a file path, an address, or the name of something to fetch, so a parameter that takes
a string keeps its default, also in a plugin. The only exceptions are strings that the mechanism
declares as its `choices`, such as the built-in tables of cover. Only parameter names are passed
on. So the resources of mechanisms are fixed when the server starts, and a request is refused
before anything is looked up: except for declared choices, the answer does not show what exists.

An error is one sentence that names the parameter and quotes no value, because a value may be a
text.
"""

from collections.abc import Callable
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from veil.core.component import Component, no_parameter
from veil.core.errors import ParameterError, UnknownNameError
from veil.core.registry import Registry
from veil.corpus.wordnet import wordnet_at_hand, wordnet_folder
from veil.proxy.settings import SIZE, Configuration, usual_size
from veil.text.mechanisms import catalogue
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.policy import Policy, Unknown
from veil.text.redact.redactor import By
from veil.web.messages import StatusError

M = TypeVar("M", bound=Component)
_PLAIN = (bool, int, float, NoneType)
_AT_HAND: dict[str, Callable[[], bool]] = {
    "vectors": lambda: True,  # opened when the server starts
    "wordnet": wordnet_at_hand,
}


def check_spec(spec: str) -> None:
    """Reject a spec that sets a forbidden parameter or needs unavailable resources."""
    cls, parameters = catalogue.read(spec)
    allowed = settable(cls)
    for name, value in parameters.items():
        permitted = _is_default(cls, name, value) or _is_choice(cls, name, value)
        if name not in allowed and not permitted:
            raise _refused(cls, name, allowed)
    for name in sorted(cls.needs):
        _check_at_hand(cls.name, name)
    if reason := cls.not_ready(parameters):
        raise StatusError(422, reason)


def _refused(cls: type[TextMechanism], name: str, allowed: tuple[str, ...]) -> Exception:
    """Return the error for a forbidden parameter, without building anything."""
    if (
        name not in {*cls.model_fields, *_aliases(cls)}
        and cls.model_config.get("extra") == "forbid"
    ):
        return ParameterError(no_parameter(cls, name))
    field = cls.model_fields.get(name)
    opens = field is not None and not _is_plain(field.annotation)
    why = ", as it names something to open" if opens else ""
    settable_names = ", ".join(allowed) or "none"
    choices = cls.choices.get(name, ())
    listed = f" Valid values of '{name}': {', '.join(choices)}." if choices else ""
    return StatusError(
        422,
        f"The '{name}' parameter of {cls.name} must not be set over the web{why}. Valid"
        f" parameters: {settable_names}.{listed}",
    )


def _check_at_hand(mechanism: str, name: str) -> None:
    if _AT_HAND.get(name, _never)():
        return
    damaged = name == "wordnet" and wordnet_folder().exists()
    state, again = ("is damaged", "--again ") if damaged else ("is not", "")
    raise StatusError(
        422,
        f"{mechanism} needs {name}, which {state} in the cache, and requests fetch nothing. Run:"
        f" veil fetch {again}{name}.",
    )


def settable(cls: type[Component]) -> tuple[str, ...]:
    """Return the parameters of a mechanism that a request may set: numbers and choices.

    Parameters with an alias are left out, as are those whose name is an alias of another one.

    >>> settable(catalogue.mechanism_class("fea"))
    ('window', 'longest', 'targets', 'score', 'candidates')
    """
    taken = _aliases(cls)
    return tuple(
        name
        for name, field in cls.model_fields.items()
        if _is_plain(field.annotation) and field.validation_alias is None and name not in taken
    )


def usable(cls: type[TextMechanism]) -> bool:
    """Return whether a request can use a mechanism: it may set all required parameters."""
    needed = {name for name, field in cls.model_fields.items() if field.is_required()}
    return needed <= set(settable(cls))


def _is_plain(kind: object) -> bool:
    """Return whether all values of a type are numbers, booleans or choices from a list."""
    origin = get_origin(kind)
    if origin is Literal:
        return True
    if origin is Annotated:
        return _is_plain(get_args(kind)[0])
    if origin in (Union, UnionType):
        return all(map(_is_plain, get_args(kind)))
    return kind in _PLAIN or (isinstance(kind, type) and issubclass(kind, Enum))


def _aliases(cls: type[Component]) -> set[str]:
    """Return all parameter names that differ from their field."""
    aliases: set[str] = set()
    for field in cls.model_fields.values():
        alias = field.validation_alias
        options = alias.choices if isinstance(alias, AliasChoices) else [alias]
        paths = [option.path[0] if isinstance(option, AliasPath) else option for option in options]
        aliases |= {option for option in paths if isinstance(option, str)}
    return aliases


def _is_default(cls: type[TextMechanism], name: str, value: object) -> bool:
    """Return whether a value is the default: answers name all parameters of a mechanism."""
    field = cls.model_fields.get(name)
    if field is None or field.validation_alias is not None or name in _aliases(cls):
        return False
    return not field.is_required() and type(value) is str and value == field.default


def _is_choice(cls: type[TextMechanism], name: str, value: object) -> bool:
    """Return whether the mechanism declares a string as a choice, such as a built-in table."""
    return type(value) is str and value in cls.choices.get(name, ())


def _never() -> bool:
    return False


def offered(registry: Registry[M], first: str) -> dict[str, type[M]]:
    """Return the mechanisms that pages offer, by name: those that declare their `presets`.

    `first` leads the list; the others are sorted by name.
    """
    classes = {name: registry.get(name) for name in registry.names()}
    names = sorted(classes, key=lambda name: (name != first, name))
    return {name: classes[name] for name in names if _is_offered(classes[name])}


def require_offered(registry: Registry[M], name: str, first: str) -> type[M]:
    """Return the mechanism with that name, or reject it if pages do not offer it."""
    try:
        cls = registry.get(name)
    except UnknownNameError:
        cls = None
    if cls is None or not _is_offered(cls):
        names = ", ".join(offered(registry, first))
        raise StatusError(422, f"The mechanism must be one of: {names}.")
    return cls


def _is_offered(cls: type[Component]) -> bool:
    return vars(cls).get("presets") is not None  # not inherited: presets name their mechanism


MAX_QUERIES = 100
MAX_TEXTS = 1_000
MAX_WORDS = 100
MAX_SIZE = 200  # variants of a search
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
    """The body of a request, or the parameters in its URL."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    verb: ClassVar[str]

    @classmethod
    def read(cls, values: object, *, strict: bool) -> Self:
        """Validate values; `strict` for JSON, where numbers are not strings."""
        try:
            return cls.model_validate(values, strict=strict)
        except ValidationError as error:
            raise StatusError(422, _sentence(cls, error.errors())) from None

    @property
    def weight(self) -> int:
        """How many requests it counts as."""
        return 1

    def check(self) -> None:
        """Reject a mechanism that requests may not use; this may take a moment."""
        spec = getattr(self, "mechanism", None)
        if spec is not None:
            check_spec(spec)


class ProtectAsk(Ask):
    """Texts to make variants of. Samples are fresh: a seed is not accepted."""

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
        default="random", description="what happens to words missing from the vectors"
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
    redact: By | None = Field(
        default=None,
        description="finder of personal data, which is replaced by its kind before the"
        " mechanism runs: patterns, or presidio (extra pii)",
    )
    in_clear: bool = Field(
        default=False,
        description="whether a text without protected words is returned unchanged; otherwise it"
        " is refused",
    )

    @model_validator(mode="after")
    def _opens_nothing(self) -> Self:
        select = self.select
        if isinstance(select, str) and select not in _SELECT and not select.startswith("pos:"):
            raise _unfit(
                "The 'select' parameter of protect must be all, content, 'pos:' with tags (such"
                " as 'pos:NN JJ'), or a list of terms."
            )
        return self


class SearchAsk(Ask):
    """One or several queries; a remote engine only sees variants of them."""

    verb: ClassVar[str] = "search"

    query: str | None = Field(default=None, description="what to search for")
    queries: list[str] | None = Field(
        default=None, min_length=1, max_length=MAX_QUERIES, description="several queries"
    )
    mechanism: Spec | None = Field(
        default=None, description="spec of a mechanism, instead of a slider setting"
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
        description="index of a slider setting, instead of a mechanism; see /api/plane "
        " [default: that of the page]",
    )
    plain: bool | None = Field(
        default=None,
        description="true: search with the query itself, if a rule of the gate allows it or"
        " engine and documents are your own and on this machine; false: privately "
        " [default: the query itself for own documents unless a mechanism or a setting is"
        " given; else privately]",
    )
    show: int | None = Field(
        default=None, ge=1, le=10_000, description="results of each query  [default: all]"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.query is None) == (self.queries is None):
            raise _unfit("The request must have either 'query' or 'queries'.")
        if self.stop is not None and self.mechanism is not None:
            raise _unfit("The request must not have both 'mechanism' and 'stop'.")
        if self.size is not None and self.mechanism is None:
            raise _unfit("The 'size' parameter needs a 'mechanism'.")
        if self.plain and self.query is None:
            raise _unfit("The 'plain' parameter needs a single 'query'.")
        return self

    @property
    def all_queries(self) -> list[str]:
        """All queries, one or several."""
        return [self.query] if self.query is not None else list(self.queries or ())

    def here(self, *, own: bool) -> bool:
        """Return whether to search with the queries themselves, only on this machine."""
        if not own or self.plain is False:
            return False
        return self.plain is True or (self.mechanism is None and self.stop is None)

    @property
    def weight(self) -> int:
        """One request for each query."""
        return len(self.all_queries)

    def setting(self) -> Configuration | None:
        """Return the setting given by the request, or None."""
        if self.mechanism is None:
            return None
        size = usual_size(catalogue.mechanism(self.mechanism), self.size)
        if size > MAX_SIZE:
            raise StatusError(
                422, f"The number of variants must be at most {MAX_SIZE} over the web."
            )
        return Configuration(self.mechanism, size)


class ExplainAsk(Ask):
    """Words, and the mechanism to explain."""

    verb: ClassVar[str] = "explain"

    mechanism: Spec
    words: list[str] = Field(min_length=1, max_length=MAX_WORDS, description="known words")
    top: int = Field(default=10, ge=1, le=1_000, description="likeliest outputs to show")
    eta: float = Field(
        default=0.05, gt=0, lt=1, description="mass left out of the effective support"
    )
    samples: int = Field(
        default=2_000,
        ge=1,
        le=100_000,
        description=("samples, if the distribution is not known exactly"),
    )


class LedgerAsk(Ask):
    """Which entries of the ledger to return."""

    verb: ClassVar[str] = "ledger"

    count: int = Field(default=50, ge=1, le=1_000, description="entries, newest first")
    before: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="entries with a number below this one"
    )


class EmptyAsk(Ask):
    """No parameters."""

    verb: ClassVar[str] = "this address"


def _unfit(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("unfit", "{sentence}", {"sentence": sentence})


def _sentence(cls: type[Ask], details: list[ErrorDetails]) -> str:
    """Return the most helpful error as a sentence: a misspelt name comes first."""
    detail = min(details, key=lambda error: error["type"] != "extra_forbidden")
    parameters = ", ".join(cls.model_fields) or "none"
    kind, place = detail["type"], detail["loc"]
    if kind == "extra_forbidden":
        return f"{cls.verb} has no such parameter. Its parameters are: {parameters}."
    if kind == "unfit":
        return detail["msg"]
    if not place:
        return f"The request must be a JSON object. Its parameters are: {parameters}."
    name = f"The '{place[0]}' parameter of {cls.verb}"
    if kind == "missing":
        return f"{name} is required. The parameters are: {parameters}."
    where = next((f", item {part + 1}," for part in place[1:] if isinstance(part, int)), "")
    return f"{name}{where} {_requirement(kind, detail)}."


def _requirement(kind: str, detail: ErrorDetails) -> str:
    """Return what must hold; pydantic's messages name bounds and choices, but no value."""
    context = detail.get("ctx", {})
    if kind == "too_long":
        return f"must have at most {context['max_length']:,} items"
    if kind == "too_short":
        return f"must have at least {context['min_length']:,} items"
    message = detail["msg"].partition(", got ")[0].partition(", unable ")[0]
    return message.replace("Input should be", "must be").replace("String should", "must")
