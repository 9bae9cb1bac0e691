"""Membership: scores of persons behind published means."""

import csv
import gzip

import numpy as np
import pytest
from numpy.random import Generator
from tests.dp.attacks.people import NGRAMS, needs_counts

from veil.core.errors import InputError
from veil.dp.attack import advantage
from veil.dp.attacks.membership import membership, tracing
from veil.dp.release import release


def test_the_score_is_the_printed_product(rng: Generator) -> None:
    people, means, seen = rng.integers(0, 2, (7, 5)), rng.random(5), rng.random(5)
    wanted = [sum((y - means) * (seen - means)) for y in people]
    assert membership(seen, means, people) == pytest.approx(wanted)
    sample = rng.integers(0, 2, (30, 5))
    both = membership(seen, sample, people), membership(seen, sample.mean(axis=0), people)
    assert both[0] == pytest.approx(both[1])


def test_members_stand_out(rng: Generator) -> None:
    means = rng.uniform(0.2, 0.8, 900)
    people = (rng.random((100, 900)) < means).astype(np.int64)
    inside = np.arange(100) < 50
    counts = people[inside].sum(axis=0)
    assert advantage(membership(counts / 50, means, people), inside) > 0.9
    told = membership(counts, means, people)  # of how many, it finds out
    assert advantage(told, inside) > 0.9
    noise = "geometric(epsilon=450, sensitivity=900)"
    assert advantage(membership(release(counts, noise, rng=1), means, people), inside) > 0.8
    blind = advantage(membership(rng.random(900), means, people), inside)
    assert blind < 0.3


@pytest.mark.parametrize(
    ("seen", "means", "people", "said"),
    [
        ([0.5], [0.5], [1, 0], "one row of numbers per person"),
        ([0.5], [0.5], [[1, 0]], "a mean for each of the 2 attributes"),
        ([0.5], [0.5, 0.5], [[1, 0]], "a number for each of the 2 attributes"),
        ([0.5, np.nan], [0.5, 0.5], [[1, 0]], "The release must be finite"),
        ([0.5, 0.5], ["x", "y"], [[1, 0]], "The population must be finite"),
        ([], [], [], "must be finite"),
    ],
)
def test_what_cannot_be_used_is_told(
    seen: object, means: object, people: object, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        membership(seen, means, people)  # type: ignore[arg-type]


def test_counts_of_nothing_have_scores() -> None:
    assert membership([0, 0], [0.0, 0.0], [[1, 0]]).tolist() == [0.0]
    assert membership([5, 0], [0.0, 0.0], [[1, 0]]).tolist() == [5.0]


@needs_counts
def test_tracing_people_by_their_words() -> None:
    with gzip.open(NGRAMS, "rt", encoding="utf-8", newline="") as file:
        rows = [(row["person"], row["ngram"]) for row in csv.DictReader(file)]
    persons, items = zip(*rows, strict=True)
    runs = [[float(one.risk) for one in tracing(persons, items, rng=seed)] for seed in (5, 9)]
    exact, few, ten, one = np.mean(runs, axis=0)
    assert exact == pytest.approx(0.35, abs=0.1)
    assert few == pytest.approx(0.21, abs=0.1)
    assert ten == pytest.approx(0.125, abs=0.1)
    assert one == pytest.approx(0.03, abs=0.06)
    assert one < ten < exact


def test_tracing_needs_people() -> None:
    with pytest.raises(InputError, match="twice as many persons"):
        tracing(["a", "b", "c"], ["x", "y", "x"], members=2)
    with pytest.raises(InputError, match="one person per item"):
        tracing(["a"], [])
