"""What the commands of ratings say, in words."""

from collections.abc import Iterator

from veil.core.formatting import count_of
from veil.ratings.attacker import Outcome


def said_of_attack(found: Outcome, by: str) -> Iterator[str]:
    """Say how often an attacker is right, and how far that is above who sees nothing."""
    success, risk = found.success, found.risk
    of = count_of(success.n, found.unit)
    yield f"{by}: success {float(success):.4f} [{success.low:.4f}, {success.high:.4f}], {of}"
    yield f"  who sees nothing: {found.baseline:.4g}"
    yield f"  risk above that: {float(risk):.4f} [{risk.low:.4f}, {risk.high:.4f}]"
    for name, value in found.details.items():
        yield f"  {name}: {value:.4g}"
