"""The registry of central mechanisms."""

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
"""Central mechanisms, including plugins: `names()`, `get(name)`, `parse(spec)`."""


@dataclass(frozen=True)
class Answering:
    """The mechanisms, including plugins, that declare to answer one type of question."""

    registry: Registry[Mechanism]
    question: str

    def names(self) -> tuple[str, ...]:
        """Return the sorted names, without plugins that cannot be loaded."""
        return tuple(name for name in self.registry.names() if self._answers(name))

    def _answers(self, name: str) -> bool:
        try:
            return getattr(self.registry.get(name), "answers", "") == self.question
        except VeilError:
            return False

    def get(self, name: str) -> type[Mechanism]:
        """Return the class with this name, or raise UnknownNameError."""
        if name not in self.registry.names():
            raise unknown_name(f"mechanism for {self.question}s", name, self.names())
        cls = self.registry.get(name)
        if getattr(cls, "answers", "") != self.question:
            raise UnknownNameError(
                f"{name} is not a mechanism for {self.question}s: its class does not declare"
                f" answers = '{self.question}'. Known: {', '.join(self.names())}."
            )
        return cls

    def parse(self, spec: str) -> Mechanism:
        """Build a mechanism from its spec."""
        name, parameters = read_spec(spec)
        return self.get(name).load(parameters)


COUNTING = Answering(MECHANISMS, "count")
"""Mechanisms that add noise to a count, for planes and studies of counts."""


def mechanism(spec: str | Mechanism) -> Mechanism:
    """Return a mechanism from its spec, such as ``geometric(epsilon=0.5)``."""
    return spec if isinstance(spec, Mechanism) else MECHANISMS.parse(spec)
