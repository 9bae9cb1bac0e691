"""Attack and measure variants: one door for all attackers, one for all measures."""

from collections.abc import Iterable, Sequence

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Encoder, Floats, Variants
from veil.corpus.tokens import check_text
from veil.corpus.wordnet import Thesaurus
from veil.data.fetch import Report, no_progress
from veil.text.attacks import ATTACKS
from veil.text.attacks.attack import Attack, EncoderAttack, Outcome, Scene
from veil.text.attacks.log import QueryLog
from veil.text.measures import MEASURES
from veil.text.measures.measure import Comparison, TextMeasure
from veil.text.mechanisms.catalogue import mechanism as find_mechanism
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.vectors.embeddings import Embeddings

_NEEDED = {
    "log": "a log of queries: give log=",
    "mechanism": "the mechanism: give mechanism=",
    "space": "the word vectors: give space=",
}


def attack(
    variants: Variants | Sequence[Sequence[str]],
    originals: Sequence[str],
    log: QueryLog | Iterable[str] | None = None,
    attacker: str | Attack = "inference",
    *,
    encoder: str | Encoder | None = None,
    mechanism: str | TextMechanism | None = None,
    space: Embeddings | None = None,
    report: Report = no_progress,
) -> Outcome:
    """Find out where the truth stands among the guesses of an attacker.

    Parameters
    ----------
    variants
        A release, or one row of strings per text; rows may differ in length, and an empty row
        means that nothing was released.
    originals
        The texts behind the rows; used to score the guesses, never to make them.
    log
        Queries that the attacker has: a log, or texts in any order, duplicates counted.
    attacker
        An attacker or its spec, for example ``bayes(prior='frequency')``.
    encoder
        A model of texts, or its spec, in place of the attacker's own.
    mechanism, space
        What an informed attacker knows; the mechanism is read off a release.
    report
        Told what goes on.

    Notes
    -----
    An original that is not in the log has rank len(log) + 1: the risk is then a lower bound.
    `QueryLog.with_queries` adds those that it lacks.
    """
    chosen = ATTACKS.parse(attacker) if isinstance(attacker, str) else attacker
    if not isinstance(chosen, Attack):
        raise ParameterError("The 'attacker' argument must be an attacker or its spec.")
    rows = _rows(variants)
    texts = _texts(originals, len(rows))
    if mechanism is None and isinstance(variants, Variants) and "mechanism" in chosen.needs:
        mechanism = variants.mechanism
    known = find_mechanism(mechanism) if isinstance(mechanism, str) else mechanism
    if log is not None and not isinstance(log, QueryLog):
        log = QueryLog.of(_strings(log, "log"))
    if space is not None and not isinstance(space, Embeddings):
        raise ParameterError("The 'space' argument must be embeddings: see load_embeddings.")
    scene = Scene(rows, texts, log, known, space)
    for need in sorted(chosen.against(known)):
        if getattr(scene, need) is None:
            raise ParameterError(f"The {chosen.name} attacker needs {_NEEDED[need]}.")
    return _run(chosen, scene, encoder, report)


def _run(chosen: Attack, scene: Scene, encoder: str | Encoder | None, report: Report) -> Outcome:
    if encoder is None:
        return chosen.attack(scene, report)
    if not isinstance(chosen, EncoderAttack):
        raise ParameterError(
            f"The {chosen.name} attacker compares no vectors of texts; leave 'encoder' out."
        )
    if isinstance(encoder, str):
        return type(chosen).load({**dict(chosen), "encoder": encoder}).attack(scene, report)
    if not callable(getattr(encoder, "encode", None)):
        raise ParameterError("The 'encoder' argument must be an encoder or its spec.")
    return chosen.rank(scene, encoder, report)


def _rows(variants: Variants | Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    if isinstance(variants, Variants):
        return variants.rows
    if isinstance(variants, str | bytes) or not isinstance(variants, Iterable):
        raise InputError("The 'variants' argument must be a list of lists of strings.")
    rows = []
    for number, row in enumerate(variants, start=1):
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise InputError(
                f"Row {number} of the variants must be a list of strings; put a single variant"
                " into a list."
            )
        rows.append(tuple(check_text(v, f"A variant of row {number}") for v in row))
    return tuple(rows)


def _texts(originals: Sequence[str], rows: int) -> tuple[str, ...]:
    texts = tuple(_strings(originals, "originals"))
    if len(texts) != rows:
        raise InputError(
            f"There must be one original for each row of variants. Got {len(texts)} originals and"
            f" {rows} rows instead."
        )
    if not texts:
        raise InputError("There is nothing to attack: give at least one text and its variants.")
    return texts


def _strings(texts: Iterable[str], name: str) -> Iterable[str]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(f"The '{name}' argument must be a list of strings.")
    for number, text in enumerate(texts, start=1):
        yield check_text(text, f"Text {number} of '{name}'")


def measure_all(
    originals: Iterable[str],
    variants: Iterable[Iterable[str]],
    *,
    encoder: Encoder | None = None,
    thesaurus: Thesaurus | None = None,
    mechanism: TextMechanism | None = None,
    vectors: Embeddings | None = None,
) -> dict[str, Floats]:
    """Return each measure (n,) by its name, the built-in ones first, then those of plugins.

    A measure that needs what is not given is left out: an encoder for the cosine, the mechanism
    and its word vectors for what is counted by word (of a mechanism that rewrites whole queries
    there is no such thing). METEOR knows synonyms if there is a thesaurus.

    >>> measure_all(["a b", "c"], [["a d", "a b"], []])["jaccard"].round(3).tolist()
    [0.667, nan]
    """
    given = Comparison.of(
        originals,
        variants,
        encoder=encoder,
        thesaurus=thesaurus,
        mechanism=mechanism,
        vectors=vectors,
    )
    chosen = {name: MEASURES.parse(name) for name in (*MEASURES.builtin, *plugin_measures())}
    return {
        name: _measured(measure, given)
        for name, measure in chosen.items()
        if all(getattr(given, need) is not None for need in measure.needs)
    }


def _measured(measure: TextMeasure, given: Comparison) -> Floats:
    values = np.asarray(measure.measure(given), dtype=np.float64)
    if values.shape != (len(given.originals),):
        raise ParameterError(
            f"The measure {measure.name} must give one value for each of the"
            f" {len(given.originals):,} texts; it gave an array of shape {values.shape}."
        )
    return values


def plugin_measures() -> tuple[str, ...]:
    """Return the names of the measures that plugins brought."""
    return tuple(name for name in MEASURES.names() if name not in MEASURES.builtin)
