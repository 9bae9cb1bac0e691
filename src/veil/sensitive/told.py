"""What the lists of a strategy show and withhold, in figures that name no document."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from veil.core.types import Floats, Ids
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.evaluate import evaluate
from veil.sensitive.strategies import STRATEGIES

QUALITY = {
    "auc": "AUC",
    "candidate_auc": "AUC among the best 100 of each query",
    "brier": "Brier score",
    "ece": "calibration error",
}


def figures_of(
    collection: SensitiveCollection,
    lists: Mapping[str, Ids],
    p: Floats | None,
    spec: str,
    k: int,
    cost: float,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return nDCG-visible of each query, and figures of all lists together."""
    names, hot = collection.documents.ids, collection.sensitive == 1
    run = {query: [names[place] for place in own.tolist()] for query, own in lists.items()}
    utility, worth = f"nDCG-visible@{k}", f"nCS-DCG@{k}"
    scores = evaluate(run, collection.judgements, collection.labels, [utility, worth], cost=cost)
    summary = scores.summary(worth, {query: collection.topic(query) for query in run})
    shown = sum(len(own) for own in lists.values())
    sensitive = sum(int(hot[own].sum()) for own in lists.values())
    judged = sum(
        name in collection.judgements.get(query, {}) for query, own in run.items() for name in own
    )
    data: dict[str, Any] = {
        "shown": shown / max(1, len(lists)),
        "sensitive": sensitive / max(1, shown),
        "any": float(np.mean([hot[own].any() for own in lists.values()])),
        "judged": judged / max(1, shown),
        "worth": float(summary.value),
        "empty": float(summary.empty),
        "skill": float(summary.skill),
    }
    threshold = getattr(STRATEGIES.parse(spec), "threshold", None) if spec else None
    if threshold is not None and p is not None:
        kept = p < threshold  # nan is withheld
        data["caught"] = float((~kept[hot]).mean())
        data["lost"] = float((~kept[~hot]).mean()) if (~hot).any() else 0.0
    return scores[utility], data
