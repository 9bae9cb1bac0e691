"""Personal data that has a shape, found on this machine without a model."""

from collections.abc import Sequence

from veil.text.redact.plain import Plain
from veil.text.redact.recognisers import RECOGNISERS
from veil.text.redact.span import Place, Span, apart

_HOLE = "\0"  # no digit, no letter, and nothing that stands between the digits of a number


class Patterns:
    """Finds e-mail and IP addresses, cards, accounts, telephone and national numbers, and dates.

    Names of people and places have no shape: they are not found.
    """

    kinds = tuple(RECOGNISERS)

    def spans(self, text: str) -> list[Span]:
        """Return what was found, in order.

        Each recogniser looks at the whole text, and at what those before it left of it: a number
        that a date stands beside is longer than it should be in the one, and cut in the other
        where a date was seen in the middle of it. Where the plain text is another, it looks at
        the text as it stands, too: a dash of print may stand between two things.
        """
        plain = Plain(text)
        left, found, own = plain.text, list[Span](), list[Span]()
        for kind, find in RECOGNISERS.items():
            places = [*find(plain.text), *(find(left) if found else ())]
            found += [Span(start, end, kind) for start, end in places]
            left = _without(left, places)
            if plain.text != text:
                own += [Span(start, end, kind) for start, end in find(text)]
        placed = [Span(*plain.place((span.start, span.end)), span.kind) for span in found]
        return apart([*placed, *own])


def _without(text: str, places: Sequence[Place]) -> str:
    """Return a text with holes."""
    if not places:
        return text
    characters = list(text)
    for start, end in places:
        characters[start:end] = _HOLE * (end - start)
    return "".join(characters)
