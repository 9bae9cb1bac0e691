"""The contract of `attack`."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from veil.core.errors import LawError, ParameterError
from veil.measures.risk import chance, successes
from veil.testing._contract import declared, in_one_sentence, require
from veil.testing._grouped import Grouped
from veil.testing._texts import Letters, small_log
from veil.text.attacks.attack import AttackSpec, EncoderAttack, Outcome, Scene
from veil.text.attacks.log import QueryLog
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.words.custext import CusText
from veil.text.mechanisms.words.santext import SanText
from veil.text.protect import protect_words

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
