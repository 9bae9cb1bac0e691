"""What a study consists of: cells, and the steps of each, named by all that changes their result.

A cell is one mechanism with its parameters and a number of variants. Its steps are computed and
kept one by one, so that a new attacker or engine needs nothing but its own steps::

    protect -> search (per engine), similarity, attack (per attacker and number of variants)
"""

from collections.abc import Iterable, Iterator, Sequence

from veil.corpus.wordnet import wordnet_folder
from veil.search.engines import ENGINES
from veil.search.study.bench import Bench
from veil.search.study.inputs import inputs
from veil.studies.experiment import Cell, Step, step_key
from veil.studies.study import Grid
from veil.text.attacks import ATTACKS
from veil.text.attacks.attack import EncoderAttack
from veil.text.measures import MEASURES
from veil.text.mechanisms.find import TEXT_MECHANISMS
from veil.text.mechanisms.mechanism import QueryMechanism, TextMechanism

VERSIONS = {  # a change of what a step computes needs a new number
    "plain": 1,
    "protect": 1,
    "search": 1,
    "similarity": 2,
    "attack": 4,
}
_MEASURES = {"jaccard", "cosine", "bleu", "meteor", "N_w", "S_w"}  # what version 2 computes
# Attackers that are not watched as the variants grow.
APART = ("crossencoder", "judge", "linkage", "rerun", "session", "shortlist", "topic")


def plain_steps(bench: Bench) -> list[Step]:
    """Return the searches without any protection, one per engine: what utility is measured by."""
    return _distinct(
        Step("plain", _key("plain", _searched(bench, each)), by=each)
        for each in bench.study.engine
    )


def cells(bench: Bench) -> list[Cell]:
    """Return all cells of a study."""
    return [
        _cell(bench, mechanism, grid, value, size)
        for size in dict.fromkeys(bench.study.sizes)
        for grid in (*bench.study.mechanism, *_blind(bench, size))
        for mechanism, value in grid.mechanisms(TEXT_MECHANISMS)
    ]


def _blind(bench: Bench, size: int) -> Iterator[Grid]:
    """Yield what every plane is measured by: texts that do not depend on the query."""
    study = bench.study
    told = {grid.spec.partition("(")[0].strip() for grid in study.mechanism}
    if study.blind and "blind" not in told and (source := bench.tables.source(size)):
        yield Grid(spec=f"blind(source={source}, count={size})", attackers=study.all_attackers)


def _cell(bench: Bench, mechanism: TextMechanism, grid: Grid, value: float, size: int) -> Cell:
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
    bench: Bench, protect: Step, attackers: Sequence[str], *, whole: bool
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


def _searched(bench: Bench, engine: str) -> dict[str, object]:
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


def _encoder_key(bench: Bench) -> str:
    return "none" if bench.encoder is None else bench.encoder.key


def _key(kind: str, made_from: dict[str, object]) -> str:
    return step_key(kind, VERSIONS[kind], made_from)
