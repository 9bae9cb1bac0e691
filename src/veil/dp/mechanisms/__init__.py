"""The mechanisms by name."""

from veil.core.registry import Registry
from veil.dp.mechanism import Mechanism

MECHANISMS: Registry[Mechanism] = Registry(
    noun="mechanism for numbers",
    group="veil.dp.mechanisms",
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


def mechanism(spec: str | Mechanism) -> Mechanism:
    """Return a mechanism from its spec, as ``geometric(epsilon=0.5)``."""
    return spec if isinstance(spec, Mechanism) else MECHANISMS.parse(spec)
