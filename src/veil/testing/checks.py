"""Checks that mechanisms, attacks, measures and engines keep their contract."""

import hashlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, ParamSpec, cast

import numpy as np

from veil.core.component import Component, example
from veil.core.errors import LawError, ParameterError, TrustError, VeilError
from veil.core.guarantee import KINDS, Guarantee
from veil.core.types import ClosedForm, Engine, Ids, Released, Role, Seeded, Singles
from veil.corpus.wordnet import Thesaurus, wordnet
from veil.measures.risk import chance, successes
from veil.text.attacks.attack import AttackSpec, EncoderAttack, Outcome, Scene
from veil.text.attacks.log import QueryLog
from veil.text.measures.measure import NEEDS, Comparison, TextMeasure
from veil.text.mechanisms.mechanism import (
    QueryMechanism,
    QueryRelease,
    TextMechanism,
    WordMechanism,
)
from veil.text.mechanisms.words.custext import CusText
from veil.text.mechanisms.words.santext import SanText
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings

P = ParamSpec("P")


class _BrokenError(AssertionError):
    """What a check found, in one sentence."""


def in_one_sentence(hint: str = "") -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Let a check fail with a sentence also where a component raises; it may quote a text."""

    def decorate(check: Callable[P, None]) -> Callable[P, None]:
        @wraps(check)
        def told(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                check(*args, **kwargs)
            except VeilError:
                raise
            except _BrokenError as broken:
                sentence = str(broken)
            except Exception as error:  # noqa: BLE001 - whatever a component may raise
                sentence = _raised(error) + hint
            else:
                return
            raise AssertionError(sentence)

        return told

    return decorate


def _raised(error: Exception) -> str:
    """Say what was raised and where, without its message."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"a component may raise VeilErrors alone; at {where} it raised {type(error).__name__}"


def declared(cls: type[Component]) -> None:
    """Check what lists, help and documentation are made of."""
    name = getattr(cls, "name", "")
    require(
        isinstance(name, str) and name.isascii() and name.isidentifier(),
        "there must be a `name` of letters, digits and _, as a spec has it",
    )
    require(
        bool((vars(cls).get("__doc__") or "").strip()),
        "the class must have a docstring of its own, whose first line is listed",
    )
    for key, field in cls.model_fields.items():
        require(
            bool(field.examples) or not field.is_required(),
            f"the required field '{key}' must have an example: Field(examples=[...])",
        )
    require(builds(cls), "the first example of each required field must be valid")


def builds(cls: type[Component]) -> bool:
    """Tell whether a component can be built from the examples of its parameters."""
    try:
        example(cls)
    except ParameterError:
        return False
    return True


def require(holds: bool, sentence: str) -> None:
    """Fail with a sentence unless something holds."""
    if not holds:
        raise _BrokenError(sentence)


GROUPS, SIZE = 50, 6


class Grouped(QueryMechanism):
    """Send one of fifty groups of six texts each, whichever the query belongs to."""

    name: ClassVar[str] = "grouped"
    whole: ClassVar[bool] = True

    @property
    def guarantee(self) -> Guarantee:
        """Nothing: it is there to be attacked."""
        return Guarantee("none", unit="query", caveat="Made for the checks.")

    def bind(self) -> "GroupTable":
        """Return the table."""
        return GroupTable()


class GroupTable:
    """The address of a query is its digest."""

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query."""
        digests = (hashlib.sha256(text.casefold().encode()).digest() for text in texts)
        return np.array([digest[0] % GROUPS for digest in digests], dtype=np.int64)

    def group(self, address: int) -> tuple[str, ...]:
        """Return the texts that are sent for all queries of an address."""
        return tuple(f"text {number} of group {address}" for number in range(SIZE))

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return the group of a query."""
        (address,) = self.address([text])
        return QueryRelease(self.group(int(address))[:size], (), len(text.split()))


def small_log() -> tuple[Embeddings, list[str]]:
    """Return word vectors, and texts of three of the words each."""
    rng = np.random.default_rng(5)
    words = tuple(f"{a}{b}" for a in "bdfgklmnprst" for b in ("ano", "elu", "ira", "omi", "ute"))
    space = Embeddings(words, rng.normal(size=(len(words), 6)).astype(np.float32), "check")
    return space, list(dict.fromkeys(" ".join(rng.choice(words, 3)) for _ in range(200)))


