"""Methods from the weakest to the strongest by one length: what a slider moves along."""

from collections.abc import Callable, Mapping

METRES = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500)

LADDERS: Mapping[str, Callable[[int], str]] = {
    "donut": lambda metres: f"donut(low={metres / 10:g}, high={metres})",
    "laplace": lambda metres: f"laplace(epsilon={2 / metres:g})",  # the mean displacement
    "gaussian": lambda metres: f"gaussian(sigma={metres / 2:g})",
    "disk": lambda metres: f"disk(radius={metres})",
    "bimodal": lambda metres: f"bimodal(low={metres / 10:g}, high={metres})",
    "cell": lambda metres: f"cell(size={metres})",
}


def ladder(method: str) -> list[str]:
    """Return the specs of a method, each farther than the last.

    >>> ladder("donut")[:2]
    ['donut(low=0.5, high=5)', 'donut(low=1, high=10)']
    """
    return [LADDERS[method](metres) for metres in METRES]
