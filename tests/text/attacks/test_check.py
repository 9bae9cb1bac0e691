"""The contract of attacks; `tests/testing` sees that the check notices faults."""

import sys

import pytest
from tests.text.attacks.endpoint import LIBRARY, likeliest, serving

from veil.testing import check_attack
from veil.text.attacks import ATTACKS


@pytest.mark.parametrize("name", [name for name in ATTACKS.names() if name != "judge"])
def test_every_attacker_keeps_its_contract(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "crossencoder":
        monkeypatch.setitem(sys.modules, "sentence_transformers", LIBRARY)
    check_attack(ATTACKS.parse(name))


def test_an_attacker_that_asks_a_model_keeps_it_too() -> None:
    with serving(likeliest) as endpoint:
        check_attack(ATTACKS.parse(f"judge(url='{endpoint.url}')"))
