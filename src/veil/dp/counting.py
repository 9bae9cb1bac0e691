"""The mechanisms that answer a count: those that add noise to a number."""

from dataclasses import dataclass

from veil.core.registry import Registry, read_spec, unknown_name
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import MECHANISMS


@dataclass(frozen=True)
class Some:
    """Some components of a registry, by name."""

    known: Registry[Mechanism]
    chosen: tuple[str, ...]

    def names(self) -> tuple[str, ...]:
        """Return the names, sorted."""
        return tuple(sorted(self.chosen))

    def get(self, name: str) -> type[Mechanism]:
        """Return the class of that name."""
        if name not in self.chosen:
            raise unknown_name("mechanism for counts", name, self.names())
        return self.known.get(name)

    def parse(self, spec: str) -> Mechanism:
        """Build one from its spec."""
        name, parameters = read_spec(spec)
        return self.get(name).load(parameters)


COUNTING = Some(MECHANISMS, ("discrete_gaussian", "gaussian", "geometric", "laplace"))
