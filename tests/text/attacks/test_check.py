"""What every attacker must keep to; `tests/test_testing.py` sees that the check notices faults."""

import pytest

from veil.testing import check_attack
from veil.text.attacks import ATTACKS


@pytest.mark.parametrize("name", ATTACKS.names())
def test_every_attacker_keeps_its_contract(name: str) -> None:
    check_attack(ATTACKS.parse(name))
