"""The sensitivity gate: rules of the user's own say what may become of a query.

How the rules read a query: in every way it may be meant, whatever it was typed with.

Full-width and other compatibility characters are taken for the plain ones (NFKC), odd apostrophes
and hyphens too. Characters that cannot be seen are taken for nothing and for a space: a rule that
forbids is to match in either case. Letters of another script that look alike are not unmasked.

Rules of the user's own, read from a TOML file and checked; what they say is never quoted.
A list of what somebody holds to be sensitive is sensitive: messages name the file, the number of
the rule and the key, and nothing that stands there.

The sensitivity gate: rules of the user's own say what may become of a query.
The rules are a TOML file; `example_gate` is one with comments::

    [[rule]]
    name = "illness"
    topics = ["illness", "cancer"]
    action = "obfuscate"

A rule matches when any of its conditions does. The strictest one that matches decides: ``refuse``
before ``obfuscate`` before ``pass``. A query that no rule matches is obfuscated.

``refuse``
    The query is not sent in any form.
``obfuscate``
    The query is obfuscated, even if the user asks for plain sending.
``pass``
    The user may ask for plain sending; without being asked, the query is obfuscated. A rule that
    lets pass is narrower than the others: **every** word of the query but function words must be
    covered by the words, topics or kinds of such rules. With ``words = ["weather"]``, "weather
    tomorrow" is obfuscated unless *tomorrow* is covered, too. What passes is sent as it was typed,
    and nothing protects it; ``all = true`` lets everything pass that no other rule holds back.

Rules that hold back read a query in several ways (see `rules._reading`), and take a word for
any that it is derived from. They go by spelling: what is spelt out ("john at example dot org",
"five five five"), misspelt, run together, in another language or in letters that only look alike
is not found; a word with digits in it is an ``identifier``, not a ``number``. A topic goes by
WordNet, whatever a word means where it stands. A detector of personal data overlooks much. What
is not found is obfuscated like everything else, unless ``all = true`` lets it pass on request.
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
_BLANKS = frozenset(  # drawn as nothing, though they count as letters, marks or symbols
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
)
_HYPHEN = re.compile(r"(?<=[^\W_])-(?=[^\W_])")
_INSIDE = re.compile(r"[^\w\s'-]|_")  # what parts the words of an address


@brief()
@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word as it is compared: without case, accents, clitic and hyphens."""

    text: str
    kind: Kind

    @property
    def counts(self) -> bool:
        """Whether it is more than a function word."""
        return self.text not in STOP_WORDS


@brief()
@dataclass(frozen=True, slots=True)
class QueryReadings:
    """The ways to read a query.

    `written` holds the query itself, and what it is without characters that cannot be seen;
    `hidden` says whether there are any. `loose` adds what it is without hyphens, and with the
    words of its addresses apart.
    """

    written: tuple[str, ...]
    loose: tuple[str, ...]
    hidden: bool


def readings(query: str) -> QueryReadings:
    """Return the ways to read a query, each once, the plainest first."""
    plain = _even(query)
    unseen = {character for character in set(plain) if _is_unseen(character)}
    joined = _even("".join(c for c in plain if c not in unseen)) if unseen else plain
    apart = "".join(" " if c in unseen else c for c in plain) if unseen else plain
    written = tuple(dict.fromkeys((plain, joined, apart)))
    loose = (*written, drop_hyphens(joined), _INSIDE.sub(" ", joined))
    return QueryReadings(written, tuple(dict.fromkeys(loose)), bool(unseen))


def units(text: str) -> list[QueryWord]:
    """Return the words of a text, in order.

    >>> [unit.text for unit in units("The Café's X-RAY, 3 rooms")]
    ['the', 'cafe', 'x', 'ray', '3', 'rooms']
    """
    found = []
    text = _even(text)
    for token in tokens(text):
        word = text[token.start : token.end]
        named = token.kind in (Kind.WORD, Kind.IDENTIFIER)
        parts: Sequence[str] = bare_parts(word) if named else (word.casefold(),)
        found += [QueryWord(unaccented(part) or part, token.kind) for part in parts]
    return found


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
    """Tell whether a character is drawn as nothing, or not known to be drawn as something."""
    if character.isspace():
        return False
    if unicodedata.category(character)[0] == "C" or character in _BLANKS:
        return True
    return "VARIATION SELECTOR" in unicodedata.name(character, "")


_Phrase = tuple[frozenset[str], ...]  # the forms of each of its words


