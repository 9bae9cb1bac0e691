"""The cells of a study, and their steps.

A cell is one mechanism with its parameters and a number of variants. The key of a step contains
everything that changes its result. Steps are computed and stored separately, so a new attacker or
engine only adds its own steps::

    protect -> search (per engine), similarity, attack (per attacker and number of variants)
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from veil.core.errors import LawError, ParameterError
from veil.core.rng import stream
from veil.core.types import Floats, Released, Seeded
from veil.corpus.lexical import ANALYSER
from veil.corpus.wordnet import wordnet, wordnet_folder
from veil.measures.effectiveness import effectiveness, pooled_recall
from veil.search.engines import ENGINES
from veil.search.engines.engine import leaves
from veil.search.pipeline import MAX_QUERY, ask, plain_depth
from veil.search.study.material import StudyMaterial
from veil.studies.experiment import Cell, Step, step_key
from veil.studies.store import Result
from veil.studies.study import Grid
from veil.text.attack import EncoderAttack, Scene
from veil.text.attacks import ATTACKS
from veil.text.measures import MEASURES
from veil.text.measures.measure import measure_all
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS
from veil.text.mechanisms.mechanism import QueryMechanism, TextMechanism
from veil.text.protect import protect

_TAGGERS = {  # name in `veil.text.select`: packages of the tagger and its data
    "pos": ("textblob",),
    "nltk": ("nltk",),
    "spacy": ("spacy", "en_core_web_sm"),
}
_OF_QUERIES = ("textblob", "nltk")  # tagger, reader of WordNet


def inputs(mechanism: TextMechanism, bench: StudyMaterial, size: int = 1) -> dict[str, object]:
    """Return everything except the seed that decides a mechanism's output.

    Files are identified by their content, not by their path. Mechanisms of whole queries open
    their own data, so everything that they may open is included.
    """
    facts: dict[str, object] = {}
    if index := getattr(mechanism, "index", ""):  # it searches its own documents
        mechanism = mechanism.model_copy(update={"index": bench.index_digest(index)})
        facts["terms"] = ANALYSER
    facts["mechanism"] = str(mechanism)
    if universe := bench.tables.content_key(mechanism, size, bench.study.universe):
        facts["table"] = universe
    if "vectors" in mechanism.needs:
        facts["vectors"] = [bench.space.name, bench.space_digest]
        select = str(getattr(mechanism, "select", ""))
        packages = _TAGGERS.get(select.partition(":")[0], ())
    else:
        facts["wordnet"] = wordnet_folder().name
        packages = _OF_QUERIES
    if packages:
        facts["packages"] = [f"{name} {installed(name)}" for name in packages]
    return facts


def installed(package: str) -> str:
    """Return the version of a package, or "" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


VERSIONS = {  # increase the number when the result of a step changes
    "plain": 2,
    "protect": 1,
    "search": 2,
    "similarity": 2,
    "attack": 4,
}
_MEASURES = {"jaccard", "cosine", "bleu", "meteor", "N_w", "S_w"}  # those of version 2
AS_DEEP = "nDCG@10 of plain search, as deep"  # as the union of the lists of all variants
UNION = "documents in the union"
# Attackers that run with all variants only, not with growing numbers of them.
APART = ("crossencoder", "judge", "linkage", "rerun", "session", "shortlist", "topic")


def plain_steps(bench: StudyMaterial) -> list[Step]:
    """Return the steps of plain search, one per engine: the baseline of utility."""
    return _distinct(
        Step("plain", _key("plain", _searched(bench, engine)), by=engine)
        for engine in bench.study.engine
    )


def cells(bench: StudyMaterial) -> list[Cell]:
    """Return the cells of a study."""
    return [
        _cell(bench, mechanism, grid, value, size)
        for size in dict.fromkeys(bench.study.sizes)
        for grid in (*bench.study.mechanism, *_blind(bench, size))
        for mechanism, value in grid.mechanisms(TEXT_MECHANISMS)
    ]


def _blind(bench: StudyMaterial, size: int) -> Iterator[Grid]:
    """Yield the grid of blind, a baseline whose texts do not depend on the query."""
    study = bench.study
    mechanisms = {grid.spec.partition("(")[0].strip() for grid in study.mechanism}
    if study.blind and "blind" not in mechanisms and (source := bench.tables.source(size)):
        yield Grid(spec=f"blind(source={source}, count={size})", attackers=study.all_attackers)


