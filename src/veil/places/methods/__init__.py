"""The table of methods; each row is loaded on first use."""

from veil.core.registry import Registry
from veil.places.method import Method as Method

METHODS: Registry[Method] = Registry(
    noun="method",
    group="veil.places.methods",
    builtin={
        "bimodal": "veil.places.methods.bimodal:Bimodal",
        "cell": "veil.places.methods.cell:Cell",
        "density": "veil.places.methods.density:Density",
        "disk": "veil.places.methods.disk:Disk",
        "donut": "veil.places.methods.donut:Donut",
        "fixed": "veil.places.methods.fixed:Fixed",
        "gaussian": "veil.places.methods.gaussian:Gaussian",
        "laplace": "veil.places.methods.laplace:Laplace",
        "predictive": "veil.places.methods.predictive:Predictive",
        "rotate": "veil.places.methods.rotate:Rotate",
        "scale": "veil.places.methods.scale:Scale",
        "swap": "veil.places.methods.swap:Swap",
        "translate": "veil.places.methods.translate:Translate",
        "voronoi": "veil.places.methods.voronoi:Voronoi",
    },
)
"""Methods for points, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def method(spec: str | Method) -> Method:
    """Return the method that a spec such as ``donut(low=50, high=500)`` names."""
    return spec if isinstance(spec, Method) else METHODS.parse(spec)
