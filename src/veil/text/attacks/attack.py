"""What every attacker declares, what it is given, and what comes of it.

An attacker sees a release and ranks what may stand behind it: queries of a log, words of the
vocabulary, other releases. It is never told the truth; where the truth stands in its ranking is
found out afterwards, here, and that is all that the measures of risk need.
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
    """What is attacked, and what the attacker knows.

    Attributes
    ----------
    variants
        ``variants[i][j]`` is variant j of text i; the rows need not be of one length.
    originals
        The truth, text by text; used to score, never to guess.
    log
        Queries that the attacker has, or None.
    mechanism, space
        The mechanism with its parameters and the word vectors (Kerckhoffs), or None where the
        attacker does not know them.
    """

    variants: tuple[tuple[str, ...], ...]
    originals: tuple[str, ...]
    log: QueryLog | None = None
    mechanism: TextMechanism | None = None
    space: Embeddings | None = None


class AttackSpec(Component):
    """Parameters of an attacker.

    `needs` says what of a `Scene` it cannot do without: "log", "mechanism", "space".
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    @property
    def reads(self) -> str:
        """What names the content of files that its parameters name, "" where there are none."""
        return ""

    def against(self, mechanism: TextMechanism | None) -> frozenset[str]:
        """Return what it needs against a mechanism: no word vectors where that has none."""
        if mechanism is None or "vectors" in mechanism.needs:
            return self.needs
        return self.needs - {"space"}

    @abstractmethod
    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank the truth among everything that may stand behind what is seen."""


class EncoderAttack(AttackSpec):
    """Parameters of an attacker that compares texts by their vectors."""

    encoder: Annotated[str, Field(description="the attacker's own model of texts")] = "minilm"

    @abstractmethod
    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Open the encoder and attack with it."""
        return self.rank(scene, open_encoder(self.encoder, report), report)
