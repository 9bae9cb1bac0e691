"""Models of small ratings."""

from veil import ratings
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model

TABLE = {
    "item": [str(one) for one in range(1, 31)],
    "title": [f"The {'red' if one % 2 else 'blue'} book {one}" for one in range(30)],
    "authors": [f"A{one % 3}, B{one % 2}" for one in range(30)],
}


def fitted(spec: str, train: Ratings, rng: int | None = 1) -> Model:
    selection = ratings.recommender(spec)
    values = {"items": TABLE} if spec == "content" else {}
    return selection.fit(train, positive=4, rng=rng, **values)
