"""Somebody who knows what to look for."""

from typing import Annotated, ClassVar

from pydantic import Field

from veil.sensitive.attacker import Attacker, Probe, Sightings
from veil.sensitive.known import MOST, targets

Terms = Annotated[
    int, Field(ge=1, le=MOST, description="words that are known of a document, by TF-IDF")
]


class KnownItem(Attacker):
    """Ask for each sensitive document by its strongest words: shows what the classifier missed."""

    name: ClassVar[str] = "known-item"

    terms: Terms = 5

    def run(self, probe: Probe) -> Sightings:
        """Look at the lists, and conclude nothing: the document is known to exist."""
        return Sightings.of(
            probe, [probe.ask(" ".join(words)) for words in targets(probe, self.terms) if words]
        )
