"""Print what releases of ratings leave to attackers, and what they are worth, beside the golden.

    python -m benchmarks.ratings_attacks [releases] [models] [jester] [--seeds 3]

Ratings are read from the folder that ``VEIL_RATINGS`` names, or from ``../shared/data/ratings``;
golden values from ``../golden/ratings.json`` beside it, where that is at hand. Each figure
is the mean over the seeds, with the least and the largest; nDCG@10 is of itemknn(k=20), learnt of
the release and met by the profile that each of a quarter of the users kept.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from benchmarks.report import require_data
from pydantic import Field

from veil import ratings
from veil.core.rng import Randomness, generator
from veil.ratings import Model, Ratings, Recommender
from veil.ratings.accounting import Noise
from veil.ratings.evaluate import fit_release, utility
from veil.ratings.ratings import id_hashes, mix
from veil.ratings.recommenders.baselines import Mean
from veil.ratings.recommenders.dpcovariance import DPCovariance, gram

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("VEIL_RATINGS", HERE.parents[1] / "shared/data/ratings"))
GOLDEN = DATA.parent / "golden" / "ratings.json"
RELEASES = {
    "pseudonyms": ("", (0.0,)),
    "krr": ("epsilon", (0.5, 1, 3)),
    "dlaplace": ("epsilon", (0.5, 1, 3)),
    "bits": ("epsilon", (2, 4, 6)),
    "kprofiles": ("k", (2, 5, 10, 20)),
}
PRIVATE = (
    "dpcovariance(factors=8, clip=30, delta=1e-5",
    "dpals(factors=6, iterations=4, delta=1e-5",
)
LINKED = ("scoreboard(known=8, wrong=2)", "scoreboard(known=4)")
KNOWING = ("bayes(known=8, wrong=2)", "bayes(known=4)")


def read(name: str, low: float, high: float) -> tuple[Ratings, Ratings]:
    """Return train and test of a set."""
    path = DATA / name / "ratings.csv.gz"
    require_data(path, "VEIL_RATINGS")
    return ratings.split(ratings.load(path, scale=(low, high), catalogue=True))


def golden(*keys: str) -> float | None:
    """Return a golden value, or None."""
    found: Any = json.loads(GOLDEN.read_text()) if GOLDEN.is_file() else {}
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, int | float) else None


def shown(values: list[float], want: float | None = None) -> str:
    """Write a mean with its ends, and what it should be."""
    told = f"{np.mean(values):.3f} [{min(values):.3f}, {max(values):.3f}]"
    return f"{told:<22}" + (f" ({want:.3f})" if want is not None else "        ")


def quarter(test: Ratings) -> Ratings:
    """Return the ratings of one user in four, by hash."""
    chosen = mix(id_hashes(test.users)) % np.uint64(4) == 0
    return test.take(chosen[test.user])


def releases(seeds: int) -> Iterator[str]:
    """Attack releases of goodbooks, and learn from them."""
    train, test = read("goodbooks", 1, 5)
    test = quarter(test)
    heads = ("release", "8 known, 2 wrong", "4 known", "bayes 8/2, 4", "membership", "nDCG@10")
    yield "{:<16} {:<32} {:<32} {:<14} {:<32} {}".format(*heads)
    for name, (parameter, values) in RELEASES.items():
        for value in values:
            spec = f"{name}({parameter}={value:g})" if parameter else name
            made = [ratings.protect(train, spec, rng=seed) for seed in range(seeds)]
            yield _line(spec, name, f"{value:g}", made, train, test)


def _line(spec: str, name: str, key: str, made: list[Any], train: Ratings, test: Ratings) -> str:
    def success(by: str, targets: list[Any]) -> list[float]:
        return [
            float(ratings.attack(one, train, by, rng=seed, positive=4).success)
            for seed, one in enumerate(targets)
        ]

    keys = (name,) if name == "pseudonyms" else (name, key)
    wanted = golden("plane_goodbooks", "scoreboard_known8_wrong2", *keys)
    parts = [shown(success(LINKED[0], made), wanted), shown(success(LINKED[1], made))]
    lawful = name != "kprofiles"
    parts.append(
        ", ".join(f"{np.mean(success(by, made)):.3f}" for by in KNOWING) if lawful else "-" * 12
    )
    if name in ("bits", "kprofiles", "pseudonyms"):
        target = "itemknn(k=20)" if name == "pseudonyms" else spec
        key_of = ("none",) if name == "pseudonyms" else (name, key)
        want = golden("plane_goodbooks", "membership_user_itemknn20", *key_of)
        parts.append(shown(success("membership", [target] * len(made)), want))
    else:
        parts.append("-" * 30)
    worth = [
        float(utility(fit_release(one, train, "itemknn(k=20)", 4.0), test).score) for one in made
    ]
    parts.append(shown(worth, golden("plane_goodbooks", "ndcg", *keys)))
    return f"{spec:<16} " + "  ".join(parts)


def models(seeds: int) -> Iterator[str]:
    """Attack models, lists and updates of goodbooks."""
    train, test = read("goodbooks", 1, 5)
    whole = train.like(
        np.concatenate([train.user, test.user]),
        np.concatenate([train.item, test.item]),
        np.concatenate([train.value, test.value]),
    )

    def told(target: str, by: str, data: Ratings, want: str, *details: str) -> str:
        found = [ratings.attack(target, data, by, rng=seed, positive=4) for seed in range(seeds)]
        parts = [shown([float(one.success) for one in found])]
        parts += [f"{name} {shown([one.details[name] for one in found])}" for name in details]
        base = np.mean([one.baseline for one in found])
        return f"{target}, {by}: {'  '.join(parts)} baseline {base:.4f}; spec: {want}"

    yield told("itemknn(k=20)", "membership", train, "0.501, AUC .833", "auc")
    yield told("itemknn(k=20)", "membership(of=rating)", whole, "0.216, AUC .641", "auc")
    yield told("popularity", "membership", train, "-", "auc")
    for epsilon in (0.1, 1, 10):
        spec = f"dppopularity(epsilon={epsilon:g})"
        yield told(spec, "membership", train, "within the bound", "proved bound", "exceeds it")
        made = [ratings.protect(train, spec, rng=seed).model for seed in range(seeds)]
        scores = [float(utility(one, test).score) for one in made if one is not None]
        yield f"  nDCG@10 {shown(scores)}; spec: 0.002 / 0.073 / 0.089"
    wanted = {5: "0.050, .120", 10: "0.064, .180", 20: "0.080, .239", 50: "0.150, .350"}
    for known, want in wanted.items():
        yield told("itemknn(k=20)", f"lists(known={known})", train, want, "within ten")
    yield told("als(factors=8)", "gradient", train, "1, 1", "exact item sets", "values right")
    for item, area in ((34, ".785"), (40, ".807"), (474, ".774")):
        found = ratings.attack(whole, whole, f"attribute(item={item})")
        yield f"attribute(item={item}): AUC {found.details['auc']:.3f}; spec: {area}"


class Covariance(Recommender):
    """The covariance of ratings, exact (epsilon 0) or as dpcovariance draws it, shown as it is."""

    name: ClassVar[str] = "covariance"
    epsilon: Annotated[float, Field(ge=0)] = 0.0
    clip: Annotated[float, Field(gt=0)] = 30.0

    def fit(self, train: Ratings, positive: float | None = None, rng: Randomness = None) -> Model:
        """Add up, and perhaps add noise."""
        model = Mean().fit(train, positive)
        means = np.full(train.m, float(np.mean(train.value)))
        left = np.asarray(train.value - means[train.item], dtype=np.float64)
        own = np.bincount(train.user, left, train.n) / (train.per_user + 5)
        total = gram(train, left - own[train.user], self.clip)
        if self.epsilon:
            private = DPCovariance(epsilon=self.epsilon, delta=1e-5, clip=self.clip)
            total = private._noisy(total, Noise.of(self.epsilon, 1e-5, 2), generator(rng))
            model.guarantee = private.guarantee
        vars(model).update(gram=total, means=means)
        return model


def jester(seeds: int) -> Iterator[str]:
    """Measure private models of jester, and attack covariances."""
    train, test = read("jester", -10, 10)
    for size, wanted in ((200, ".74 / .04 / .29"), (2500, ".01 / - / -")):
        for epsilon in (0.0, 1.0, 10.0):
            found = [
                ratings.attack(
                    Covariance(epsilon=epsilon), train, f"membership(size={size})", rng=seed
                )
                for seed in range(seeds)
            ]
            bound = found[0].details.get("proved bound", 1.0)
            exceeds = sum(one.details.get("exceeds it", 0.0) for one in found)
            yield (
                f"covariance of {size} users, epsilon {epsilon or 'none'}: membership"
                f" {shown([float(one.success) for one in found])} bound {bound:.2f}, exceeded in"
                f" {exceeds:g}; spec (none / 1 / 10): {wanted}"
            )
    for name in (
        "dpcovariance(factors=8, clip=30, delta=1e-5",
        "dpals(factors=6, iterations=4, delta=1e-5",
    ):
        for epsilon in (1, 3, 10):
            spec = f"{name}, epsilon={epsilon})"
            made = [ratings.recommender(spec).fit(train, 5, seed) for seed in range(seeds)]
            errors = [
                float(ratings.evaluate(one, test, measures=["rmse"])["rmse"]) for one in made
            ]
            ends: Any = json.loads(GOLDEN.read_text()) if GOLDEN.is_file() else {}
            want = ends.get("jester_rmse_three_seeds_min_max", {}).get(f"{name})", {})
            yield f"{spec}: RMSE {shown(errors)} golden {want.get(str(epsilon), '-')}"


PARTS: dict[str, Callable[[int], Iterator[str]]] = {
    "releases": releases,
    "models": models,
    "jester": jester,
}


def main() -> None:
    """Print the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for part in given.parts or PARTS:
        print(f"\n{part}", flush=True)
        for line in PARTS[part](given.seeds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
