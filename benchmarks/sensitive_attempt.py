"""Try to do better than postfilter(threshold=0.1), and print what came of it either way.

A better classifier among candidates: other models, vectors of a sentence encoder, and means of
log-odds (nothing is fitted to candidates, so no document can be remembered); thresholds are chosen
on other topics, from nine values, by nCS-DCG.
"""

import numpy as np

from veil import sensitive
from veil.core.estimate import compare
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.encoders.catalogue import encoder
from veil.encoders.vectors import document_vectors
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import CrossValidated, candidates, copies, folds_of, platt
from veil.sensitive.evaluate import by_topic
from veil.sensitive.measures import auc

THRESHOLDS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
NAMES = ["nCS-DCG@10", "nDCG-visible@10"]


def attempt(collection: SensitiveCollection, validated: dict[str, CrossValidated]) -> None:
    """Print each trial beside the threshold of 0.1."""
    p = {spec: one.p for spec, one in validated.items()}
    p["minilm"] = _vectors(collection, validated["logistic"].fold)
    p["logistic + boosting"] = _mean(p, "logistic", "boosting")
    p["logistic + boosting + minilm"] = _mean(p, "logistic", "boosting", "minilm")
    p["logistic + boosting + context"] = _mean(
        p, "logistic", "boosting", "boosting(features=context)"
    )
    p["the larger of logistic and minilm"] = np.maximum(p["logistic"], p["minilm"])
    near = candidates(collection)
    base = _values(collection, "postfilter(threshold=0.1)", p["logistic"])
    heads = ("p", "AUC of candidates", "strategy", "nCS-DCG", "visible", "gap", "visible gap")
    print(f"\n| {' | '.join(heads)} |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, own in p.items():
        found = auc(own[near], collection.sensitive[near])
        trials = [("postfilter(.1)", _values(collection, "postfilter(threshold=0.1)", own))]
        trials.append(("postfilter, chosen", _chosen(collection, own)))
        if "+" in name or name == "logistic":
            trials.append(("optimum", _values(collection, "optimum()", own)))
        for spec, values in trials:
            gaps = [
                compare(one, other).difference for one, other in zip(values, base, strict=True)
            ]
            said = " | ".join(f"{gap:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]" for gap in gaps)
            print(
                f"| {name} | {found:.3f} | {spec} | {values[0].mean():.4f} |"
                f" {values[1].mean():.3f} | {said} |",
                flush=True,
            )


def _values(collection: SensitiveCollection, spec: str, p: Floats) -> list[Floats]:
    run = sensitive.rank(collection, spec, p).run(list(collection.queries))
    scores = sensitive.evaluate(run, collection.judgements, collection.labels, NAMES)
    return [by_topic(scores[name], collection.topics) for name in NAMES]


def _chosen(collection: SensitiveCollection, p: Floats) -> list[Floats]:
    """Take for each fold of topics the threshold that is best on the others."""
    grid = [_values(collection, f"postfilter(threshold={one})", p) for one in THRESHOLDS]
    every = np.array(grid)  # (thresholds, measures, topics)
    fold = generator(1).permutation(every.shape[2]) % 5
    values = np.empty(every.shape[1:])
    for number in range(5):
        place = int(np.argmax(every[:, 0, fold != number].mean(axis=1)))
        values[:, fold == number] = every[place][:, fold == number]
    return list(values)


def _mean(p: dict[str, Floats], *names: str) -> Floats:
    odds = np.mean([np.log(p[name] / (1 - p[name])) for name in names], axis=0)
    mean: Floats = 1 / (1 + np.exp(-odds))
    return mean


def _vectors(collection: SensitiveCollection, fold: Ids) -> Floats:
    """Return out-of-fold probabilities of a linear model of sentence vectors, calibrated."""
    from sklearn.linear_model import LogisticRegression

    vectors = document_vectors(collection.documents.passages, encoder("minilm")).vectors
    labels, groups = collection.sensitive, copies(collection.documents.texts)

    def scores(learnt: Ids, tested: Ids) -> Floats:
        model = LogisticRegression(C=10, max_iter=2_000).fit(vectors[learnt], labels[learnt])
        return np.asarray(model.decision_function(vectors[tested]), dtype=np.float64)

    p = np.empty(len(labels))
    for number in np.unique(fold).tolist():
        rows, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        inner = folds_of(labels[rows], groups[rows], 4, generator(3))
        held = np.empty(len(rows))
        for part in range(4):
            held[inner == part] = scores(rows[inner != part], rows[inner == part])
        p[out] = platt(held, labels[rows]).apply(scores(rows, out))
    return p
