"""Checks of text: mechanisms for words and for queries, attacks and measures."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from veil.core.errors import LawError, ParameterError
from veil.core.guarantee import KINDS, Guarantee
from veil.core.rng import Randomness
from veil.core.types import ClosedForm, Ids, Role, Singles, Variants
from veil.corpus.wordnet import Thesaurus, wordnet
from veil.measures.risk import chance, successes
from veil.testing.contract import (
    CANARY,
    Check,
    Protection,
    declarations,
    declared,
    in_one_sentence,
    parameters,
    require,
)
from veil.text.attack import Attack, EncoderAttack, Outcome, Scene
from veil.text.log import QueryLog
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

GROUPS, SIZE = 50, 6


class Grouped(QueryMechanism):
    """Send one of fifty groups of six texts each: the group of the query."""

    name: ClassVar[str] = "grouped"
    whole: ClassVar[bool] = True

    @property
    def guarantee(self) -> Guarantee:
        """No guarantee: the mechanism exists to be attacked."""
        return Guarantee("none", unit="query", caveat="Made for the checks.")

    def bind(self) -> "GroupTable":
        """Return the table."""
        return GroupTable()


class GroupTable:
    """A table of groups whose addresses are digests of queries."""

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query."""
        digests = (hashlib.sha256(text.casefold().encode()).digest() for text in texts)
        return np.array([digest[0] % GROUPS for digest in digests], dtype=np.int64)

    def group(self, address: int) -> tuple[str, ...]:
        """Return the texts that are sent for every query of an address."""
        return tuple(f"text {number} of group {address}" for number in range(SIZE))

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return the group of a query."""
        (address,) = self.address([text])
        return QueryRelease(self.group(int(address))[:size], (), len(text.split()))


def small_log() -> tuple[Embeddings, list[str]]:
    """Return word vectors, and texts of three of their words each."""
    rng = np.random.default_rng(5)
    words = tuple(f"{a}{b}" for a in "bdfgklmnprst" for b in ("ano", "elu", "ira", "omi", "ute"))
    space = Embeddings(words, rng.normal(size=(len(words), 6)).astype(np.float32), "check")
    return space, list(dict.fromkeys(" ".join(rng.choice(words, 3)) for _ in range(200)))


class Letters:
    """A text encoder that counts pairs of letters, which is enough to distinguish words."""

    key, dim = "letters", 256

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim)."""
        del role
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(out, texts, strict=True):
            for pair in pairwise(f" {text} "):
                row[(31 * ord(pair[0]) + ord(pair[1])) % self.dim] += 1
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        unit: Singles = (out / np.where(norms > 0, norms, 1)).astype(np.float32)
        return unit


@in_one_sentence()
def check_mechanism(mechanism: WordMechanism) -> None:
    """Raise AssertionError if a word mechanism breaks the contract of `bind` and `sample`.

    The mechanism must be random. Choose parameters with which words often change.
    """
    require(
        isinstance(mechanism, WordMechanism),
        "the mechanism must be a WordMechanism instance, not a class or a name",
    )
    declared(type(mechanism))
    require(
        bool(mechanism.paper), "a mechanism must have a `paper`: the publication that defines it"
    )
    rng = np.random.default_rng(0)
    vectors = 0.02 * rng.normal(size=(200, 6)).astype(np.float32)  # so close that words change
    space = Embeddings(tuple(f"word{i}" for i in range(200)), vectors.copy(), "check")
    ids = np.array([7, 0, 199, 7, 42])
    before = ids.copy()
    kernel = mechanism.bind(space)

    size = 2000
    draws = kernel.sample(ids, size, np.random.default_rng(1))
    require(draws.shape == (size, 5), "sample(ids, size, rng) must return (size, n) draws")
    require(np.issubdtype(draws.dtype, np.integer), "draws must be integers")
    require(draws.min() >= 0 and draws.max() < 200, "draws must be word ids of the embeddings")
    again = mechanism.bind(space).sample(ids, size, np.random.default_rng(1))
    require(np.array_equal(draws, again), "generators in the same state must give the same draws")
    other = mechanism.bind(space).sample(ids, size, np.random.default_rng(2))
    require(
        not np.array_equal(draws, other),
        "draws must depend on the generator; choose parameters with which words change",
    )
    require(
        not np.array_equal(draws[:, 0], draws[:, 3]), "every position must be drawn independently"
    )
    require(np.array_equal(ids, before), "the input must not be modified")
    require(np.array_equal(space.vectors, vectors), "the embeddings must not be modified")
    require(kernel.sample(ids[:0], 3, rng).shape == (3, 0), "for no words there must be no draws")

    require(mechanism.guarantee.kind in KINDS, "the guarantee must be of a known kind")
    if isinstance(kernel, ClosedForm):
        total = np.exp(kernel.log_probs(ids)).sum(axis=1)
        require(np.allclose(total, 1), "probabilities must add up to 1")


Rows = tuple[tuple[str, ...], ...]


