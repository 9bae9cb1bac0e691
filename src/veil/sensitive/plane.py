"""Place strategies on the risk-utility plane: rank, attack, measure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from veil.core.errors import ParameterError
from veil.measures.estimate import Estimate
from veil.measures.quipu import quipu
from veil.sensitive.attack import attack
from veil.sensitive.attacker import Attack
from veil.sensitive.attacks import attacker as attacker_of
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.evaluate import evaluate, rank
from veil.sensitive.inputs import check_k
from veil.sensitive.mechanism import Mechanism
from veil.sensitive.mechanisms import mechanism as strategy_of


class PlanePoint(NamedTuple):
    """One strategy on the plane: the attacker's risk, over documents, and the utility.

    The utility is nDCG-visible, its mean and interval over topics.
    """

    spec: str
    risk: Estimate
    utility: Estimate


@dataclass(frozen=True)
class Plane:
    """Strategies on the plane, in the order in which they were named, and their QuIPU score.

    The score takes the spots in order of their risk, the lowest first.
    """

    rows: tuple[PlanePoint, ...]
    quipu: float
    attacker: str

    def __iter__(self) -> Iterator[PlanePoint]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> PlanePoint:
        return self.rows[number]


def plane(
    collection: SensitiveCollection,
    strategies: Sequence[str | Mechanism],
    p: ArrayLike | None,
    attacker: str | Attack = "known-item(terms=5)",
    k: int = 10,
    seed: int = 0,
) -> Plane:
    """Answer the queries by each strategy, attack it, and measure what its lists are worth.

    Arguments are those of `rank` and `attack`.
    """
    if isinstance(strategies, str) or not len(strategies):
        raise ParameterError("A plane needs a list of strategies; name at least one spec.")
    chosen, by, k = [strategy_of(spec) for spec in strategies], attacker_of(attacker), check_k(k)
    rows = []
    for one in chosen:
        risk = attack(collection, one, p, by, k, seed).risk
        rows.append(PlanePoint(str(one), risk, utility(collection, one, p, k)))
    order = sorted(rows, key=lambda row: (row.risk, row.utility))
    score = quipu([float(row.risk) for row in order], [float(row.utility) for row in order])
    return Plane(tuple(rows), score, str(by))


def utility(
    collection: SensitiveCollection, strategy: Mechanism, p: ArrayLike | None, k: int
) -> Estimate:
    """Return nDCG-visible@k of the lists of a strategy, its mean over topics."""
    run = rank(collection, strategy, p, k).run(list(collection.queries))
    name = f"nDCG-visible@{k}"
    scores = evaluate(run, collection.judgements, collection.labels, [name])
    return scores.summary(name, {query: collection.topic(query) for query in run}).value
