"""Place mechanisms by name; each is loaded on first use."""

from veil.core.registry import Registry
from veil.places.mechanism import Mechanism as Mechanism

MECHANISMS: Registry[Mechanism] = Registry(
    noun="mechanism",
    group="veil.mechanisms.places",
    former=("veil.places.methods",),
    builtin={
        "bimodal": "veil.places.mechanisms.gaussian:Bimodal",
        "cell": "veil.places.mechanisms.cells:Cell",
        "density": "veil.places.mechanisms.donut:Density",
        "disk": "veil.places.mechanisms.donut:Disk",
        "donut": "veil.places.mechanisms.donut:Donut",
        "fixed": "veil.places.mechanisms.donut:Fixed",
        "gaussian": "veil.places.mechanisms.gaussian:Gaussian",
        "laplace": "veil.places.mechanisms.laplace:Laplace",
        "predictive": "veil.places.mechanisms.laplace:Predictive",
        "rotate": "veil.places.mechanisms.transform:Rotate",
        "scale": "veil.places.mechanisms.transform:Scale",
        "swap": "veil.places.mechanisms.swap:Swap",
        "translate": "veil.places.mechanisms.transform:Translate",
        "voronoi": "veil.places.mechanisms.cells:Voronoi",
    },
)
"""Mechanisms for points, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""


def mechanism(spec: str | Mechanism) -> Mechanism:
    """Return the mechanism of a spec such as ``donut(low=50, high=500)``."""
    return spec if isinstance(spec, Mechanism) else MECHANISMS.parse(spec)
