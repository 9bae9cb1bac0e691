"""Explain: the numbers are those of the law, and a bound is shown only where it is proved."""

import math

import numpy as np
import pytest
from tests.reference import laws

import veil
from veil.text.explain import wilson
from veil.text.vectors.embeddings import Embeddings


def test_exact_numbers_are_those_of_the_law(space: Embeddings) -> None:
    law = laws.santext(space.vectors.astype(np.float64), 7, 1.5)
    result = veil.explain(veil.SanText(epsilon=1.5), space, space.words[7], top=4, eta=0.1)
    order = np.argsort(-law)
    assert [word for word, _ in result.top] == [space.words[i] for i in order[:4]]
    assert result.itself == pytest.approx(law[7])
    assert result.entropy == pytest.approx(-(law * np.log2(law)).sum())
    assert result.min_entropy == pytest.approx(-math.log2(law.max()))
    covered = np.cumsum(law[order])
    assert covered[result.support - 1] >= 0.9 > covered[result.support - 2]
    assert result.samples == 0
    assert result.interval is None


def test_simulation_brackets_the_truth(space: Embeddings) -> None:
    """One word far from all others: CMP keeps it with a probability we can compute."""
    line = Embeddings(("a", "b"), np.array([[0.0], [2.0]], dtype=np.float32))
    result = veil.explain(veil.CMP(epsilon=1), line, "a", samples=4000, rng=1)
    truth = 1 - 0.5 * math.exp(-1)  # the noise stays below 1, half the gap
    assert result.samples == 4000
    assert result.interval is not None
    assert result.interval[0] < truth < result.interval[1]
    assert wilson(0.0, 10)[0] == 0.0
    assert wilson(1.0, 10)[1] == pytest.approx(1.0)


def test_worst_log_ratio_respects_its_bound(space: Embeddings) -> None:
    for spec in ("santext(epsilon=3)", "tem(epsilon=3)", "tem(epsilon=3, metric=angular)"):
        ratio = veil.log_ratio(veil.mechanism(spec), space, space.words[1], space.words[2])
        assert 0 < ratio.value <= ratio.bound < math.inf
        assert ratio.bound == pytest.approx(3 * ratio.distance)


def test_no_bound_is_shown_where_none_is_proved(space: Embeddings) -> None:
    mechanism = veil.CusText(epsilon=3, k=7)
    groups = laws.custext_groups(space.vectors.astype(np.float64), 7)
    inside, across = groups[0][:2], (groups[0][0], groups[1][0])
    same = veil.log_ratio(mechanism, space, *(space.words[i] for i in inside))
    assert same.value <= same.bound == 3
    other = veil.log_ratio(mechanism, space, *(space.words[i] for i in across))
    assert math.isinf(other.value)
    assert math.isinf(other.bound)
    plus = veil.SanText(epsilon=3, sensitive_share=0.5, p=0.5)
    kept = veil.log_ratio(plus, space, space.words[0], space.words[1])
    assert math.isinf(kept.bound)
    rare = veil.log_ratio(plus, space, space.words[-1], space.words[-2])
    assert rare.value <= rare.bound < math.inf
    assert math.isinf(veil.log_ratio(veil.WBB(epsilon=3), space, *space.words[:2]).bound)


def test_simulated_mechanisms_have_no_exact_ratio(space: Embeddings) -> None:
    with pytest.raises(veil.LawError):
        veil.log_ratio(veil.CMP(epsilon=1), space, *space.words[:2])


@pytest.mark.parametrize("bad", [{"eta": 0}, {"eta": 1.5}, {"samples": 0}])
def test_bad_arguments(bad: dict[str, float], space: Embeddings) -> None:
    with pytest.raises(veil.ParameterError):
        veil.explain(veil.CMP(epsilon=1), space, space.words[0], **bad)  # type: ignore[arg-type]
