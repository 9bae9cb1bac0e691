"""The sensitivity gate: the user's rules decide what may happen to a query.

The rules are a TOML file; `example_gate` returns one with comments::

    [[rule]]
    name = "illness"
    topics = ["illness", "cancer"]
    action = "obfuscate"

A rule matches when any of its conditions does. The strictest matching rule decides: ``refuse``
before ``obfuscate`` before ``pass``. A query that no rule matches is obfuscated.

``refuse``
    The query is not sent in any form.
``obfuscate``
    The query is obfuscated, even if the user asks for plain sending.
``pass``
    The user may ask for plain sending; otherwise the query is obfuscated. These rules are narrower
    than the others: **every** word of the query except function words must be covered by the
    words, topics or kinds of such rules. With ``words = ["weather"]``, "weather tomorrow" is
    obfuscated unless *tomorrow* is covered, too. A query that passes is sent as typed, without
    protection; ``all = true`` passes everything that no other rule holds back.

Rules that hold back match several readings of a query (see `readings`), and all words derived from
a word. Compatibility characters are normalised (NFKC), as are unusual apostrophes and hyphens.
Invisible characters are read both as nothing and as a space. Matching is by spelling: text that is
spelt out ("john at example dot org", "five five five"), misspelt, run together, in another
language or in look-alike letters of another script is not found; a word with digits in it is an
``identifier``, not a ``number``. Topics follow WordNet and ignore the context of a word. A
detector of personal data misses much. A query without matches is obfuscated like any
other, unless ``all = true`` lets it pass on request.

A list of what somebody considers sensitive is itself sensitive: messages name the file, the
number of the rule and the key, but never quote a value.
"""

import difflib
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.corpus.inflection import Forms, WordForms, loose_forms, strict_forms
from veil.corpus.tokens import STOP_WORDS, Kind, bare_parts, tokens, unaccented
from veil.corpus.wordnet import Thesaurus, wordnet
from veil.data.fetch import Report, no_progress
from veil.proxy.settings import Action, Decision
from veil.search.pipeline import MAX_QUERY
from veil.text.redact.presidio import PresidioFinder

_ODD = str.maketrans("‘’ʼ´`‐‑−。", "'''''---.")
_BLANKS = frozenset(  # invisible, although they count as letters, marks or symbols
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
)
_HYPHEN = re.compile(r"(?<=[^\W_])-(?=[^\W_])")
_INSIDE = re.compile(r"[^\w\s'-]|_")  # separators of words in an address


