"""Print what search among sensitive documents costs and is worth, on SARA.

SARA is read from the folder that ``VEIL_SARA`` names, or from ``../shared/data/collections/sara``.
``--attempt`` also tries to do better than a threshold, and prints what came of it.
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.report import Report, best, require_data
from benchmarks.sensitive_attempt import attempt

from veil import sensitive
from veil.core.types import Floats, Released
from veil.corpus.lexical import top
from veil.search.engines.local.lexical import BM25
from veil.sensitive.candidates import matcher
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import CANDIDATES, CrossValidated
from veil.sensitive.evaluate import compare
from veil.sensitive.mechanism import Scene
from veil.sensitive.mechanisms import MECHANISMS

HERE = Path(__file__).resolve().parent
SARA = Path(os.environ.get("VEIL_SARA", HERE.parents[1] / "shared/data/collections/sara"))
CLASSIFIERS = (
    "logistic",
    "logistic(features=context)",
    "logistic(features=all)",
    "boosting",
    "boosting(features=context)",
)
STRATEGY = (
    "relevance()",
    "prefilter(threshold=0.5)",
    "prefilter(threshold=0.1)",
    "postfilter(threshold=0.5)",
    "postfilter(threshold=0.5, refill=false)",
    "postfilter(threshold=0.1)",
    "demoted(beta=1)",
    "demoted(beta=3)",
    "demoted(trained=true)",
    "joint(cost=12)",
    "optimum(cost=12)",
    "optimum(cost=12, fill=true)",
)


def classifiers(collection: SensitiveCollection) -> dict[str, CrossValidated]:
    """Cross-validate all classifiers, and print how good they are."""
    print(
        "\n| classifier | AUC | AUC of candidates | AP | Brier | ECE | missed at .1 | lost at .1 |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    found = {}
    hot = collection.sensitive == 1
    for spec in CLASSIFIERS:
        one = found[spec] = sensitive.cross_validate(collection, spec)
        print(
            f"| {spec} | {one.auc:.3f} | {one.candidate_auc:.3f} | {one.average_precision:.3f} |"
            f" {one.brier:.3f} | {one.ece:.3f} | {(one.p[hot] < 0.1).mean():.0%} |"
            f" {(one.p[~hot] >= 0.1).mean():.0%} |",
            flush=True,
        )
    return found


def strategies(collection: SensitiveCollection, p: Floats) -> None:
    """Print what the strategies are worth."""
    print("\n| strategy | nCS-DCG@10 | skill | visible nDCG | sensitive | any | shown | judged |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    lines = compare(collection, STRATEGY, p)
    truth = collection.sensitive.astype(np.float64)
    true = compare(collection, ["postfilter(threshold=0.5)"], truth)[0]
    for name, line in [*((one.spec, one) for one in lines), ("true labels + BM25", true)]:
        value = line.value
        print(
            f"| {name} | {value:.3f} [{value.low:.3f}, {value.high:.3f}] | {line.skill:+.2f} |"
            f" {line.visible:.3f} | {line.share:.3f} | {line.any_shown:.2f} | {line.shown:.1f} |"
            f" {line.judged:.2f} |",
            flush=True,
        )


def ceiling(collection: SensitiveCollection) -> None:
    """Print what choosing among the best 100 by BM25 is worth to who knows labels and gains."""
    engine, hot, names = matcher(collection), collection.sensitive == 1, collection.documents.ids
    run = {}
    for query, text in collection.queries.items():
        grades = collection.judgements[query]
        found = top(engine.scores(text), CANDIDATES, above=0.0)
        own = [names[place] for place in found[~hot[found]].tolist()]
        run[query] = sorted(own, key=lambda name: -grades.get(name, 0))[:10]
    measures = ("nCS-DCG@10", "nDCG-visible@10")
    scores = sensitive.evaluate(run, collection.judgements, collection.labels, measures)
    worth, visible = (scores.summary(name, collection.topics) for name in measures)
    value = worth.value
    print(
        f"| true labels and gains | {value:.3f} [{value.low:.3f}, {value.high:.3f}] |"
        f" {worth.skill:+.2f} | {visible.value:.3f} | 0.000 | 0.00 | | |"
    )


def speed(collection: SensitiveCollection, p: Floats) -> Report:
    """Print seconds beside their targets."""
    report = Report()
    run = sensitive.rank(collection, "relevance()", None).run(list(collection.queries))
    evaluated = partial(sensitive.evaluate, run, collection.judgements, collection.labels)
    took = min(_processor(evaluated) for _ in range(20))
    report.add(
        "evaluate, 150 queries x 10, five measures, time of a processor",
        f"{1000 * took:.0f} ms",
        "50 ms",
    )
    rng = np.random.default_rng(0)
    gains, chances = rng.random(100) * 3, rng.random(100)
    took = best(lambda: sensitive.optimum(gains, chances))
    report.add("optimum of 100 candidates", f"{1000 * took:.2f} ms", "5 ms")
    engine = BM25().open(collection)
    queries = [Released(text) for text in collection.queries.values()]
    plain = best(lambda: [engine.search([query], 10) for query in queries])
    for spec in ("postfilter(threshold=0.1)", "prefilter(threshold=0.1)"):
        searcher = MECHANISMS.parse(spec).open(Scene(collection, p))
        took = best(lambda one=searcher: [one.answer(query, 10) for query in queries])  # type: ignore[misc]
        report.add(f"search with {spec}", f"{took / plain:.2f} of the plain engine", "1.2")
    took = _processor(lambda: sensitive.cross_validate(collection, "logistic"))
    peer = _processor(lambda: _peer(collection))
    report.add(
        "five-fold probabilities, time of a processor",
        f"{took / peer:.2f} of scikit-learn ({took:.0f} s)",
        "3",
    )
    return report


def _processor(function: Callable[[], object]) -> float:
    """Return the seconds of a processor that a call takes, whatever else is running."""
    start = time.process_time()
    function()
    return time.process_time() - start


def _peer(collection: SensitiveCollection) -> None:
    """Weigh words once and fit 25 models, with scikit-learn alone."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=60_000)
    rows = words.fit_transform(list(collection.documents.passages))
    for start in range(25):
        part = np.random.default_rng(start).permutation(rows.shape[0])[:1_200]
        LogisticRegression(C=10, solver="liblinear").fit(rows[part], collection.sensitive[part])


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempt", action="store_true", help="also try to do better")
    asked = parser.parse_args()
    require_data(SARA, "VEIL_SARA")
    collection = sensitive.load(SARA)
    validated = classifiers(collection)
    p = validated["logistic"].p
    strategies(collection, p)
    ceiling(collection)
    if asked.attempt:
        attempt(collection, validated)
    print()
    print("\n" + speed(collection, p).table())


if __name__ == "__main__":
    main()
