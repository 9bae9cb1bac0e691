"""The k-d tree of scipy, which comes with the extra `places`."""

from typing import TYPE_CHECKING, Any

from veil.core.errors import MissingExtraError

if TYPE_CHECKING:
    from veil.core.types import Floats


def tree(xy: "Floats") -> Any:  # noqa: ANN401 - scipy has no types
    """Return a k-d tree of points (n, d)."""
    try:
        from scipy.spatial import cKDTree
    except ImportError as error:
        raise MissingExtraError(
            "Neighbours on a map need scipy: pip install 'veil[places]'."
        ) from error
    return cKDTree(xy)
