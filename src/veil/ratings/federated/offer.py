"""What a server offers to clients: public terms of training, as JSON, and checked as such."""

import json
from dataclasses import asdict, dataclass, fields

from veil.core.errors import VeilError
from veil.ratings.federated.refusal import ProtocolError
from veil.ratings.recommenders.federated import Federated

_GARBLED = "The terms of the server are garbled; it is refused."


@dataclass(frozen=True)
class Offer:
    """Everything a client must know to take part; nothing of it is secret.

    `clients` is how many are expected, `threshold` how many must survive a round, `label` what
    every round's label begins with, `seconds` the time of a phase.
    """

    spec: str
    items: list[str]
    scale: list[float]
    clients: int
    threshold: int
    delta: float
    label: str
    seconds: float
    seeded: bool = False

    @property
    def recommender(self) -> Federated:
        """The recommender that is trained; anything else is refused."""
        from veil.ratings.recommenders import RECOMMENDERS

        try:
            found = RECOMMENDERS.parse(self.spec)
        except VeilError:
            raise ProtocolError(_GARBLED) from None
        if not isinstance(found, Federated) or not found.secure:
            raise ProtocolError("The server would see single updates; it is refused.")
        return found

    def round_label(self, number: int) -> bytes:
        """Return the label of a round."""
        return f"{self.label}/{number}".encode()

    def text(self) -> str:
        """Return the terms as JSON."""
        return json.dumps(asdict(self))


def offer_of(text: str) -> Offer:
    """Read the terms of a server, and refuse what is not one."""
    try:
        told = json.loads(text)
        if set(told) != {field.name for field in fields(Offer)}:
            raise ProtocolError(_GARBLED)
        offer = Offer(**told)
    except (ValueError, TypeError, RecursionError):
        raise ProtocolError(_GARBLED) from None
    if not _is_sound(offer):
        raise ProtocolError(_GARBLED)
    if offer.seeded:
        raise ProtocolError("The server draws by a seed, which is not private; it is refused.")
    return offer


def _is_sound(offer: Offer) -> bool:
    texts = [offer.spec, offer.label, *offer.items] if isinstance(offer.items, list) else [None]
    wholes = (offer.clients, offer.threshold)
    low_high = offer.scale if isinstance(offer.scale, list) and len(offer.scale) == 2 else [0, 0]
    numbers = [offer.delta, offer.seconds, *low_high]
    return (
        all(isinstance(one, str) for one in texts)
        and all(type(one) is int for one in wholes)
        and all(type(one) in (int, float) for one in numbers)
        and len(set(offer.items)) == len(offer.items) > 0
        and 2 <= offer.threshold <= offer.clients
        and 0 < offer.delta < 1
        and 0 < offer.seconds <= 3600
        and low_high[0] < low_high[1]
    )