@brief()
@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word in the form that is compared: without case, accents, clitics and hyphens."""

    text: str
    kind: Kind

    @property
    def counts(self) -> bool:
        """Whether it is more than a function word."""
        return self.text not in STOP_WORDS


@brief()
@dataclass(frozen=True, slots=True)
class QueryReadings:
    """The readings of a query.

    `written` has the query itself and its readings without invisible characters; `hidden` says
    whether there are any. `loose` adds readings without hyphens and with the words of addresses
    separated.
    """

    written: tuple[str, ...]
    loose: tuple[str, ...]
    hidden: bool


def readings(query: str) -> QueryReadings:
    """Return the distinct readings of a query, the most literal first."""
    literal = _even(query)
    invisible = {character for character in set(literal) if _is_unseen(character)}
    joined = _even("".join(c for c in literal if c not in invisible)) if invisible else literal
    spaced = "".join(" " if c in invisible else c for c in literal) if invisible else literal
    written = tuple(dict.fromkeys((literal, joined, spaced)))
    loose = (*written, drop_hyphens(joined), _INSIDE.sub(" ", joined))
    return QueryReadings(written, tuple(dict.fromkeys(loose)), bool(invisible))


def units(text: str) -> list[QueryWord]:
    """Return the words of a text, in order.

    >>> [unit.text for unit in units("The Café's X-RAY, 3 rooms")]
    ['the', 'cafe', 'x', 'ray', '3', 'rooms']
    """
    words = []
    text = _even(text)
    for token in tokens(text):
        word = text[token.start : token.end]
        is_word = token.kind in (Kind.WORD, Kind.IDENTIFIER)
        parts: Sequence[str] = bare_parts(word) if is_word else (word.casefold(),)
        words += [QueryWord(unaccented(part) or part, token.kind) for part in parts]
    return words


def drop_hyphens(text: str) -> str:
    """Return a text without the hyphens inside its words.

    >>> drop_hyphens("an X-ray - today")
    'an Xray - today'
    """
    return _HYPHEN.sub("", text)


def _even(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_ODD)).translate(_ODD)


@lru_cache(maxsize=4096)
def _is_unseen(character: str) -> bool:
    """Return whether a character is invisible, or not known to be visible."""
    if character.isspace():
        return False
    if unicodedata.category(character)[0] == "C" or character in _BLANKS:
        return True
    return "VARIATION SELECTOR" in unicodedata.name(character, "")


_Phrase = tuple[frozenset[str], ...]  # the forms of each word


class PhraseMatcher:
    """Finds the phrases of rules, indexed by the forms of their first word."""

    def __init__(self, akin: WordForms) -> None:
        self._akin = akin
        self._starts: dict[str, list[tuple[_Phrase, int]]] = {}

    def add(self, words: Sequence[QueryWord], rule: int) -> None:
        """Add a phrase of a rule; an empty phrase is ignored."""
        self._add(words, rule, self._akin.forms)

    def add_base(self, words: Sequence[QueryWord], rule: int) -> None:
        """Add a phrase from a dictionary, which is not an inflected form."""
        self._add(words, rule, self._akin.base)

    def _add(self, words: Sequence[QueryWord], rule: int, forms: Forms) -> None:
        phrase = tuple(forms(word.text) for word in words)
        for form in phrase[0] if phrase else ():
            self._starts.setdefault(form, []).append((phrase, rule))

    def found(self, words: Sequence[QueryWord]) -> Iterator[tuple[int, range]]:
        """Yield the rules whose phrases occur, and the positions of their words."""
        if not self._starts:
            return
        forms = [self._akin.forms(word.text) for word in words]
        for at, own in enumerate(forms):
            for form in own:
                for phrase, rule in self._starts.get(form, ()):
                    if _matches(phrase, forms[at : at + len(phrase)]):
                        yield rule, range(at, at + len(phrase))


def _matches(phrase: _Phrase, words: Sequence[frozenset[str]]) -> bool:
    """Return whether a phrase matches the words at a position."""
    return len(phrase) == len(words) and not any(
        expected.isdisjoint(forms) for expected, forms in zip(phrase, words, strict=True)
    )


_LEVELS = 40  # twice as deep as WordNet is
_MAX_TERMS = 30_000  # per rule


def topic_terms(
    topics: Sequence[str], where: str, senses: int = 0, report: Report = no_progress
) -> list[list[QueryWord]]:
    """Return the words and compounds below topics in WordNet; `senses` as in `Thesaurus`.

    Terms spelt like a function word, a letter or a number are left out: a "will" is also
    a document.
    """
    thesaurus = wordnet(report=report)
    names = [" ".join(topic.split()).lower() for topic in topics]
    terms: set[str] = set()
    for number, topic in enumerate(names, start=1):
        below = _below(thesaurus, topic, senses)
        if below is None:
            raise ParameterError(
                f"The 'topics' number {number} of {where} must be a noun in WordNet. Put other"
                " words under 'words'."
            )
        terms |= below
        if len(terms) > _MAX_TERMS:
            raise ParameterError(
                f"The 'topics' number {number} of {where} must be narrower: the topics have more"
                f" than {_MAX_TERMS:,} words."
            )
    phrases = [units(term) for term in sorted(terms | {drop_hyphens(term) for term in terms})]
    return [units(topic) for topic in names] + [words for words in phrases if _is_specific(words)]


def _is_specific(words: Sequence[QueryWord]) -> bool:
    """Return whether a term has a word that is not a function word, a letter or a number."""
    return any(word.counts and len(word.text) > 1 and not word.text.isdigit() for word in words)


def _below(thesaurus: Thesaurus, topic: str, senses: int) -> frozenset[str] | None:
    """Return synonyms and hyponyms at all levels; None for an unknown word."""
    terms = thesaurus.synonyms(topic, "NN", senses)
    terms |= thesaurus.hyponyms(topic, "NN", _LEVELS, senses)
    return terms if terms or thesaurus.hypernyms(topic, "NN") else None


MAX_NAME = 60
_MAX_BYTES = 2**20  # size of a file of rules
_LOWEST_SCORE = 0.4  # Presidio's score of a telephone number without context
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
Written = Literal["number", "email", "url", "identifier", "symbol"]  # Kind, without plain words


class Rule(BaseModel):
    """A ``[[rule]]``: it matches a query when any of its conditions does.

    Attributes
    ----------
    name
        Shown on the page.
    action
        What happens to a matching query.
    words
        Words and phrases, ignoring case, accents and inflection.
    topics
        Nouns of WordNet, including everything below them.
    kinds
        Kinds of words by spelling: see `veil.corpus.tokens.Kind`.
    pii, pii_score
        Entities of Presidio, and the minimum score.
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
    """The rules of a file, in order; `pii_model` names a spaCy pipeline for Presidio."""

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
        raise InputError(f"The rules {path} must be UTF-8 text. Convert the file.") from None
    if len(raw) > _MAX_BYTES:
        raise InputError(f"The rules {path} must be at most 1 MiB. Remove some rules.")
    return parse_rules(text, path.name)


