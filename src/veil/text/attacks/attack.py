"""The contract of attacks on texts and queries.

An attacker sees a release and ranks its possible sources: queries of a log, words of the
vocabulary, other releases. It never uses the truth. The rank of the truth is determined
afterwards, and is all that the measures of risk need.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from veil.core.component import Component
from veil.core.formatting import brief
from veil.core.outcome import Outcome as Outcome
from veil.core.types import Encoder
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import encoder as open_encoder
from veil.text.attacks.log import QueryLog
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
    """Parameters of an attack.

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
    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank all possible sources of the release, and return the rank of the truth."""


class EncoderAttack(Attack):
    """Parameters of an attack that compares texts by their vectors."""

    encoder: Annotated[str, Field(description="the attacker's text encoder")] = "minilm"

    @abstractmethod
    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Open the encoder and attack with it."""
        return self.rank(scene, open_encoder(self.encoder, report), report)
