"""Personal data that has a shape, found on this machine without a model."""

from veil.text.redact.recognisers import RECOGNISERS
from veil.text.redact.span import Span, apart


class Patterns:
    """Finds e-mail and IP addresses, cards, accounts, telephone and national numbers, and dates.

    Names of people and places have no shape: they are not found.
    """

    kinds = tuple(RECOGNISERS)

    def spans(self, text: str) -> list[Span]:
        """Return what was found, in order."""
        return apart(
            Span(start, end, kind)
            for kind, find in RECOGNISERS.items()
            for start, end in find(text)
        )