class Letters:
    """A model of texts that counts pairs of letters: enough to tell words apart."""

    key, dim = "letters", 256

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim)."""
        del role
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(out, texts, strict=True):
            for pair in pairwise(f" {text} "):
                row[(31 * ord(pair[0]) + ord(pair[1])) % self.dim] += 1
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        made: Singles = (out / np.where(norms > 0, norms, 1)).astype(np.float32)
        return made


@in_one_sentence()
def check_mechanism(mechanism: WordMechanism) -> None:
    """Raise AssertionError where a word mechanism breaks the contract of `bind` and `sample`.

    It must be one that draws: give parameters with which words often change.
    """
    require(
        isinstance(mechanism, WordMechanism),
        "the mechanism must be one for words, with its parameters: no class, and no name",
    )
    declared(type(mechanism))
    require(bool(mechanism.paper), "a mechanism must have a `paper`: where it is defined")
    rng = np.random.default_rng(0)
    vectors = 0.02 * rng.normal(size=(200, 6)).astype(np.float32)  # near: any budget moves words
    space = Embeddings(tuple(f"word{i}" for i in range(200)), vectors.copy(), "check")
    ids = np.array([7, 0, 199, 7, 42])
    before = ids.copy()
    kernel = mechanism.bind(space)

    size = 2000
    draws = kernel.sample(ids, size, np.random.default_rng(1))
    require(draws.shape == (size, 5), "sample(ids, size, rng) must give (size, n) draws")
    require(np.issubdtype(draws.dtype, np.integer), "draws must be whole numbers")
    require(draws.min() >= 0 and draws.max() < 200, "draws must be words of the space")
    again = mechanism.bind(space).sample(ids, size, np.random.default_rng(1))
    require(np.array_equal(draws, again), "the same generator must give the same draws")
    other = mechanism.bind(space).sample(ids, size, np.random.default_rng(2))
    require(
        not np.array_equal(draws, other),
        "draws must depend on the generator; give parameters with which words change",
    )
    require(not np.array_equal(draws[:, 0], draws[:, 3]), "each place must be drawn on its own")
    require(np.array_equal(ids, before), "the input must stay as it is")
    require(np.array_equal(space.vectors, vectors), "the space must stay as it is")
    require(kernel.sample(ids[:0], 3, rng).shape == (3, 0), "no words must give no draws")

    require(mechanism.guarantee.kind in KINDS, "the guarantee must be of a known kind")
    if isinstance(kernel, ClosedForm):
        total = np.exp(kernel.log_probs(ids)).sum(axis=1)
        require(np.allclose(total, 1), "probabilities must add up to 1")


Rows = tuple[tuple[str, ...], ...]


@in_one_sentence("; say in `needs` what it cannot do without: log, mechanism, space")
def check_attack(attacker: AttackSpec) -> None:
    """Raise AssertionError where an attacker breaks the contract of `attack`.

    It is shown texts of a small log that were hardly changed, by mechanisms that it may know: it
    must do better than a blind guess, must not look at the truth of one text for another, and
    must fail where the variants are of other texts.
    """
    require(
        isinstance(attacker, AttackSpec),
        "the attacker must be an AttackSpec with its parameters: no class, and no name",
    )
    declared(type(attacker))
    require(
        set(attacker.needs) <= {"log", "mechanism", "space"},
        "an attacker may need some of log, mechanism, space",
    )
    scenes = [scene for scene in _scenes(attacker) if _works(attacker, scene)]
    require(
        bool(scenes),
        "an attacker must work against one of santext, custext, and a table of groups; say in"
        " `needs` what it cannot do without: log, mechanism, space",
    )
    _check_ranks(attacker, scenes[0])
    _check_guesses(attacker, scenes[0])


def _check_ranks(attacker: AttackSpec, scene: Scene) -> None:
    found = _attacked(attacker, scene)
    count, texts = len(found.ranks), len(scene.originals)
    require(count > 0, "there must be something to guess")
    for name in ("candidates", "subjects", "ties"):
        given = getattr(found, name)
        require(given is None or len(given) == count, f"{name} must be given for every rank")
    require(bool((found.ranks >= 1).all()), "the first guess has rank 1")
    require(
        bool((found.ranks <= found.candidates + 1).all()), "no rank may be beyond the candidates"
    )
    require(found.ties is None or bool((found.ties >= 1).all()), "the truth ties with itself")
    require(
        found.subjects.min() >= 0 and found.subjects.max() < texts, "texts must be of the scene"
    )
    again = _attacked(attacker, scene)
    require(np.array_equal(found.ranks, again.ranks), "the same question has the same answer")


def _check_guesses(attacker: AttackSpec, scene: Scene) -> None:
    """Check that it guesses, and by what it is shown alone."""
    found = _attacked(attacker, scene)
    blind = chance(found.candidates, "lazy", ranks=found.ranks)
    require(_right(found) > 2 * blind, "an attacker must do better than a blind guess")
    if found.unit != "release":  # there the truth is which rows belong together
        others = replace(scene, originals=(scene.originals[0], *scene.originals[:0:-1]))
        first = found.subjects == 0
        other = _attacked(attacker, others)
        require(
            np.array_equal(found.ranks[first], other.ranks[other.subjects == 0]),
            "the truth of one text must not change the guesses of another",
        )
    texts = len(scene.originals)
    rows = tuple(  # each of variants of other texts, and no two of one text
        tuple(scene.variants[(i + j + 1) % texts][j] for j in range(len(row)))
        for i, row in enumerate(scene.variants)
    )
    mixed = _attacked(attacker, replace(scene, variants=rows))
    require(
        2 * _right(mixed) <= _right(found),
        "an attacker must not guess a text from the variants of others: it looks at the truth",
    )


def _right(found: Outcome) -> float:
    """Return the share of first guesses that are right."""
    won = successes(found.ranks, "lazy", candidates=found.candidates, ties=found.ties)
    return float(won.mean())


def _scenes(attacker: AttackSpec) -> Iterator[Scene]:
    """Yield texts with variants by mechanisms that hardly change them."""
    space, texts = small_log()
    originals = tuple(texts[:12])
    word_by_word = (SanText(epsilon=30), CusText(epsilon=2, k=6))
    released: list[tuple[TextMechanism, Rows]] = [
        (one, protect_words(originals, one, space, 6, rng=3).rows) for one in word_by_word
    ]
    whole, table = Grouped(), Grouped().bind()
    released.append((whole, tuple(table.scramble(text, 6).queries for text in originals)))
    for mechanism, rows in released:
        yield Scene(
            rows,
            originals,
            QueryLog.of(texts) if "log" in attacker.needs else None,
            mechanism if "mechanism" in attacker.needs else None,
            space if "space" in attacker.against(mechanism) else None,
        )


def _works(attacker: AttackSpec, scene: Scene) -> bool:
    try:
        _attacked(attacker, scene)
    except (LawError, ParameterError):  # it cannot work against this mechanism
        return False
    return True


def _attacked(attacker: AttackSpec, scene: Scene) -> Outcome:
    if isinstance(attacker, EncoderAttack):
        return attacker.rank(scene, Letters())
    return attacker.attack(scene)


@in_one_sentence("; say in `needs` what it cannot do without")
def check_measure(measure: TextMeasure, thesaurus: Thesaurus | None = None) -> None:
    """Raise AssertionError where a measure breaks the contract of `measure`.

    It is shown texts beside variants of them, and one text without any; of what it may look
    things up in, that alone which it says it needs. `thesaurus` is for a measure that needs one,
    in the place of WordNet.
    """
    require(
        isinstance(measure, TextMeasure),
        "the measure must be a TextMeasure with its parameters: no class, and no name",
    )
    declared(type(measure))
    require(bool(getattr(measure, "says", "")), "a measure must say what it counts, in `says`")
    fields = type(measure).model_fields.values()
    require(set(measure.needs) <= NEEDS, f"a measure may need some of {', '.join(sorted(NEEDS))}")
    require(not any(field.is_required() for field in fields), "parameters must have a default")
    space, texts = small_log()
    texts = texts[:9]
    vectors = space.vectors.copy()
    mechanism = SanText(epsilon=3)
    rows = protect_words(texts, mechanism, space, 6, rng=3).rows
    given = Comparison(
        tuple(texts),
        (*rows[:-1], ()),
        Letters() if "encoder" in measure.needs else None,
        (thesaurus or wordnet()) if "thesaurus" in measure.needs else None,
        mechanism if "mechanism" in measure.needs else None,
        space if "vectors" in measure.needs else None,
    )
    values = measure.measure(given)
    require(np.shape(values) == (len(texts),), "there must be one value for each text, (n,)")
    require(np.asarray(values).dtype == np.float64, "values must be float64")
    require(bool(np.isnan(values[-1])), "a text without variants must have no value: nan")
    require(not np.isnan(values[:-1]).any(), "nan is for what cannot be measured, and that alone")
    low, high = measure.lowest - 1e-12, measure.highest + 1e-12
    require(
        bool(((values[:-1] >= low) & (values[:-1] <= high)).all()),
        "values must lie between lowest and highest",
    )
    again = measure.measure(given)
    require(np.array_equal(values, again, equal_nan=True), "the same texts have the same values")
    require(np.array_equal(space.vectors, vectors), "the word vectors must stay as they are")
    turned = replace(given, originals=given.originals[::-1], variants=given.variants[::-1])
    require(
        np.allclose(measure.measure(turned)[::-1], values, equal_nan=True),
        "the value of a text must not depend on the others",
    )
    if measure.equal is not None:
        alike = replace(given, variants=tuple((text, text) for text in texts))
        require(
            np.allclose(measure.measure(alike), measure.equal),
            "where every variant is the text itself, the value must be `equal`",
        )


@in_one_sentence()
def check_engine(
    engine: Engine, queries: Sequence[str], k: int = 5, *, spec: Component | None = None
) -> None:
    """Raise AssertionError where an engine breaks the contract of `search`.

    `queries` must be texts that may be sent to it, and that it can answer. `spec` is what it was
    opened from, where that is not the engine itself.
    """
    require(
        isinstance(getattr(engine, "network", None), bool) and hasattr(engine, "search"),
        "an engine must have `network` and `search`; of a spec give what its `open` returns",
    )
    for part in (engine, spec):
        if isinstance(part, Component):
            declared(type(part))
    require(
        len(queries) > 0 and not isinstance(queries, str), "there must be a list of queries to ask"
    )
    asked = [Released(query) for query in queries]
    plain = str(queries[0])  # no longer a released string, should it be one
    for bad in ([*asked, plain], plain):
        require(_refuses(engine, bad, k), "an engine must refuse what was not released")
    if engine.network:
        seeded = [Seeded(query) for query in queries]
        require(_refuses(engine, seeded, k), "an engine on a network must refuse seeded releases")
    found = engine.search(asked, k)
    require(len(set(found.items)) == len(found.items), "each item must be listed once")
    for name in ("texts", "titles"):
        known = len(getattr(found, name))
        require(known in (0, len(found.items)), f"{name} must be given for all items, or none")
    shape = (len(asked), k)
    require(found.index.shape == found.scores.shape == shape, "lists must be (n, k)")
    require(len(found.gaps) in (0, len(asked)), "gaps must be given for all queries, or none")
    require(found.index.max(initial=-1) < len(found.items), "positions must be of items")
    for row, scores in zip(found.index, found.scores, strict=True):
        length = int((row >= 0).sum())
        require(bool((row[length:] == -1).all()), "-1 must pad at the end alone")
        require(bool(np.isneginf(scores[length:]).all()), "-inf must pad the scores")
        require(len(set(row[:length].tolist())) == length, "a list must hold no item twice")
        require(bool((np.diff(scores[:length]) <= 0).all()), "scores must not increase")
    require(bool((found.index >= 0).any()), "the queries must be ones that it can answer")


def _refuses(engine: Engine, queries: object, k: int) -> bool:
    try:
        engine.search(cast(Sequence[Released], queries), k)
    except TrustError:
        return True
    return False
