"""The sensitivity gate: rules of the user's own say what may become of a query.

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

from collections.abc import Iterator, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Self

from veil.core.errors import ParameterError
from veil.corpus.inflection import narrow, wide
from veil.data.fetch import Report, silent
from veil.proxy.gate import _reasons
from veil.proxy.gate._phrases import Phrases
from veil.proxy.gate._reading import Readings, Unit, readings, units
from veil.proxy.gate._rules import Rule, Rules, numbered, read_rules
from veil.proxy.gate._topics import terms
from veil.proxy.types import Decision
from veil.search.pipeline import MAX_QUERY
from veil.text.redact.presidio import Detector


class Gate:
    """Rules, ready to decide. It sends nothing, and fails closed: what it cannot check it refuses.

    Build one with `load` or `empty`. It does not change, and may be asked by many threads.
    """

    def __init__(self, rules: Rules, where: str, report: Report = silent) -> None:
        self._rules = rules.rule
        self._open = [rule.action == "pass" for rule in self._rules]
        held = any(rule.words or rule.topics for rule in self._rules if rule.action != "pass")
        self._strict = Phrases(wide() if held else narrow())
        self._pass = Phrases(narrow())
        for number, rule in enumerate(self._rules):
            self._learn(number, rule, numbered(number, where), report)
        self._detector: Detector | None = None
        self._entities = sorted({entity for rule in self._rules for entity in rule.pii})
        if self._entities:
            self._detector = Detector(rules.pii_model)
            for number, rule in enumerate(self._rules):
                self._detector.check(rule.pii, numbered(number, where))

    @classmethod
    def load(cls, path: Path, report: Report = silent) -> Self:
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
            return Decision("obfuscate", _reasons.NO_RULES)
        try:
            if len(query) > MAX_QUERY or len((read := readings(query)).written[0]) > MAX_QUERY:
                return Decision("refuse", _reasons.too_long(MAX_QUERY))
            return self._decided(read)
        except Exception:  # noqa: BLE001 - whatever it is, it must neither pass nor be told
            return Decision("refuse", _reasons.UNCHECKED)

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
            for words in terms(rule.topics, where, senses, report):
                phrases.add_base(words, number)

    def _decided(self, query: Readings) -> Decision:
        held = [self._rules[number] for number in sorted(self._holding(query))]
        if not held:
            return self._passing(query)
        names = tuple(rule.name for rule in held)
        if refusing := [rule for rule in held if rule.action == "refuse"]:
            return Decision("refuse", _reasons.refused(refusing), names)
        return Decision("obfuscate", _reasons.obfuscated(held), names)

    def _holding(self, query: Readings) -> set[int]:
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

    def _passing(self, query: Readings) -> Decision:
        """Decide on a query that no rule holds back."""
        if free := [rule for rule in self._rules if rule.action == "pass" and rule.everything]:
            return Decision("pass", _reasons.passed(free), tuple(rule.name for rule in free))
        words = units(query.written[1 if query.hidden else 0])
        numbers: set[int] = set()
        covered: set[int] = set()
        for number, places in (*self._pass.found(words), *self._of_a_kind(words)):
            numbers.add(number)
            covered.update(places)
        if not numbers:
            return Decision("obfuscate", _reasons.NO_MATCH)
        rules = [self._rules[number] for number in sorted(numbers)]
        if query.hidden:
            return Decision("obfuscate", _reasons.HIDDEN)
        if any(word.counts for place, word in enumerate(words) if place not in covered):
            return Decision("obfuscate", _reasons.in_part(rules))
        return Decision("pass", _reasons.passed(rules), tuple(rule.name for rule in rules))

    def _of_a_kind(self, words: Sequence[Unit]) -> Iterator[tuple[int, range]]:
        """Yield the rules that let pass sorts of words, and the places of these."""
        for number, rule in enumerate(self._rules):
            for place, word in enumerate(words):
                if self._open[number] and word.kind in rule.kinds:
                    yield number, range(place, place + 1)


def example_gate() -> str:
    """Return a file of rules with comments, to start from."""
    return resources.files("veil.proxy.gate").joinpath("example-gate.toml").read_text("utf-8")
