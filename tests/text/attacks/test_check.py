"""What every attacker must keep to, and that the check notices who does not."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from veil.data.fetch import Report, silent
from veil.testing import _scenes, check_attack
from veil.text.attacks import ATTACKS
from veil.text.attacks.attack import AttackSpec, Outcome, Scene
from veil.text.attacks.bayes import Bayes


@pytest.mark.parametrize("name", ATTACKS.names())
def test_every_attacker_keeps_its_contract(name: str) -> None:
    check_attack(ATTACKS.parse(name))


SECOND = next(_scenes(Bayes())).originals[1]


class Wrong(AttackSpec):
    """Bayes, spoilt afterwards."""

    name: ClassVar[str] = "wrong"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism", "space"})
    fault: str

    def attack(self, scene: Scene, report: Report = silent) -> Outcome:
        found = Bayes().attack(scene, report)
        n = len(found.ranks)
        spoilt = {
            "zero": found.ranks - 1,
            "beyond": found.ranks + 1000,
            "blind": np.arange(n) * 7 % 190 + 2,
            "peeks": found.ranks + (scene.originals[1] != SECOND),
        }
        return replace(found, ranks=spoilt[self.fault])


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("zero", "rank 1"),
        ("beyond", "beyond the candidates"),
        ("blind", "better than a blind guess"),
        ("peeks", "truth of one text"),
    ],
)
def test_a_broken_attacker_is_named(fault: str, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_attack(Wrong(fault=fault))
