"""Undo a rotation, scaling or shift with a few known points."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.places.attacker import Ranker, Scene
from veil.places.attackers.nearest import nearness
from veil.places.flat import Flat


class Align(Ranker):
    r"""Fit the similarity that leads from released to true places of a few known points.

    .. math:: x \approx a z + b, \quad
       a = \frac{\sum_k \overline{(z_k - \bar z)} (x_k - \bar x)}{\sum_k |z_k - \bar z|^2}

    with complex numbers for places, by least squares; then the nearest address to a z + b is the
    first guess. Of several releases it looks at the first. The known points are the first rows,
    which are scored like all others.
    """

    name: ClassVar[str] = "align"
    relative: ClassVar[float] = 1e-12
    known: Annotated[
        int, Field(ge=1, le=1_000, description="rows whose true place is known", examples=[2])
    ] = 2

    @property
    def knows(self) -> int:
        """The first rows."""
        return self.known

    def scores(self, scene: Scene, rows: slice) -> Floats:
        """Return distances from what was undone, the nearest being the best."""
        return nearness(scene, undone(scene)[rows], self.name)


def undone(scene: Scene) -> Floats:
    """Return where the released points (n, 2) were, as far as the known ones tell."""
    known = scene.known
    if known is None or not len(known):
        raise InputError("The attacker align needs points whose true place is known.")
    flat = Flat.around(scene.releases[0], scene.on.crs)
    seen = flat.metres(scene.releases[0])
    ratio, shift = similarity(seen[: len(known)], flat.metres(known))
    there = (seen[:, 0] + 1j * seen[:, 1]) * ratio + shift
    return flat.back(np.column_stack([there.real, there.imag]))


def similarity(seen: Floats, true: Floats) -> tuple[complex, complex]:
    """Return a and b of x = a z + b for places z (k, 2) and x (k, 2); a = 1 if they tell none.

    >>> similarity(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[5.0, 5.0], [5.0, 7.0]]))
    (2j, (5+5j))
    """
    z, x = seen[:, 0] + 1j * seen[:, 1], true[:, 0] + 1j * true[:, 1]
    away = z - z.mean()
    size = float(np.square(np.abs(away)).sum())
    ratio = complex((away.conj() @ (x - x.mean())) / size) if size > 0 else 1 + 0j
    return ratio, complex(x.mean() - ratio * z.mean())
