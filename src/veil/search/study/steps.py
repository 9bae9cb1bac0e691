"""Compute one step of a study; nothing is read or written but its material."""

from collections.abc import Sequence

import numpy as np

from veil.core.errors import LawError, ParameterError
from veil.core.rng import stream
from veil.core.types import Floats, Released, Seeded
from veil.corpus.wordnet import wordnet
from veil.measures.effectiveness import effectiveness, pooled_recall
from veil.search.pipeline import MAX_QUERY, ask
from veil.search.study.bench import Bench
from veil.studies.experiment import Step
from veil.studies.store import Result
from veil.text.api import measure_all
from veil.text.attacks import ATTACKS
from veil.text.attacks.attack import Scene
from veil.text.protect import protect

Rows = Sequence[Sequence[str]]  # the variants of each query


def compute(material: Bench, step: Step, of: Result | None) -> Result:
    """Compute a step; `of` holds the variants that it works on."""
    rows: Rows = () if of is None else of.data["variants"]
    if step.kind == "protect":
        return _protect(material, step)
    if step.kind == "similarity":
        return _similarity(material, step, rows)
    if step.kind == "attack":
        return _attack(material, step, rows)
    return _search(material, step, rows)


def _protect(material: Bench, step: Step) -> Result:
    """Draw the variants from a stream of the step's own, whoever computes it and when.

    A query of which nothing would be protected is not sent: it has no variants.
    """
    chosen = material.mechanism(step.spec, step.size)
    space = material.space if "vectors" in chosen.needs else None
    rng = stream(material.study.seed, int(step.key[:16], 16))
    made = protect(
        material.texts, chosen, space, step.size, max_chars=MAX_QUERY, in_clear=True, rng=rng
    )
    rows = [
        [str(one) for one in row] if words else []
        for row, words in zip(made, made.protected, strict=True)
    ]
    return Result({"protected": np.array(made.protected, dtype=np.int64)}, {"variants": rows})


def _search(material: Bench, step: Step, rows: Rows) -> Result:
    """Ask an engine with the variants, or with the queries themselves, and judge what comes."""
    engine, order = material.engine(step.by), material.reranker(step.by)
    lists, pools = [], []
    for number, text in enumerate(material.texts):
        plain = step.kind == "plain"
        sent = [Released(text)] if plain else [Seeded(one) for one in rows[number]]
        ranking, answers = ask(text, sent, engine, material.study.k, order)
        lists.append(ranking.list(0))
        pools.append({answers.items[i] for i in np.unique(answers.index) if i >= 0})
    judgements = material.collection.judgements
    arrays: dict[str, Floats] = dict(effectiveness(judgements, material.names, lists))
    arrays["pooled recall"] = pooled_recall(judgements, material.names, pools)
    return Result(arrays)


def _similarity(material: Bench, step: Step, rows: Rows) -> Result:
    """Compare the variants with the queries; whether METEOR knows synonyms is settled before."""
    chosen = material.mechanism(step.spec, step.size)
    arrays = measure_all(
        material.texts,
        rows,
        encoder=material.encoder,
        thesaurus=wordnet() if step.by else None,
        mechanism=chosen,
        vectors=material.space if "vectors" in chosen.needs else None,
    )
    return Result(arrays, {"synonyms": bool(step.by)})


def _attack(material: Bench, step: Step, rows: Rows) -> Result:
    """Attack the first variants of each query.

    An attacker that cannot work against a mechanism leaves its reason. Any other error is no
    result: it may have gone the next time.
    """
    attacker = ATTACKS.parse(step.by)
    knows = bool({"mechanism", "space"} & attacker.needs)
    known = material.mechanism(step.spec, step.size) if knows else None
    scene = Scene(
        variants=tuple(tuple(row[: step.count]) for row in rows),
        originals=material.texts,
        log=material.log if "log" in attacker.needs else None,
        mechanism=known,
        space=material.space if "space" in attacker.against(known) else None,
    )
    try:
        outcome = attacker.attack(scene)
    except (LawError, ParameterError) as error:
        return Result(data={"gap": str(error)})
    return Result.of(outcome)
