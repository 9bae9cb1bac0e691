"""What every study says, whatever its data: mechanisms and their parameters, attackers, a seed."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from veil.core.errors import ParameterError
from veil.studies import DEFAULT

COUNTS = (1, 2, 5, 10, 20, 50)  # releases of a subject after which recovery is looked at
MAX_SIZE = 1_000  # releases of a subject


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Specs = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Parser(Protocol):
    """Builds a mechanism from its spec; a `Registry` does."""

    def parse(self, spec: str) -> Any:  # noqa: ANN401 - of the domain's own type
        """Build one."""
        ...


class Grid(BaseModel):
    """One ``[[mechanism]]``: its fixed parameters, and the one whose values are tried.

    `attackers` are tried on this mechanism instead of those of the study.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    spec: str
    parameter: str = ""
    values: Annotated[tuple[float, ...], Field(strict=False)] = ()
    attackers: Annotated[Specs | None, Field(strict=False)] = None

    def mechanisms(self, known: Parser) -> Iterator[tuple[Any, float]]:
        """Build the mechanism for each value; without a parameter there is one, of value 0."""
        if not self.parameter:
            yield known.parse(self.spec), 0.0
            return
        if re.findall(rf"[(,]\s*{re.escape(self.parameter)}\s*=", self.spec):
            raise ParameterError(
                f"'{self.parameter}' is given in the spec and as the parameter whose values are"
                " tried; leave it out of the spec."
            )
        head, _, rest = self.spec.strip().partition("(")
        fixed = rest.rstrip().removesuffix(")").strip()
        both = ", ".join(filter(None, (fixed, f"{self.parameter}={self.values[0]!r}")))
        first = known.parse(f"{head}({both})")
        for value in self.values:
            yield type(first).load({**dict(first), self.parameter: value}), value


class Study(BaseModel):
    """What is measured; a domain adds its own keys by a subclass.

    Everything that is a path is absolute, so that workers find it wherever they run, and every
    spec is written in one way. Two studies that are equal measure the same.

    Attributes
    ----------
    domain
        The kind of data: a name of `veil.studies.DOMAINS`, or of a plugin's.
    sizes
        Numbers of releases of each subject.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    name: Annotated[str, Field(min_length=1, max_length=100)]
    domain: str = DEFAULT
    sizes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_SIZE)], ...], Field(min_length=1, strict=False)
    ] = (1,)
    seed: Annotated[int, Field(ge=0)] = 1
    attackers: Annotated[Specs, Field(strict=False)] = ()
    mechanism: Annotated[tuple[Grid, ...], Field(min_length=1, strict=False)]

    @property
    def all_attackers(self) -> tuple[str, ...]:
        """The attackers that are tried on any mechanism."""
        own = (each for grid in self.mechanism for each in self.against(grid))
        return tuple(dict.fromkeys(own))

    def against(self, grid: Grid) -> tuple[str, ...]:
        """Return the attackers that are tried on a mechanism."""
        return self.attackers if grid.attackers is None else grid.attackers

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of releases after which recovery is looked at."""
        largest = max(self.sizes)
        return tuple(sorted({count for count in COUNTS if count < largest} | {largest}))
