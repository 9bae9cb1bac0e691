"""The rows of the table of word mechanisms, as the tests of all of them build them."""

import veil
from veil.core.component import example
from veil.text.mechanisms.mechanism import WordMechanism

NAMES = veil.MECHANISMS.names()
BUDGETED = [name for name in NAMES if "epsilon" in veil.MECHANISMS.get(name).model_fields]


def built(name: str, epsilon: float) -> WordMechanism:
    """Build a mechanism from the examples of its parameters, with this budget if it has one."""
    cls = veil.MECHANISMS.get(name)
    budget = {"epsilon": epsilon} if name in BUDGETED else {}
    return cls.load({**dict(example(cls)), **budget})
