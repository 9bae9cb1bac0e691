"""Hashes and laws are those of the definition."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veil.dp.local.hashing import positions, text_hash, text_hashes
from veil.dp.local.oracles import oracle
from veil.dp.local.oracles.cms import CMS
from veil.dp.local.oracles.hcms import HCMS
from veil.dp.local.oracles.olh import OLH
from veil.dp.local.oracles.rappor import RAPPOR


@pytest.fixture(scope="session")
def golden(shared: Path) -> dict[str, Any]:
    path = shared / "golden" / "dp.json"
    if not path.is_file():
        pytest.skip("the golden values of dp are not at hand")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def test_hashes(golden: dict[str, Any]) -> None:
    for case in golden["hashes"]:
        numbers = text_hashes([case["text"]])
        assert numbers.tolist() == [case["h64"]] == [text_hash(case["text"])]
        wanted = case["position_mod_1024"]
        assert positions(numbers, np.arange(4), 1024).tolist() == wanted


def test_positions_of_any_width_are_those_of_plain_arithmetic() -> None:
    mask = 2**64 - 1
    h = text_hash("ß")
    for j in (0, 5, 2**32 - 1):
        z = (h + 0x9E3779B97F4A7C15 * (j + 1)) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        found = positions(text_hashes(["ß"]), np.array([j], dtype=np.uint32), 1000)
        assert found.tolist() == [z % 1000]


def test_probabilities(golden: dict[str, Any]) -> None:
    local = golden["local"]
    for case in local["grr"]:
        p, q = oracle(f"grr(epsilon={case['epsilon']}, size={case['k']})").probabilities
        assert (p, q) == pytest.approx((case["p"], case["q"]), rel=1e-12)
    for case in local["oue"]:
        p, q = oracle(f"oue(epsilon={case['epsilon']}, size=9)").probabilities
        assert (p, q) == pytest.approx((case["p"], case["q"]), rel=1e-12)
        assert q * (1 - q) / (p - q) ** 2 == pytest.approx(case["variance_per_user"], rel=1e-12)
    for case in local["dbitflip"]:
        spec = f"dbitflip(epsilon={case['epsilon']}, size={case['k']}, d={case['d']})"
        assert oracle(spec).probabilities == pytest.approx((case["p_in"], case["p_out"]))


def test_buckets_and_scales(golden: dict[str, Any]) -> None:
    local = golden["local"]
    for case in local["olh"]:
        chosen = OLH(epsilon=case["epsilon"])
        assert chosen.buckets == case["g"]
        assert chosen.probabilities == pytest.approx((case["p"], 1 / case["g"]), rel=1e-12)
    for case in local["cms"]:
        sketch = CMS(epsilon=case["epsilon"])
        assert (sketch.flip, sketch.scale) == pytest.approx((case["flip"], case["c"]), rel=1e-12)
    for case in local["hcms"]:
        signs = HCMS(epsilon=case["epsilon"])
        assert (signs.flip, signs.scale) == pytest.approx((case["flip"], case["c"]), rel=1e-12)


def test_rappor_has_2h_permanently_and_h_once(golden: dict[str, Any]) -> None:
    for case in golden["local"]["rappor"]:
        chosen = RAPPOR(f=case["f"], p=case["p"], q=case["q"], hashes=case["hashes"])
        assert chosen.probabilities == pytest.approx((case["q_star"], case["p_star"]))
        assert chosen.permanent == pytest.approx(case["epsilon_permanent"], rel=1e-12)
        assert chosen.once == pytest.approx(case["epsilon_once"], rel=1e-12)
        assert chosen.guarantee.epsilon == chosen.permanent == chosen.published
        assert f"{chosen.once:.4g}" in chosen.guarantee.caveat


def test_one_bit_has_the_right_line(golden: dict[str, Any]) -> None:
    for case in golden["local"]["one_bit"]:
        high, low = oracle(f"one_bit(epsilon={case['epsilon']}, high=1)").probabilities
        p = low + case["x"] / case["high"] * (high - low)
        assert p == pytest.approx(case["p_one"], rel=1e-12)
        assert math.log(high / low) == pytest.approx(case["epsilon"])
        assert p != pytest.approx(case["notes_p_one"], abs=0.01)