def parse_rules(text: str, name: str) -> Rules:
    """Parse rules from the text of a TOML file called `name`."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        position = _PLACE.search(str(error))
        look = f": look at {position[1].replace('end of document', 'its end')}" if position else ""
        raise InputError(f"{name} must be a valid TOML file{look}.") from None
    try:
        rules = Rules.model_validate(document)
    except ValidationError as error:
        raise ParameterError(_sentence(error.errors()[0], name)) from None
    for complaint in _complaints(rules.rule, document, name):
        raise ParameterError(complaint)
    return rules


def numbered(number: int, name: str) -> str:
    """Return a rule's number and file, which reveal nothing about it."""
    return f"[[rule]] {number + 1} of {name}"


def _complaints(rules: Sequence[Rule], document: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield what is wrong with rules whose keys are valid."""
    names: dict[str, int] = {}
    for number, (rule, table) in enumerate(zip(rules, document.get("rule", ()), strict=True)):
        where = numbered(number, name)
        first = names.setdefault(rule.name.casefold(), number)
        if first != number:
            yield f"The 'name' of {where} must not be the name of [[rule]] {first + 1} as well."
        if not rule.name.isprintable():
            yield f"The 'name' of {where} must have visible characters only."
        if not (rule.words or rule.topics or rule.kinds or rule.pii or rule.everything):
            yield f"{where} must have at least one condition: {', '.join(_CONDITIONS)}."
        if rule.pii and rule.action == "pass":
            yield (
                f"{where} must not have 'pii' with action = \"pass\": a detected entity is no"
                " reason to send a query plainly."
            )
        if "pii_score" in table and not rule.pii:
            yield f"{where} must have 'pii' if it has 'pii_score'."


def _sentence(detail: ErrorDetails, name: str) -> str:
    """Return one of pydantic's errors as a sentence, without the value."""
    path = detail["loc"]
    nested = len(path) > 2 and path[0] == "rule"
    where = numbered(int(path[1]), name) if nested else name
    key, *rest = path[2:] if nested else path
    keys = _keys(Rule if nested else Rules)
    if detail["type"] == "extra_forbidden":
        matches = difflib.get_close_matches(str(key), keys, n=1)
        hint = f"; did you mean '{matches[0]}'?" if matches else "."
        return f"{where} has an unknown key{hint} Valid keys: {', '.join(keys)}."
    if detail["type"] == "missing":
        return f"{where} must have '{key}'."
    expected = _WANTED.get(detail["type"], "of another type")
    ordinal = f" number {int(rest[0]) + 1}" if rest else ""
    return f"The '{key}'{ordinal} of {where} must be {expected.format(**detail.get('ctx', {}))}."


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or key for key, field in model.model_fields.items()]


