"""How much of what is asked really goes out."""

from collections.abc import Sequence

from veil.core.types import Ranking, Released
from veil.proxy.mixing.mixer import Mixer


class Counted:
    """Sends through a mixer, and counts what went out now.

    Where the `answers` are remembered, they are given, and nothing is sent.
    """

    def __init__(self, mixer: Mixer, answers: Ranking | None = None) -> None:
        self._mixer, self._answers = mixer, answers
        self.sent = 0

    @property
    def network(self) -> bool:
        """Whether variants leave the machine."""
        return self._mixer.network

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Ask through the mixer, which remembers what was answered before."""
        if self._answers is not None:
            return self._answers
        answered = self._mixer.ask(queries, k)
        self.sent += answered.sent
        return answered.ranking
