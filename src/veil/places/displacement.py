"""How far a method moves points, in closed form and without a simulation."""

from veil.places.method import Displacement, Method
from veil.places.methods import method


def displacement(spec: str | Method) -> Displacement:
    """Return mean, root mean square and quantiles of the displacement, in metres.

    >>> displacement("disk(radius=300)").mean
    200.0
    """
    return method(spec).displacement