def _cell(
    bench: StudyMaterial, mechanism: TextMechanism, grid: Grid, value: float, size: int
) -> Cell:
    made_from = {
        "queries": bench.query_digest,
        "size": size,
        "seed": bench.study.seed,
        **inputs(mechanism, bench, size),
    }
    protect = Step("protect", _key("protect", made_from), str(mechanism), size)
    against = bench.study.against(grid)
    whole = isinstance(mechanism, QueryMechanism) and mechanism.whole
    steps = tuple(_distinct(_steps(bench, protect, against, whole=whole)))
    return Cell(mechanism, grid.parameter, value, size, protect, steps)


def _distinct(steps: Iterable[Step]) -> list[Step]:
    """Return each step once. Steps with the same key do the same work."""
    distinct: dict[str, Step] = {}
    for step in steps:
        distinct.setdefault(step.key, step)
    return list(distinct.values())


def _steps(
    bench: StudyMaterial, protect: Step, attackers: Sequence[str], *, whole: bool
) -> Iterator[Step]:
    """Yield the steps on the variants of a cell. A `whole` group is attacked as a whole only."""
    spec, size, of = protect.spec, protect.size, protect.key
    for engine in bench.study.engine:
        key = _key("search", {"of": of, **_searched(bench, engine)})
        yield Step("search", key, spec, size, of, engine, size)
    synonyms = wordnet_folder().name if bench.synonyms else ""
    compared: dict[str, object] = {"of": of, "encoder": _encoder_key(bench), "synonyms": synonyms}
    if more := [name for name in MEASURES.names() if name not in _MEASURES]:
        compared["measures"] = more
    key = _key("similarity", compared)
    yield Step("similarity", key, spec, size, of, "wordnet" if synonyms else "", size)
    for attack_spec in attackers:
        attacker = ATTACKS.parse(attack_spec)
        params = {"of": of, "attacker": str(attacker)}
        if "log" in attacker.needs:
            params["log"] = bench.log_digest
        if isinstance(attacker, EncoderAttack):
            params["encoder"] = bench.encoder_key(attacker.encoder)
        if attacker.reads:
            params["reads"] = attacker.reads
        growing = attacker.name not in APART and size == max(bench.study.sizes) and not whole
        for count in bench.study.counts if growing else (size,):
            key = _key("attack", {**params, "count": count})
            yield Step("attack", key, spec, size, of, attack_spec, count)


def _searched(bench: StudyMaterial, engine: str) -> dict[str, object]:
    spec = ENGINES.parse(engine)
    params: dict[str, object] = {
        "queries": bench.query_digest,
        "collection": bench.collection_digest,
        "engine": str(spec),
        "encoder": _encoder_key(bench),
        "k": bench.study.k,
    }
    if bench.study.letters:
        params["letters"] = bench.study.letters
    if own := getattr(spec, "encoder", ""):
        params["vectors"] = bench.encoder_key(own)
    return params


def _encoder_key(bench: StudyMaterial) -> str:
    return "none" if bench.encoder is None else bench.encoder.key


def _key(kind: str, made_from: dict[str, object]) -> str:
    return step_key(kind, VERSIONS[kind], made_from)


_PACKAGES = (
    "numpy", "nltk", "textblob", "bm25s", "onnxruntime", "tokenizers",
    "sentence-transformers", "ir_measures",
)  # fmt: skip


def facts(material: StudyMaterial) -> Iterator[tuple[str, str]]:
    """Yield pairs of name and value. Empty values are not shown."""
    study, documents = material.study, len(material.collection.documents)
    yield from ((name, installed(name)) for name in _PACKAGES)
    yield "collection", f"{material.collection.name}, {documents:,} documents"
    yield "queries", f"{len(material.names):,}"
    if _uses_log(material):
        yield "log", f"{len(material.log):,} distinct queries"
    yield "vectors", study.vectors if "/" not in study.vectors else Path(study.vectors).name
    yield "engines", ", ".join(study.engine)
    yield "encoder", study.encoder
    yield "weight of letters", f"{study.letters:g}" if study.letters else ""
    yield "weights", _weights(material)
    yield "cosine of", "" if study.encoder == "none" else f"vectors of {study.encoder}"
    yield "METEOR", f"WordNet {wordnet_folder().name}" if material.synonyms else "no synonyms"
    yield "attackers", ", ".join(study.all_attackers)
    yield "variants per query", ", ".join(map(str, dict.fromkeys(study.sizes)))
    yield "results per variant", str(study.k)


