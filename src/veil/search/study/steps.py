"""The cells of a study and the steps of each, named by all that changes their result.

What a study consists of: cells, and the steps of each, named by all that changes their result.
A cell is one mechanism with its parameters and a number of variants. Its steps are computed and
kept one by one, so that a new attacker or engine needs nothing but its own steps::

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

_TAGGERS = {  # what `veil.text.select` calls them, and the packages that hold program and data
    "pos": ("textblob",),
    "nltk": ("nltk",),
    "spacy": ("spacy", "en_core_web_sm"),
}
_OF_QUERIES = ("textblob", "nltk")  # tagger, reader of WordNet


def inputs(mechanism: TextMechanism, bench: StudyMaterial, size: int = 1) -> dict[str, object]:
    """Name all that decides what a mechanism makes of a text, but for the draws.

    Files are named by their content, wherever they lie. A mechanism of whole queries opens by
    itself what it needs; all that it can open is named.
    """
    found: dict[str, object] = {}
    if index := getattr(mechanism, "index", ""):  # it works with documents of its own
        mechanism = mechanism.model_copy(update={"index": bench.index_digest(index)})
        found["terms"] = ANALYSER
    found["mechanism"] = str(mechanism)
    if made := bench.tables.named(mechanism, size, bench.study.universe):
        found["table"] = made
    if "vectors" in mechanism.needs:
        found["vectors"] = [bench.space.name, bench.space_digest]
        select = str(getattr(mechanism, "select", ""))
        packages = _TAGGERS.get(select.partition(":")[0], ())
    else:
        found["wordnet"] = wordnet_folder().name
        packages = _OF_QUERIES
    if packages:
        found["packages"] = [f"{name} {installed(name)}" for name in packages]
    return found


def installed(package: str) -> str:
    """Return the version of a package, or "" where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


VERSIONS = {  # a change of what a step computes needs a new number
    "plain": 2,
    "protect": 1,
    "search": 2,
    "similarity": 2,
    "attack": 4,
}
_MEASURES = {"jaccard", "cosine", "bleu", "meteor", "N_w", "S_w"}  # what version 2 computes
AS_DEEP = "nDCG@10 of plain search, as deep"  # as the union of the lists of all variants
UNION = "documents in the union"
# Attackers that are not watched as the variants grow.
APART = ("crossencoder", "judge", "linkage", "rerun", "session", "shortlist", "topic")


def plain_steps(bench: StudyMaterial) -> list[Step]:
    """Return the searches without any protection, one per engine: what utility is measured by."""
    return _distinct(
        Step("plain", _key("plain", _searched(bench, each)), by=each)
        for each in bench.study.engine
    )


def cells(bench: StudyMaterial) -> list[Cell]:
    """Return all cells of a study."""
    return [
        _cell(bench, mechanism, grid, value, size)
        for size in dict.fromkeys(bench.study.sizes)
        for grid in (*bench.study.mechanism, *_blind(bench, size))
        for mechanism, value in grid.mechanisms(TEXT_MECHANISMS)
    ]


def _blind(bench: StudyMaterial, size: int) -> Iterator[Grid]:
    """Yield what every plane is measured by: texts that do not depend on the query."""
    study = bench.study
    told = {grid.spec.partition("(")[0].strip() for grid in study.mechanism}
    if study.blind and "blind" not in told and (source := bench.tables.source(size)):
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
    """Return each step once: what has the same key is the same work, whatever it is called."""
    found: dict[str, Step] = {}
    for step in steps:
        found.setdefault(step.key, step)
    return list(found.values())


