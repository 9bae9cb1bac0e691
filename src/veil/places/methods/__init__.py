"""The table of methods; each row is loaded on first use."""

from veil.core.registry import Registry
from veil.places.method import Method as Method

METHODS: Registry[Method] = Registry(
    noun="method",
    group="veil.places.methods",
    builtin={
        "bimodal": "veil.places.methods.gaussian:Bimodal",
        "cell": "veil.places.methods.cells:Cell",
        "density": "veil.places.methods.donut:Density",
        "disk": "veil.places.methods.donut:Disk",
        "donut": "veil.places.methods.donut:Donut",
        "fixed": "veil.places.methods.donut:Fixed",
        "gaussian": "veil.places.methods.gaussian:Gaussian",
        "laplace": "veil.places.methods.laplace:Laplace",
        "predictive": "veil.places.methods.laplace:Predictive",
        "rotate": "veil.places.methods.transform:Rotate",
        "scale": "veil.places.methods.transform:Scale",
        "swap": "veil.places.methods.swap:Swap",
        "translate": "veil.places.methods.transform:Translate",
        "voronoi": "veil.places.methods.cells:Voronoi",
    },
)
"""Methods for points, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def method(spec: str | Method) -> Method:
    """Return the method that a spec such as ``donut(low=50, high=500)`` names."""
    return spec if isinstance(spec, Method) else METHODS.parse(spec)
