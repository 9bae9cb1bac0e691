"""The values of a statement: everything that is not a name or a keyword is bound to a mark.

While a statement is written, a value is a number between NULs, which no name can hold. At the end
those that are in it get marks, in their order: no engine takes a value that no mark asks for.
"""

import re
from collections.abc import Sequence

from veil.dp.database.engines.engine import SEED, Speech, Statement

_TOKEN = re.compile("\0([0-9]+)\0")


class Bindings:
    """Gives places to values; equal ones share a place."""

    def __init__(self, speech: Speech) -> None:
        self.speech = speech
        self._values: list[tuple[str, object]] = []
        self._places: dict[tuple[str, str, str], int] = {}

    def bind(self, value: object, kind: str) -> str:
        """Return the place of a value of a kind: number, whole, text or time."""
        bound = float(value) if kind == "number" else value  # type: ignore[arg-type]
        return self._placed((kind, type(bound).__name__, repr(bound)), bound, kind)

    def bind_list(self, values: Sequence[object], kind: str) -> str:
        """Return the place of a list of a kind that is bound as one value."""
        plain = [float(one) if kind == "number" else one for one in values]  # type: ignore[arg-type]
        several = f"{kind}s"
        return self._placed((several, "", repr(plain)), self.speech.listed(plain), several)

    def seed(self) -> str:
        """Return the place of the seed of a sample."""
        return self._placed(("seed", "", ""), SEED, "seed")

    def _placed(self, key: tuple[str, str, str], value: object, kind: str) -> str:
        if key not in self._places:
            self._places[key] = len(self._values)
            self._values.append((kind, value))
        return f"\0{self._places[key]}\0"

    def statement(self, sql: str) -> Statement:
        """Return a statement with a mark for each value that is in it."""
        used = list(dict.fromkeys(map(int, _TOKEN.findall(sql))))
        marks = {
            place: self.speech.mark(number, self._values[place][0])
            for number, place in enumerate(used, start=1)
        }
        told = _TOKEN.sub(lambda found: marks[int(found[1])], sql)
        return Statement(told, tuple(self._values[place][1] for place in used))