_SHOWN = 5  # names in a sentence

NO_RULES = "There are no rules, so every query is obfuscated."
NO_MATCH = "None of your rules matches, so the query is obfuscated."
HIDDEN = "Obfuscated: the query has invisible characters, which no rule on words lets pass."
UNCHECKED = "Refused: your rules could not be checked on this query, so it must not be sent."


def too_long_reason(limit: int) -> str:
    """Explain that the rules are only checked on shorter queries."""
    return f"Refused: your rules are checked on queries of at most {limit:,} characters."


def refusal_reason(rules: Sequence[Rule]) -> str:
    """Name the rules that refuse, and explain why."""
    written = all(not (rule.words or rule.topics or rule.everything) for rule in rules)
    why = (
        "no obfuscation is certain to hide a name, number or address that is written out"
        if written
        else "such queries are not sent in any form"
    )
    return f"Refused by {_yours(rules)}: {why}."


def obfuscation_reason(rules: Iterable[Rule]) -> str:
    """Name the rules that prevent plain sending."""
    return f"Obfuscated by {_yours(rules)}: such queries are never sent plainly."


def partial_reason(rules: Iterable[Rule]) -> str:
    """Explain that rules would let only part of the query pass."""
    return f"Obfuscated: {_yours(rules)} would let pass some words of the query, but not all."


def pass_reason(rules: Iterable[Rule]) -> str:
    """Explain what a rule with action "pass" allows."""
    return f"Obfuscated unless you ask for plain sending, which {_yours(rules)} would let pass."


def _yours(rules: Iterable[Rule]) -> str:
    names = [f"'{rule.name}'" for rule in rules]
    if len(names) == 1:
        return f"your rule {names[0]}"
    shown, rest = names[:_SHOWN], len(names) - _SHOWN
    last = f"{rest} more" if rest > 0 else shown.pop()
    return f"your rules {', '.join(shown)} and {last}"