class PhraseMatcher:
    """Phrases of rules, by the forms of their first word; a word is a phrase of one."""

    def __init__(self, akin: WordForms) -> None:
        self._akin = akin
        self._starts: dict[str, list[tuple[_Phrase, int]]] = {}

    def add(self, words: Sequence[QueryWord], rule: int) -> None:
        """Add a phrase that a rule names; no words are no phrase."""
        self._add(words, rule, self._akin.forms)

    def add_base(self, words: Sequence[QueryWord], rule: int) -> None:
        """Add a phrase that stands in a dictionary, and is no form of anything else."""
        self._add(words, rule, self._akin.base)

    def _add(self, words: Sequence[QueryWord], rule: int, forms: Forms) -> None:
        phrase = tuple(forms(word.text) for word in words)
        for form in phrase[0] if phrase else ():
            self._starts.setdefault(form, []).append((phrase, rule))

    def found(self, words: Sequence[QueryWord]) -> Iterator[tuple[int, range]]:
        """Yield the rules whose phrases occur, and the places that they take up."""
        if not self._starts:
            return
        forms = [self._akin.forms(word.text) for word in words]
        for at, own in enumerate(forms):
            for form in own:
                for phrase, rule in self._starts.get(form, ()):
                    if _stands(phrase, forms[at : at + len(phrase)]):
                        yield rule, range(at, at + len(phrase))


def _stands(phrase: _Phrase, there: Sequence[frozenset[str]]) -> bool:
    """Tell whether each word of a phrase is akin to the word that stands there."""
    return len(phrase) == len(there) and not any(
        wanted.isdisjoint(own) for wanted, own in zip(phrase, there, strict=True)
    )


_LEVELS = 40  # twice as deep as WordNet is
_MAX_TERMS = 30_000  # of one rule


def topic_terms(
    topics: Sequence[str], where: str, senses: int = 0, report: Report = no_progress
) -> list[list[QueryWord]]:
    """Return the words and compounds that belong to topics; `senses` as in `Thesaurus`.

    Words below a topic that are spelt like a function word, a letter or a number are left out: a
    "will" is a document, too.
    """
    thesaurus = wordnet(report=report)
    asked = [" ".join(topic.split()).lower() for topic in topics]
    found: set[str] = set()
    for number, topic in enumerate(asked, start=1):
        below = _below(thesaurus, topic, senses)
        if below is None:
            raise ParameterError(
                f"The 'topics' number {number} of {where} must be a noun that WordNet knows;"
                " put other words under 'words'."
            )
        found |= below
        if len(found) > _MAX_TERMS:
            raise ParameterError(
                f"The 'topics' number {number} of {where} must be narrower: with it there are more"
                f" than {_MAX_TERMS:,} words."
            )
    spelt = [units(term) for term in sorted(found | {drop_hyphens(term) for term in found})]
    return [units(topic) for topic in asked] + [words for words in spelt if _telling(words)]


def _telling(words: Sequence[QueryWord]) -> bool:
    """Tell whether a term has a word of its own in it."""
    return any(word.counts and len(word.text) > 1 and not word.text.isdigit() for word in words)


def _below(thesaurus: Thesaurus, topic: str, senses: int) -> frozenset[str] | None:
    """Return synonyms and hyponyms at all levels; None for a word that is not known."""
    found = thesaurus.synonyms(topic, "NN", senses)
    found |= thesaurus.hyponyms(topic, "NN", _LEVELS, senses)
    return found if found or thesaurus.hypernyms(topic, "NN") else None


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


_SHOWN = 5  # names in one sentence

NO_RULES = "There are no rules, so that every query is obfuscated."
NO_MATCH = "None of your rules matches, so that the query is obfuscated."
HIDDEN = (
    "Obfuscated: the query holds characters that cannot be seen, which no rule on words lets pass."
)
UNCHECKED = "Refused: your rules could not be checked on this query, so that it must not be sent."


def too_long_reason(limit: int) -> str:
    """Say that the rules are checked on shorter queries only."""
    return f"Refused: your rules are checked on queries of at most {limit:,} characters."


def refusal_reason(rules: Sequence[Rule]) -> str:
    """Say which rules refuse, and why they should."""
    written = all(not (rule.words or rule.topics or rule.everything) for rule in rules)
    why = (
        "no obfuscation is sure to hide a name, a number or an address that is written out"
        if written
        else "such queries are not sent in any form"
    )
    return f"Refused by {_yours(rules)}: {why}."


