"""The contract of attacks on texts and queries.

An attacker sees a release and ranks its possible sources: queries of a log, words of the
vocabulary, other releases. It never uses the truth. The rank of the truth is determined
afterwards, and is all that the measures of risk need.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.core.former import warn_renamed
from veil.core.outcome import Outcome as Outcome
from veil.core.types import Encoder, Variants
from veil.corpus.tokens import check_text
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import encoder as open_encoder
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import mechanism as mechanism_of
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.vectors.embeddings import Embeddings


@brief("variants", "originals")
@dataclass(frozen=True, eq=False)
class Scene:
    """The release under attack, and the knowledge of the attacker.

    Attributes
    ----------
    variants
        ``variants[i][j]`` is variant j of text i; rows may differ in length.
    originals
        The true texts, used to score guesses and never to guess.
    log
        Queries that the attacker has, or None.
    mechanism, space
        The mechanism with its parameters and the word vectors (Kerckhoffs), or None if the
        attacker does not know them.
    """

    variants: tuple[tuple[str, ...], ...]
    originals: tuple[str, ...]
    log: QueryLog | None = None
    mechanism: TextMechanism | None = None
    space: Embeddings | None = None


class Attack(Component):
    """An attack on texts, with its parameters.

    `needs` lists the parts of a `Scene` that it requires: "log", "mechanism", "space".
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    @property
    def reads(self) -> str:
        """Digest of the files that its parameters name, or "" if there are none."""
        return ""

    def against(self, mechanism: TextMechanism | None) -> frozenset[str]:
        """Return its needs against a mechanism, without word vectors if that needs none."""
        if mechanism is None or "vectors" in mechanism.needs:
            return self.needs
        return self.needs - {"space"}

    @abstractmethod
    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank all possible sources of the release, and return the rank of the truth."""

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Run the attack: the former name of `run`, which goes away in 0.4."""
        warn_renamed(f"{type(self).__name__}.attack", f"{type(self).__name__}.run")
        return self.run(scene, report)

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401
        """Run attacks of the last release, which define `attack`; goes away in 0.4."""
        super().__init_subclass__(**options)
        if "attack" in vars(cls) and "run" not in vars(cls):
            cls.run = vars(cls)["attack"]  # type: ignore[method-assign]


class EncoderAttack(Attack):
    """An attack that compares texts by their vectors."""

    encoder: Annotated[str, Field(description="the attacker's text encoder")] = "minilm"

    @abstractmethod
    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Open the encoder and attack with it."""
        return self.rank(scene, open_encoder(self.encoder, report), report)


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
    """Rank the truth among the guesses of an attacker.

    Parameters
    ----------
    variants
        A release, or one row of strings per text; rows may differ in length, and an empty row
        means that nothing was released.
    originals
        The texts behind the rows; used to score the guesses, never to make them.
    log
        Queries that the attacker has: a log, or texts in any order, with duplicates.
    attacker
        An attack or its spec, for example ``bayes(prior='frequency')``.
    encoder
        A model of texts, or its spec, in place of the attacker's own.
    mechanism, space
        What an informed attacker knows; by default the mechanism of the release.
    report
        Called with the progress.

    Notes
    -----
    An original that is not in the log has rank len(log) + 1: the risk is then a lower bound.
    `QueryLog.with_queries` adds missing queries.
    """
    from veil.text.attacks import ATTACKS

    if isinstance(attacker, str):
        attacker = ATTACKS.parse(attacker)
    if not isinstance(attacker, Attack):
        raise ParameterError("The 'attacker' argument must be an attacker or its spec.")
    rows = _rows(variants)
    texts = _texts(originals, len(rows))
    if mechanism is None and isinstance(variants, Variants) and "mechanism" in attacker.needs:
        mechanism = variants.mechanism
    known_mechanism = mechanism_of(mechanism) if isinstance(mechanism, str) else mechanism
    if log is not None and not isinstance(log, QueryLog):
        log = QueryLog.of(_strings(log, "log"))
    if space is not None and not isinstance(space, Embeddings):
        raise ParameterError("The 'space' argument must be embeddings: see load_embeddings.")
    scene = Scene(rows, texts, log, known_mechanism, space)
    for need in sorted(attacker.against(known_mechanism)):
        if getattr(scene, need) is None:
            raise ParameterError(f"The {attacker.name} attacker needs {_NEEDED[need]}.")
    return _run(attacker, scene, encoder, report)


def _run(attacker: Attack, scene: Scene, encoder: str | Encoder | None, report: Report) -> Outcome:
    if encoder is None:
        return attacker.run(scene, report)
    if not isinstance(attacker, EncoderAttack):
        raise ParameterError(
            f"The {attacker.name} attacker compares no vectors of texts; leave 'encoder' out."
        )
    if isinstance(encoder, str):
        return type(attacker).load({**dict(attacker), "encoder": encoder}).run(scene, report)
    if not callable(getattr(encoder, "encode", None)):
        raise ParameterError("The 'encoder' argument must be an encoder or its spec.")
    return attacker.rank(scene, encoder, report)


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