@in_one_sentence("; declare what it requires in `needs`: log, mechanism, space")
def check_attack(attacker: Attack) -> None:
    """Raise AssertionError if an attack breaks the contract of `Attack.run`.

    The attack gets barely changed texts of a small log, and may know the mechanism. It must be
    right more than twice as often as random guessing, must not use the truth of one text for
    another, and must fail if the variants belong to other texts.
    """
    require(
        isinstance(attacker, Attack),
        "the attack must be an AttackSpec instance, not a class or a name",
    )
    declared(type(attacker))
    require(
        set(attacker.needs) <= {"log", "mechanism", "space"},
        "`needs` may contain only log, mechanism and space",
    )
    scenes = [scene for scene in _scenes(attacker) if _works(attacker, scene)]
    require(
        bool(scenes),
        "an attack must work against santext, custext or a table of groups; declare what it"
        " requires in `needs`: log, mechanism, space",
    )
    _check_ranks(attacker, scenes[0])
    _check_guesses(attacker, scenes[0])


def _check_ranks(attacker: Attack, scene: Scene) -> None:
    outcome = _attack(attacker, scene)
    count, texts = len(outcome.ranks), len(scene.originals)
    require(count > 0, "there must be at least one guess")
    for name in ("candidates", "subjects", "ties"):
        values = getattr(outcome, name)
        require(values is None or len(values) == count, f"{name} must have one value per rank")
    require(bool((outcome.ranks >= 1).all()), "ranks must start at 1")
    require(
        bool((outcome.ranks <= outcome.candidates + 1).all()),
        "a rank must be at most candidates + 1",
    )
    require(
        outcome.ties is None or bool((outcome.ties >= 1).all()),
        "ties must be at least 1: the truth ties with itself",
    )
    require(
        outcome.subjects.min() >= 0 and outcome.subjects.max() < texts,
        "subjects must be indices of texts",
    )
    again = _attack(attacker, scene)
    require(np.array_equal(outcome.ranks, again.ranks), "the same scene must give the same ranks")


def _check_guesses(attacker: Attack, scene: Scene) -> None:
    """Check that the attack does better than chance, and uses only what it may see."""
    outcome = _attack(attacker, scene)
    baseline = chance(outcome.candidates, "lazy", ranks=outcome.ranks)
    require(
        _success(outcome) > 2 * baseline,
        "an attack must be right more than twice as often as random guessing",
    )
    if outcome.unit != "release":  # there, the truth is which rows belong together
        others = replace(scene, originals=(scene.originals[0], *scene.originals[:0:-1]))
        first = outcome.subjects == 0
        other = _attack(attacker, others)
        require(
            np.array_equal(outcome.ranks[first], other.ranks[other.subjects == 0]),
            "the truth of one text must not affect the guesses for another",
        )
    texts = len(scene.originals)
    rows = tuple(  # row i has variants of other texts, no two of the same one
        tuple(scene.variants[(i + j + 1) % texts][j] for j in range(len(row)))
        for i, row in enumerate(scene.variants)
    )
    mixed = _attack(attacker, replace(scene, variants=rows))
    require(
        2 * _success(mixed) <= _success(outcome),
        "an attack must fail on variants of other texts; otherwise it looks at the truth",
    )


def _success(outcome: Outcome) -> float:
    """Return the share of first guesses that are right."""
    ranks, candidates = outcome.ranks, outcome.candidates
    return float(successes(ranks, "lazy", candidates=candidates, ties=outcome.ties).mean())


def _scenes(attacker: Attack) -> Iterator[Scene]:
    """Yield scenes of texts that mechanisms hardly changed."""
    space, texts = small_log()
    originals = tuple(texts[:12])
    word_mechanisms = (SanText(epsilon=30), CusText(epsilon=2, k=6))
    releases: list[tuple[TextMechanism, Rows]] = [
        (mechanism, protect_words(originals, mechanism, space, 6, rng=3).rows)
        for mechanism in word_mechanisms
    ]
    grouped, table = Grouped(), Grouped().bind()
    releases.append((grouped, tuple(table.scramble(text, 6).queries for text in originals)))
    for mechanism, rows in releases:
        yield Scene(
            rows,
            originals,
            QueryLog.of(texts) if "log" in attacker.needs else None,
            mechanism if "mechanism" in attacker.needs else None,
            space if "space" in attacker.against(mechanism) else None,
        )


def _works(attacker: Attack, scene: Scene) -> bool:
    try:
        _attack(attacker, scene)
    except (LawError, ParameterError):  # the attack does not apply to this mechanism
        return False
    return True


def _attack(attacker: Attack, scene: Scene) -> Outcome:
    if isinstance(attacker, EncoderAttack):
        return attacker.rank(scene, Letters())
    return attacker.run(scene)