def obfuscation_reason(rules: Iterable[Rule]) -> str:
    """Say which rules keep a query from being sent plainly."""
    return f"Obfuscated by {_yours(rules)}: such queries are never sent plainly."


def partial_reason(rules: Iterable[Rule]) -> str:
    """Say that rules would let pass a part of the query only."""
    return f"Obfuscated: {_yours(rules)} would let pass some words of the query, but not all."


def pass_reason(rules: Iterable[Rule]) -> str:
    """Say what a rule that lets pass means."""
    return f"Obfuscated unless you ask for plain sending, which {_yours(rules)} would let pass."


def _yours(rules: Iterable[Rule]) -> str:
    names = [f"'{rule.name}'" for rule in rules]
    if len(names) == 1:
        return f"your rule {names[0]}"
    shown, left = names[:_SHOWN], len(names) - _SHOWN
    last = f"{left} more" if left > 0 else shown.pop()
    return f"your rules {', '.join(shown)} and {last}"


class Gate:
    """Rules, ready to decide. It sends nothing, and fails closed: what it cannot check it refuses.

    Build one with `load` or `empty`. It does not change, and may be asked by many threads.
    """

    def __init__(self, rules: Rules, where: str, report: Report = no_progress) -> None:
        self._rules = rules.rule
        self._open = [rule.action == "pass" for rule in self._rules]
        held = any(rule.words or rule.topics for rule in self._rules if rule.action != "pass")
        self._strict = PhraseMatcher(loose_forms() if held else strict_forms())
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
        """Read rules from a TOML file; everything that they need is made ready."""
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
        """Say what may become of a query, and why, without quoting it."""
        if not self._rules:
            return Decision("obfuscate", NO_RULES)
        try:
            if len(query) > MAX_QUERY or len((read := readings(query)).written[0]) > MAX_QUERY:
                return Decision("refuse", too_long_reason(MAX_QUERY))
            return self._decided(read)
        except Exception:  # noqa: BLE001 - whatever it is, it must neither pass nor be told
            return Decision("refuse", UNCHECKED)

    def _learn(self, number: int, rule: Rule, where: str, report: Report) -> None:
        """Take up the words and topics of a rule."""
        phrases = self._pass if self._open[number] else self._strict
        for place, term in enumerate(rule.words, start=1):
            ways = [words for text in readings(term).loose if (words := units(text))]
            if not ways:
                raise ParameterError(f"The 'words' number {place} of {where} must hold a word.")
            for words in ways:
                phrases.add(words, number)
        if rule.topics:
            senses = 1 if self._open[number] else 0  # to let pass, only the commonest
            for words in topic_terms(rule.topics, where, senses, report):
                phrases.add_base(words, number)

    def _decided(self, query: QueryReadings) -> Decision:
        held = [self._rules[number] for number in sorted(self._holding(query))]
        if not held:
            return self._passing(query)
        names = tuple(rule.name for rule in held)
        if refusing := [rule for rule in held if rule.action == "refuse"]:
            return Decision("refuse", refusal_reason(refusing), names)
        return Decision("obfuscate", obfuscation_reason(held), names)

    def _holding(self, query: QueryReadings) -> set[int]:
        """Return the rules that match and do not let pass."""
        found = {rule for text in query.loose for rule, _ in self._strict.found(units(text))}
        kinds = {unit.kind for text in query.written for unit in units(text)}
        scores = self._scores(query.written)
        for number, rule in enumerate(self._rules):
            sure = any(scores.get(entity, 0.0) >= rule.pii_score for entity in rule.pii)
            if not self._open[number] and (rule.everything or sure or kinds & set(rule.kinds)):
                found.add(number)
        return found

    def _scores(self, texts: Sequence[str]) -> dict[str, float]:
        if self._detector is None:
            return {}
        ask = partial(self._detector.scores, entities=self._entities)
        found = [ask(text) for text in texts]
        return {key: max(one.get(key, 0.0) for one in found) for key in self._entities}

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
        """Yield the rules that let pass sorts of words, and the places of these."""
        for number, rule in enumerate(self._rules):
            for place, word in enumerate(words):
                if self._open[number] and word.kind in rule.kinds:
                    yield number, range(place, place + 1)


def example_gate() -> str:
    """Return a file of rules with comments, to start from."""
    return resources.files("veil.proxy").joinpath("example-gate.toml").read_text("utf-8")
