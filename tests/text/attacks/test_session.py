"""Sessions, against enumerating all walks."""

from collections.abc import Sequence
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from tests.search.conftest import BagEncoder

from veil.core.errors import LawError
from veil.core.types import Ids, Singles
from veil.testing.text import Grouped
from veil.text.attack import Scene
from veil.text.attacks.bayes import Bayes
from veil.text.attacks.session import Session, neighbours
from veil.text.log import QueryLog, folded
from veil.text.mechanisms.catalogue import mechanism

WORDS = "skin bone lung pain rash flu".split()
TEXTS = [f"{a} {b}" for a, b in product(WORDS, WORDS) if a != b]
VECTORS = BagEncoder().encode(TEXTS)
ADDRESSES = np.arange(len(TEXTS)) % 4
GRAPH = neighbours(VECTORS, 10)
NEAR = np.stack([(VECTORS @ VECTORS[a::4].T).max(axis=1) for a in range(4)], axis=1)


class Staying(Grouped):
    """Four groups, and a rule for what is near to the one before."""

    name: ClassVar[str] = "staying"
    stay: float = 0.9

    def bind(self) -> "Table":  # type: ignore[override]
        return Table()


class Table:
    key, texts, vectors, addresses = "bag", TEXTS, VECTORS, ADDRESSES
    tracks = ADDRESSES // 2

    def address(self, texts: Sequence[str]) -> Ids:
        return ADDRESSES[[TEXTS.index(folded(text)) for text in texts]]

    def group(self, address: int) -> tuple[str, ...]:
        return (f"a{address}", f"b{address}")

    def members(self, address: int) -> Ids:
        return np.flatnonzero(address == ADDRESSES)

    def encode(self, texts: Sequence[str]) -> Singles:
        return BagEncoder().encode(texts)


def used(walk: Sequence[int], stay: float) -> list[int]:
    """Return the address at each step, by the rule in words."""
    out = [int(ADDRESSES[walk[0]])]
    for query in walk[1:]:
        out.append(out[-1] if NEAR[query, out[-1]] >= stay else int(ADDRESSES[query]))
    return out


def walks(first: int, length: int) -> list[list[int]]:
    result = [[first]]
    for _ in range(length - 1):
        result = [[*walk, int(after)] for walk in result for after in GRAPH[walk[-1]]]
    return result


@pytest.mark.parametrize("stay", [0.75, 0.9, 1.0])
def test_ranks_are_those_of_all_walks_counted(stay: float, encoder: BagEncoder) -> None:
    originals = tuple(TEXTS[::9])
    scene = Scene(
        tuple(Table().group(int(a)) for a in Table().address(originals)),
        originals,
        QueryLog.of(TEXTS),
        Staying(stay=stay),
    )
    outcome = Session(length=3).rank(scene, encoder)
    seen = [[used(walk, stay) for walk in walks(i, 3)] for i in range(len(TEXTS))]
    possible = []
    for i, original in enumerate(originals):
        own = TEXTS.index(original)
        ranks = set()
        for observed in map(list, {tuple(one) for one in seen[own]}):
            counts = np.array([each.count(observed) for each in seen])
            ahead = int((counts > counts[own]).sum())
            ranks.add((1 + ahead, int((counts == counts[own]).sum())))
        assert outcome.ties is not None
        assert (int(outcome.ranks[i]), int(outcome.ties[i])) in ranks
        possible.append(len(ranks))
    assert max(possible) > 1  # so that it is no matter of course


def test_probabilities_are_those_of_all_walks_counted(encoder: BagEncoder) -> None:
    from veil.text.attacks.session import _Stay, _Walks
    from veil.text.log import LogGroups as Groups

    for stay in (0.75, 2.0):
        log = QueryLog.of(TEXTS)
        rule = _Stay(Table() if stay <= 1 else None, VECTORS, stay)
        model = _Walks(Groups.of(log, Table()), GRAPH, rule)
        observed = model.used(5, 4, np.random.default_rng(1))
        assert observed.tolist() in [used(walk, stay) for walk in walks(5, 4)]
        result = model.backward(observed) * (observed[0] == ADDRESSES)
        for i in range(0, len(TEXTS), 6):
            all_used = [used(walk, stay) for walk in walks(i, 4)]
            share = all_used.count(observed.tolist()) / len(all_used)
            assert result[i] == pytest.approx(share)


def test_a_session_of_one_query_is_bayes(encoder: BagEncoder) -> None:
    rows = tuple(Table().group(int(a)) for a in ADDRESSES[:6])
    scene = Scene((*rows, ()), (*TEXTS[:6], TEXTS[0]), QueryLog.of(TEXTS), Staying())
    one, single = Session(length=1).rank(scene, encoder), Bayes().run(scene)
    assert one.ranks.tolist() == single.ranks.tolist()
    assert one.ties is not None
    assert single.ties is not None
    assert one.ties.tolist() == single.ties.tolist()
    longer = Session(length=6).rank(scene, encoder)
    assert longer.ties is not None
    assert longer.ties.sum() < one.ties.sum()


def test_who_stays_tells_less(encoder: BagEncoder) -> None:
    rows = tuple(Table().group(int(a)) for a in ADDRESSES)
    scene = Scene(rows, tuple(TEXTS), QueryLog.of(TEXTS), Staying(stay=1.0))
    loose = Scene(rows, tuple(TEXTS), scene.log, Staying(stay=0.0))
    moved, stayed = (Session(length=5).rank(each, encoder) for each in (scene, loose))
    assert (1 / moved.ranks).mean() > 0  # ranks alone do not tell: ties do
    assert moved.ties is not None
    assert stayed.ties is not None
    assert stayed.ties.tolist() == np.bincount(ADDRESSES)[ADDRESSES].tolist()
    assert moved.ties.sum() < stayed.ties.sum()


def test_neighbours_are_the_nearest_without_the_query_itself() -> None:
    near = VECTORS @ VECTORS.T
    for i, row in enumerate(GRAPH):
        assert i not in row
        others = np.delete(near[i], [i, *row])
        assert near[i, row].min() >= others.max() - 1e-6
    assert neighbours(VECTORS[:3], 10).shape == (3, 2)
    assert neighbours(VECTORS[:1], 10).tolist() == [[0]]


@pytest.mark.parametrize("spec", ["cmp(epsilon=5)", "aea"])
def test_mechanisms_without_groups_are_refused(spec: str, encoder: BagEncoder) -> None:
    scene = Scene((("a",),), ("a",), QueryLog.of(["a", "b"]), mechanism(spec))
    with pytest.raises(LawError, match="sends whole groups"):
        Session().rank(scene, encoder)
