"""The honest searcher."""

from typing import ClassVar

from veil.core.errors import InputError
from veil.sensitive.attacker import Attacker, Probe, Sightings


class Queries(Attacker):
    """Ask the queries of the collection and nothing else: who looks for no secrets, sees some."""

    name: ClassVar[str] = "queries"

    def run(self, probe: Probe) -> Sightings:
        """Look at every list, and conclude nothing."""
        asked = probe.collection.queries
        if not asked:
            raise InputError("The attacker 'queries' needs queries of the collection.")
        topic = probe.collection.topic
        return Sightings.of(probe, [probe.ask(text, topic(name)) for name, text in asked.items()])
