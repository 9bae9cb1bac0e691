"""LightGBM, set up so that the same data gives the same trees."""

from typing import Any

from veil.core.errors import MissingExtraError

LIGHT: dict[str, Any] = {
    "seed": 0,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,  # sums in another order would be other trees
    "verbose": -1,
}


def lightgbm() -> Any:  # noqa: ANN401 - it has no types
    """Return the library, or say how to get it."""
    try:
        import lightgbm as library
    except (ImportError, OSError):
        raise MissingExtraError("Boosting needs lightgbm: pip install 'veil[ml]'.") from None
    return library