def notes(material: StudyMaterial) -> Iterator[str]:
    """Yield notes that a reader of the figures needs."""
    if _uses_log(material) and material.missing:
        lacking = f"{material.missing} of the queries were not in the log"
        yield (
            f"{lacking} and were added to it."
            if material.study.add_queries_to_log
            else f"{lacking}, so an attacker cannot find them, and the risk is a lower bound."
        )


def _weights(material: StudyMaterial) -> str:
    """Return the key of Hugging Face weights, since a name may get other weights later."""
    model = material.encoder
    return model.key if model is not None and model.key.startswith("huggingface ") else ""


def _uses_log(material: StudyMaterial) -> bool:
    return any("log" in ATTACKS.parse(spec).needs for spec in material.study.all_attackers)


Rows = Sequence[Sequence[str]]  # the variants of each query


def compute(material: StudyMaterial, step: Step, of: Result | None) -> Result:
    """Return the result of a step. `of` contains the variants that it works on."""
    rows: Rows = () if of is None else of.data["variants"]
    if step.kind == "protect":
        return _protect(material, step)
    if step.kind == "similarity":
        return _similarity(material, step, rows)
    if step.kind == "attack":
        return _attack(material, step, rows)
    return _search(material, step, rows)


def _protect(material: StudyMaterial, step: Step) -> Result:
    """Draw variants from a random stream that depends only on the seed and the step's key.

    A query without a protected word is not sent, so it has no variants.
    """
    mechanism = material.mechanism(step.spec, step.size)
    space = material.space if "vectors" in mechanism.needs else None
    rng = stream(material.study.seed, int(step.key[:16], 16))
    variants = protect(
        material.texts, mechanism, space, step.size, max_chars=MAX_QUERY, in_clear=True, rng=rng
    )
    rows = [
        [str(variant) for variant in row] if words else []
        for row, words in zip(variants, variants.protected, strict=True)
    ]
    return Result({"protected": np.array(variants.protected, dtype=np.int64)}, {"variants": rows})


def _search(material: StudyMaterial, step: Step, rows: Rows) -> Result:
    """Query an engine with the variants, or with the queries themselves, and judge the results.

    Plain search is also judged at the depth of the union of all lists, where the encoder re-ranks
    as many documents, but not for an engine on a network.
    """
    engine, order = material.engine(step.by), material.reranker(step.by)
    baseline = step.kind == "plain"
    lists, pools, deep = [], [], []
    for number, text in enumerate(material.texts):
        queries = [Released(text)] if baseline else [Seeded(row) for row in rows[number]]
        ranking, answers = ask(text, queries, engine, material.study.k, order)
        lists.append(ranking.list(0))
        pools.append({answers.items[i] for i in np.unique(answers.index) if i >= 0})
        if not baseline and not leaves(engine):
            own, _ = ask(text, [Released(text)], engine, plain_depth(answers), order)
            deep.append(own.list(0))
    judgements = material.collection.judgements
    arrays: dict[str, Floats] = dict(effectiveness(judgements, material.names, lists))
    arrays["pooled recall"] = pooled_recall(judgements, material.names, pools)
    if deep:
        arrays[AS_DEEP] = effectiveness(judgements, material.names, deep)["nDCG@10"]
        arrays[UNION] = np.array([len(pool) for pool in pools], dtype=np.float64)
    return Result(arrays)


def _similarity(material: StudyMaterial, step: Step, rows: Rows) -> Result:
    """Compare the variants with the queries. The step fixes whether METEOR uses synonyms."""
    mechanism = material.mechanism(step.spec, step.size)
    arrays = measure_all(
        material.texts,
        rows,
        encoder=material.encoder,
        thesaurus=wordnet() if step.by else None,
        mechanism=mechanism,
        vectors=material.space if "vectors" in mechanism.needs else None,
    )
    return Result(arrays, {"synonyms": bool(step.by)})


def _attack(material: StudyMaterial, step: Step, rows: Rows) -> Result:
    """Attack the first variants of each query.

    If an attacker does not apply to a mechanism, the result is the reason. Other errors are not
    stored, because they may be transient.
    """
    attacker = ATTACKS.parse(step.by)
    knows = bool({"mechanism", "space"} & attacker.needs)
    mechanism = material.mechanism(step.spec, step.size) if knows else None
    scene = Scene(
        variants=tuple(tuple(row[: step.count]) for row in rows),
        originals=material.texts,
        log=material.log if "log" in attacker.needs else None,
        mechanism=mechanism,
        space=material.space if "space" in attacker.against(mechanism) else None,
    )
    try:
        outcome = attacker.run(scene)
    except (LawError, ParameterError) as error:
        return Result(data={"gap": str(error)})
    return Result.of(outcome)
