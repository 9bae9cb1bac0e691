"""The strongest guess: who knows the method and the register."""

from typing import ClassVar

import numpy as np

from veil.core.types import Floats
from veil.places.attacker import Ranker, Scene


class Bayes(Ranker):
    r"""Order addresses by how likely they are, given all m releases of a point.

    .. math:: P(y \mid z_1 \dots z_m) \propto w_y \prod_j f(z_j \mid y)

    in logarithms. Several releases are the composition attack. No other order identifies more
    points in expectation, where the weights are right and the law is all that was done: what
    a release was snapped to, remapped to or kept within is not in it.
    """

    name: ClassVar[str] = "bayes"
    absolute: ClassVar[float] = 1e-9

    def scores(self, scene: Scene, rows: slice) -> Floats:
        """Return log posteriors, without the constant of each row."""
        return log_posteriors(scene, rows)


def log_posteriors(scene: Scene, rows: slice, by: str = "bayes") -> Floats:
    """Return log w_y + sum_j log f(z_j|y), (b, m), for some rows of the releases."""
    method, register = scene.law(by), scene.listed(by)
    laws = (
        method.log_density(released[rows], register.xy, scene.on, scene.population)
        for released in scene.releases
    )
    total = next(laws)
    for law in laws:
        total += law
    if register.weights is not None:
        with np.errstate(divide="ignore"):  # nobody lives there
            total += np.log(register.weights)
    return total