@in_one_sentence("; declare what it requires in `needs`")
def check_measure(measure: TextMeasure, thesaurus: Thesaurus | None = None) -> None:
    """Raise AssertionError if a measure breaks the contract of `measure`.

    The measure gets texts with their variants, one text without variants, and only the resources
    it declares in `needs`. `thesaurus` replaces WordNet for a measure that needs one.
    """
    require(
        isinstance(measure, TextMeasure),
        "the measure must be a TextMeasure instance, not a class or a name",
    )
    declared(type(measure))
    require(
        bool(getattr(measure, "says", "")),
        "a measure must have `says`: a sentence on what it counts",
    )
    fields = type(measure).model_fields.values()
    require(set(measure.needs) <= NEEDS, f"`needs` may contain only {', '.join(sorted(NEEDS))}")
    require(
        not any(field.is_required() for field in fields), "every parameter must have a default"
    )
    space, texts = small_log()
    texts = texts[:9]
    vectors = space.vectors.copy()
    mechanism = SanText(epsilon=3)
    rows = protect_words(texts, mechanism, space, 6, rng=3).rows
    comparison = Comparison(
        tuple(texts),
        (*rows[:-1], ()),
        Letters() if "encoder" in measure.needs else None,
        (thesaurus or wordnet()) if "thesaurus" in measure.needs else None,
        mechanism if "mechanism" in measure.needs else None,
        space if "vectors" in measure.needs else None,
    )
    values = measure.measure(comparison)
    require(np.shape(values) == (len(texts),), "there must be one value per text, (n,)")
    require(np.asarray(values).dtype == np.float64, "values must be float64")
    require(bool(np.isnan(values[-1])), "the value of a text without variants must be nan")
    require(not np.isnan(values[:-1]).any(), "the value of a text with variants must not be nan")
    low, high = measure.lowest - 1e-12, measure.highest + 1e-12
    require(
        bool(((values[:-1] >= low) & (values[:-1] <= high)).all()),
        "values must be between `lowest` and `highest`",
    )
    again = measure.measure(comparison)
    require(
        np.array_equal(values, again, equal_nan=True), "the same texts must give the same values"
    )
    require(np.array_equal(space.vectors, vectors), "the word vectors must not be modified")
    backwards = replace(
        comparison,
        originals=comparison.originals[::-1],
        variants=comparison.variants[::-1],
    )
    require(
        np.allclose(measure.measure(backwards)[::-1], values, equal_nan=True),
        "the value of a text must not depend on the other texts",
    )
    if measure.equal is not None:
        unchanged = replace(comparison, variants=tuple((text, text) for text in texts))
        require(
            np.allclose(measure.measure(unchanged), measure.equal),
            "if every variant equals the text, the value must be `equal`",
        )


def _release(
    mechanism: WordMechanism, original: tuple[Embeddings, list[str]], rng: Randomness
) -> Variants:
    space, texts = original
    return protect_words(texts, mechanism, space, 8, rng=rng)


def _near(_: WordMechanism) -> tuple[Embeddings, list[str]]:
    """Return vectors so close to each other that words change, and texts."""
    space, texts = small_log()
    return Embeddings(space.words, (0.02 * space.vectors).astype(np.float32), "check"), texts[:9]


def _bad_texts() -> list[tuple[Embeddings, object]]:
    space, texts = small_log()
    return [(space, CANARY), (space, [CANARY, 7]), (space, [texts[0], CANARY * 200_000])]


_WORDS = Protection(_near, _release, _bad_texts, lambda release: release.rows)


def law_of_words(mechanism: WordMechanism) -> None:
    """Check a law in closed form against the guarantee, if that is per Euclidean distance."""
    space, _ = _near(mechanism)
    kernel, guarantee = mechanism.bind(space), mechanism.guarantee
    if not isinstance(kernel, ClosedForm) or guarantee.kind != "metric-dp":
        return
    if guarantee.metric.startswith("euclidean"):
        logs = kernel.log_probs(np.array([0, 1]))
        far = float(np.linalg.norm(space.vectors[0].astype(np.float64) - space.vectors[1]))
        require(
            float(np.abs(logs[0] - logs[1]).max()) <= guarantee.bound(far) * (1 + 1e-4) + 1e-6,
            "the law must keep the guarantee for two words",
        )


def sends_queries(mechanism: QueryMechanism) -> None:
    """Check what a query mechanism sends instead of a text."""
    opened, text = mechanism.bind(), "treatment of skin cancer"
    release = opened.scramble(text, 4)
    require(
        len(release.queries) <= max(4, mechanism.size or 0),
        "scramble(text, size) must return at most `size` queries",
    )
    require(len(set(release.queries)) == len(release.queries), "the queries must be distinct")
    require(
        mechanism.whole or text not in release.queries,
        "only a mechanism that sends whole groups may send the text itself",
    )
    require(opened.scramble(text, 4) == release, "the same text must give the same queries")
    require(mechanism.guarantee.kind in KINDS, "the guarantee must be of a known kind")


WORD_MECHANISM: tuple[Check, ...] = (
    declarations,
    parameters,
    check_mechanism,
    _WORDS.keeps_its_input,
    _WORDS.labels_its_release,
    _WORDS.draws_from_its_generator,
    _WORDS.refuses_bad_input,
    law_of_words,
)
QUERY_MECHANISM: tuple[Check, ...] = (declarations, parameters, sends_queries)
ATTACK: tuple[Check, ...] = (declarations, parameters, check_attack)
MEASURE: tuple[Check, ...] = (declarations, parameters, check_measure)
