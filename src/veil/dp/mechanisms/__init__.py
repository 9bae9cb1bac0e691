"""The mechanisms by name."""

from dataclasses import dataclass

from veil.core.errors import UnknownNameError, VeilError
from veil.core.registry import Registry, read_spec, unknown_name
from veil.dp.mechanism import Mechanism

MECHANISMS: Registry[Mechanism] = Registry(
    noun="mechanism for numbers",
    group="veil.mechanisms.dp",
    former=("veil.dp.mechanisms",),
    builtin={
        "above_threshold": "veil.dp.mechanisms.above_threshold:AboveThreshold",
        "discrete_gaussian": "veil.dp.mechanisms.gaussian:DiscreteGaussian",
        "exponential": "veil.dp.mechanisms.selection:Exponential",
        "gaussian": "veil.dp.mechanisms.gaussian:Gaussian",
        "geometric": "veil.dp.mechanisms.laplace:Geometric",
        "laplace": "veil.dp.mechanisms.laplace:Laplace",
        "noisy_max": "veil.dp.mechanisms.selection:NoisyMax",
        "permute_and_flip": "veil.dp.mechanisms.selection:PermuteAndFlip",
        "quantile": "veil.dp.mechanisms.quantile:Quantile",
        "randomised_response": "veil.dp.mechanisms.randomised_response:RandomisedResponse",
    },
)
"""Mechanisms for numbers and choices, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


@dataclass(frozen=True)
class Answering:
    """The mechanisms, also of plugins, that declare that they answer a kind of question."""

    known: Registry[Mechanism]
    question: str

    def names(self) -> tuple[str, ...]:
        """Return the names, sorted; a plugin that cannot be loaded is left out."""
        return tuple(name for name in self.known.names() if self._answers(name))

    def _answers(self, name: str) -> bool:
        try:
            return getattr(self.known.get(name), "answers", "") == self.question
        except VeilError:
            return False

    def get(self, name: str) -> type[Mechanism]:
        """Return the class of that name."""
        if name not in self.known.names():
            raise unknown_name(f"mechanism for {self.question}s", name, self.names())
        found = self.known.get(name)
        if getattr(found, "answers", "") != self.question:
            raise UnknownNameError(
                f"{name} is no mechanism for {self.question}s: its class does not declare"
                f" answers = '{self.question}'. Known: {', '.join(self.names())}."
            )
        return found

    def parse(self, spec: str) -> Mechanism:
        """Build one from its spec."""
        name, parameters = read_spec(spec)
        return self.get(name).load(parameters)


COUNTING = Answering(MECHANISMS, "count")
"""Those that add noise to a count, as planes and studies of counts need it."""


def mechanism(spec: str | Mechanism) -> Mechanism:
    """Return a mechanism from its spec, as ``geometric(epsilon=0.5)``."""
    return spec if isinstance(spec, Mechanism) else MECHANISMS.parse(spec)
