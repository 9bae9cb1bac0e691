"""The special functions of scipy, which come with the extra `places`."""

from typing import Any

from veil.core.errors import MissingExtraError


def special() -> Any:  # noqa: ANN401 - scipy has no types
    """Return the module scipy.special, or say how to get it."""
    try:
        from scipy import special
    except ImportError:
        raise MissingExtraError("This method needs scipy: pip install 'veil[places]'.") from None
    return special
