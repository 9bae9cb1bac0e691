"""Rules of the user's own, read from a TOML file and checked; what they say is never quoted.

A list of what somebody holds to be sensitive is sensitive: messages name the file, the number of
the rule and the key, and nothing that stands there.
"""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from veil.core.errors import InputError, ParameterError
from veil.proxy.types import Action

MAX_NAME = 60
_MAX_BYTES = 2**20  # of a file of rules
_LOWEST_SCORE = 0.4  # Presidio gives a telephone number without further hints as much
_CONDITIONS = ("words", "topics", "kinds", "pii", "all")
_PLACE = re.compile(r"\(at (line \d+, column \d+|end of document)\)")
_WANTED = {
    "string_type": "a text in quotes",
    "string_too_short": "a text that is not empty",
    "string_too_long": "a text of at most {max_length} characters",
    "string_pattern_mismatch": "a name in capitals, such as PERSON",
    "bool_type": "true or false",
    "float_type": "a number",
    "finite_number": "a finite number",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "at most {le:g}",
    "tuple_type": "a list",
    "too_long": "a list of at most {max_length:,}",
    "literal_error": "{expected}",
    "model_type": "a table, written as [[rule]]",
    "model_attributes_type": "a table, written as [[rule]]",
}

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME)]
Entity = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,59}$")]
Written = Literal["number", "email", "url", "identifier", "symbol"]  # Kind, but for plain words


class Rule(BaseModel):
    """One ``[[rule]]``: it matches a query when any of its conditions does.

    Attributes
    ----------
    name
        Shown on the page.
    action
        What becomes of a query that matches.
    words
        Words and phrases, whatever their case, accents and inflection.
    topics
        Nouns of WordNet; each stands for itself and all that is below it.
    kinds
        Sorts of words, by their spelling: see `veil.corpus.tokens.Kind`.
    pii, pii_score
        Entities of Presidio, and how sure it must be.
    everything
        Written ``all``: matches every query.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    name: Name
    action: Action
    words: Annotated[tuple[Text, ...], Field(max_length=10_000, strict=False)] = ()
    topics: Annotated[tuple[Text, ...], Field(max_length=200, strict=False)] = ()
    kinds: Annotated[tuple[Written, ...], Field(max_length=20, strict=False)] = ()
    pii: Annotated[tuple[Entity, ...], Field(max_length=200, strict=False)] = ()
    pii_score: Annotated[float, Field(gt=0, le=1)] = _LOWEST_SCORE
    everything: Annotated[bool, Field(alias="all")] = False


class Rules(BaseModel):
    """A file of rules, in their order; `pii_model` names a spaCy pipeline for Presidio."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rule: Annotated[tuple[Rule, ...], Field(max_length=500, strict=False)] = ()
    pii_model: Annotated[str, StringConstraints(max_length=500)] = ""


def read_rules(path: Path) -> Rules:
    """Read rules from a TOML file."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"The rules {path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InputError(f"The rules {path} are not UTF-8; convert them.") from None
    if len(raw) > _MAX_BYTES:
        raise InputError(f"{path} is larger than a file of rules can be, which is 1 MiB.")
    return parse_rules(text, path.name)


def parse_rules(text: str, name: str) -> Rules:
    """Read rules from the text of a TOML file called `name`."""
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        place = _PLACE.search(str(error))
        look = f": look at {place[1].replace('end of document', 'its end')}" if place else ""
        raise InputError(f"{name} is not a TOML file{look}.") from None
    try:
        rules = Rules.model_validate(found)
    except ValidationError as error:
        raise ParameterError(_sentence(error.errors()[0], name)) from None
    for complaint in _complaints(rules.rule, found, name):
        raise ParameterError(complaint)
    return rules


def numbered(number: int, name: str) -> str:
    """Name a rule by its place in the file, which gives nothing away."""
    return f"[[rule]] {number + 1} of {name}"


def _complaints(rules: Sequence[Rule], found: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield what is wrong with rules whose keys are right, one by one."""
    names: dict[str, int] = {}
    for number, (rule, table) in enumerate(zip(rules, found.get("rule", ()), strict=True)):
        where = numbered(number, name)
        first = names.setdefault(rule.name.casefold(), number)
        if first != number:
            yield f"The 'name' of {where} must not be that of [[rule]] {first + 1} as well."
        if not rule.name.isprintable():
            yield f"The 'name' of {where} must hold characters that can be seen, and no others."
        if not (rule.words or rule.topics or rule.kinds or rule.pii or rule.everything):
            yield f"{where} must have at least one condition: {', '.join(_CONDITIONS)}."
        if rule.pii and rule.action == "pass":
            yield (
                f"{where} must not have 'pii' with action = \"pass\": what a detector finds is no"
                " reason to send a query plainly."
            )
        if "pii_score" in table and not rule.pii:
            yield f"{where} must have 'pii' for its 'pii_score' to mean anything."


def _sentence(detail: ErrorDetails, name: str) -> str:
    """Render one of pydantic's errors without the value."""
    place = detail["loc"]
    nested = len(place) > 2 and place[0] == "rule"
    where = numbered(int(place[1]), name) if nested else name
    key, *rest = place[2:] if nested else place
    keys = _keys(Rule if nested else Rules)
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(key), keys, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        return f"{where} has a key that there is not{hint} There are: {', '.join(keys)}."
    if detail["type"] == "missing":
        return f"{where} must have '{key}'."
    wanted = _WANTED.get(detail["type"], "of another type")
    ordinal = f" number {int(rest[0]) + 1}" if rest else ""
    return f"The '{key}'{ordinal} of {where} must be {wanted.format(**detail.get('ctx', {}))}."


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or key for key, field in model.model_fields.items()]