class Gate:
    """Rules that are ready to decide on queries. A query that cannot be checked is refused.

    Build one with `load` or `empty`. It sends nothing, is immutable and thread-safe.
    """

    def __init__(self, rules: Rules, where: str, report: Report = no_progress) -> None:
        self._rules = rules.rule
        self._open = [rule.action == "pass" for rule in self._rules]
        restrictive = any(
            rule.words or rule.topics for rule in self._rules if rule.action != "pass"
        )
        self._strict = PhraseMatcher(loose_forms() if restrictive else strict_forms())
        self._pass = PhraseMatcher(strict_forms())
        for number, rule in enumerate(self._rules):
            self._learn(number, rule, numbered(number, where), report)
        self._detector: PresidioFinder | None = None
        self._entities = sorted({entity for rule in self._rules for entity in rule.pii})
        if self._entities:
            self._detector = PresidioFinder(rules.pii_model)
            for number, rule in enumerate(self._rules):
                self._detector.check(rule.pii, numbered(number, where))

    @classmethod
    def load(cls, path: Path, report: Report = no_progress) -> Self:
        """Read rules from a TOML file, and prepare everything they need."""
        rules = read_rules(path)
        if rules.pii_model and (folder := path.parent / rules.pii_model).is_dir():
            rules = rules.model_copy(update={"pii_model": str(folder.resolve())})
        return cls(rules, path.name, report)

    @classmethod
    def empty(cls) -> Self:
        """Return a gate without rules: every query is obfuscated."""
        return cls(Rules(), "")

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self._rules)

    def decide(self, query: str) -> Decision:
        """Return what may happen to a query and why, without quoting it."""
        if not self._rules:
            return Decision("obfuscate", NO_RULES)
        try:
            if len(query) > MAX_QUERY or len((read := readings(query)).written[0]) > MAX_QUERY:
                return Decision("refuse", too_long_reason(MAX_QUERY))
            return self._decided(read)
        except Exception:  # noqa: BLE001 - no error may pass the query or quote it
            return Decision("refuse", UNCHECKED)

    def _learn(self, number: int, rule: Rule, where: str, report: Report) -> None:
        phrases = self._pass if self._open[number] else self._strict
        for position, term in enumerate(rule.words, start=1):
            ways = [words for text in readings(term).loose if (words := units(text))]
            if not ways:
                raise ParameterError(
                    f"The 'words' number {position} of {where} must contain a word."
                )
            for words in ways:
                phrases.add(words, number)
        if rule.topics:
            senses = 1 if self._open[number] else 0  # "pass" counts only the commonest sense
            for words in topic_terms(rule.topics, where, senses, report):
                phrases.add_base(words, number)

    def _decided(self, query: QueryReadings) -> Decision:
        restrictive = [self._rules[number] for number in sorted(self._holding(query))]
        if not restrictive:
            return self._passing(query)
        names = tuple(rule.name for rule in restrictive)
        if refusing := [rule for rule in restrictive if rule.action == "refuse"]:
            return Decision("refuse", refusal_reason(refusing), names)
        return Decision("obfuscate", obfuscation_reason(restrictive), names)

    def _holding(self, query: QueryReadings) -> set[int]:
        """Return the matching rules that hold the query back."""
        matches = {rule for text in query.loose for rule, _ in self._strict.found(units(text))}
        kinds = {unit.kind for text in query.written for unit in units(text)}
        scores = self._scores(query.written)
        for number, rule in enumerate(self._rules):
            sure = any(scores.get(entity, 0.0) >= rule.pii_score for entity in rule.pii)
            if not self._open[number] and (rule.everything or sure or kinds & set(rule.kinds)):
                matches.add(number)
        return matches

    def _scores(self, texts: Sequence[str]) -> dict[str, float]:
        if self._detector is None:
            return {}
        score = partial(self._detector.scores, entities=self._entities)
        results = [score(text) for text in texts]
        return {key: max(result.get(key, 0.0) for result in results) for key in self._entities}

    def _passing(self, query: QueryReadings) -> Decision:
        """Decide on a query that no rule holds back."""
        if free := [rule for rule in self._rules if rule.action == "pass" and rule.everything]:
            return Decision("pass", pass_reason(free), tuple(rule.name for rule in free))
        words = units(query.written[1 if query.hidden else 0])
        numbers: set[int] = set()
        covered: set[int] = set()
        for number, places in (*self._pass.found(words), *self._of_a_kind(words)):
            numbers.add(number)
            covered.update(places)
        if not numbers:
            return Decision("obfuscate", NO_MATCH)
        rules = [self._rules[number] for number in sorted(numbers)]
        if query.hidden:
            return Decision("obfuscate", HIDDEN)
        if any(word.counts for place, word in enumerate(words) if place not in covered):
            return Decision("obfuscate", partial_reason(rules))
        return Decision("pass", pass_reason(rules), tuple(rule.name for rule in rules))

    def _of_a_kind(self, words: Sequence[QueryWord]) -> Iterator[tuple[int, range]]:
        """Yield the "pass" rules that match by kind, and the positions of the words."""
        for number, rule in enumerate(self._rules):
            for place, word in enumerate(words):
                if self._open[number] and word.kind in rule.kinds:
                    yield number, range(place, place + 1)


def example_gate() -> str:
    """Return the text of a commented example file of rules."""
    return resources.files("veil.proxy").joinpath("example-gate.toml").read_text("utf-8")