def _steps(
    bench: StudyMaterial, protect: Step, attackers: Sequence[str], *, whole: bool
) -> Iterator[Step]:
    """Yield what is done with the variants of a cell; those of a `whole` group come together."""
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
    for each in attackers:
        attacker = ATTACKS.parse(each)
        known = {"of": of, "attacker": str(attacker)}
        if "log" in attacker.needs:
            known["log"] = bench.log_digest
        if isinstance(attacker, EncoderAttack):
            known["encoder"] = bench.encoder_key(attacker.encoder)
        if attacker.reads:
            known["reads"] = attacker.reads
        growing = attacker.name not in APART and size == max(bench.study.sizes) and not whole
        for count in bench.study.counts if growing else (size,):
            key = _key("attack", {**known, "count": count})
            yield Step("attack", key, spec, size, of, each, count)


def _searched(bench: StudyMaterial, engine: str) -> dict[str, object]:
    chosen = ENGINES.parse(engine)
    found: dict[str, object] = {
        "queries": bench.query_digest,
        "collection": bench.collection_digest,
        "engine": str(chosen),
        "encoder": _encoder_key(bench),
        "k": bench.study.k,
    }
    if bench.study.letters:
        found["letters"] = bench.study.letters
    if own := getattr(chosen, "encoder", ""):
        found["vectors"] = bench.encoder_key(own)
    return found


def _encoder_key(bench: StudyMaterial) -> str:
    return "none" if bench.encoder is None else bench.encoder.key


def _key(kind: str, made_from: dict[str, object]) -> str:
    return step_key(kind, VERSIONS[kind], made_from)


_PACKAGES = (
    "numpy", "nltk", "textblob", "bm25s", "onnxruntime", "tokenizers",
    "sentence-transformers", "ir_measures",
)  # fmt: skip


def facts(material: StudyMaterial) -> Iterator[tuple[str, str]]:
    """Yield pairs of a name and a value; one that is empty is not shown."""
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
    """Yield sentences that a reader of the figures must know."""
    if _uses_log(material) and material.missing:
        lacking = f"{material.missing} of the queries were not in the log"
        yield (
            f"{lacking} and were added to it."
            if material.study.add_queries_to_log
            else f"{lacking}: an attacker cannot find them, and the risk is a lower bound."
        )


def _weights(material: StudyMaterial) -> str:
    """Name the weights of a model of Hugging Face, whose name may stand for others later."""
    found = material.encoder
    return found.key if found is not None and found.key.startswith("huggingface ") else ""


def _uses_log(material: StudyMaterial) -> bool:
    return any("log" in ATTACKS.parse(each).needs for each in material.study.all_attackers)


Rows = Sequence[Sequence[str]]  # the variants of each query


def compute(material: StudyMaterial, step: Step, of: Result | None) -> Result:
    """Compute a step; `of` holds the variants that it works on."""
    rows: Rows = () if of is None else of.data["variants"]
    if step.kind == "protect":
        return _protect(material, step)
    if step.kind == "similarity":
        return _similarity(material, step, rows)
    if step.kind == "attack":
        return _attack(material, step, rows)
    return _search(material, step, rows)


def _protect(material: StudyMaterial, step: Step) -> Result:
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


def _search(material: StudyMaterial, step: Step, rows: Rows) -> Result:
    """Ask an engine with the variants, or with the queries themselves, and judge what comes.

    Plain search is also judged at the depth of the union of all lists: the encoder then puts as
    many documents in order. An engine elsewhere is not asked for so many.
    """
    engine, order = material.engine(step.by), material.reranker(step.by)
    plain = step.kind == "plain"
    lists, pools, deep = [], [], []
    for number, text in enumerate(material.texts):
        sent = [Released(text)] if plain else [Seeded(one) for one in rows[number]]
        ranking, answers = ask(text, sent, engine, material.study.k, order)
        lists.append(ranking.list(0))
        pools.append({answers.items[i] for i in np.unique(answers.index) if i >= 0})
        if not plain and not leaves(engine):
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


def _attack(material: StudyMaterial, step: Step, rows: Rows) -> Result:
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
        outcome = attacker.run(scene)
    except (LawError, ParameterError) as error:
        return Result(data={"gap": str(error)})
    return Result.of(outcome)
