"""Steps that are taken once and in order; after a failure none is taken any more."""

from collections.abc import Iterator
from contextlib import contextmanager

from veil.ratings.federated.refusal import ProtocolError


class Steps:
    """What a party has done so far."""

    def __init__(self, *names: str) -> None:
        self._left = list(names)

    @contextmanager
    def take(self, name: str) -> Iterator[None]:
        """Take the next step, which must be this one."""
        if not self._left or self._left[0] != name:
            self._left = []
            raise ProtocolError(
                f"The step '{name}' was asked for out of order or again; it is refused."
            )
        left, self._left = self._left[1:], []
        yield  # an error leaves no step
        self._left = left
