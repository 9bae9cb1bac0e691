"""From a table of cells to what is published of it."""

from collections.abc import Sequence
from dataclasses import replace

from veil.core.errors import ParameterError
from veil.core.rng import Randomness, generator
from veil.tables.counts.cells import Cells
from veil.tables.counts.method import CellMethod
from veil.tables.counts.methods import cell_method
from veil.tables.counts.release import CellRelease


def protect_cells(
    cells: Cells, method: str | CellMethod | Sequence[str | CellMethod], rng: Randomness = None
) -> CellRelease:
    """Publish a table of cells by a method, or after roll-ups by another; or nothing at all."""
    several = isinstance(method, Sequence) and not isinstance(method, str)
    steps = [cell_method(one) for one in (method if several else [method])]  # type: ignore[arg-type]
    if not steps:
        raise ParameterError("Name at least one method.")
    draws = generator(rng)
    for step in steps[:-1]:
        cells = step.prepare(cells)
    release = steps[-1].publish(cells, draws)
    seeded = rng is not None and steps[-1].draws
    return replace(release, method=" | ".join(map(str, steps)), seeded=seeded)
