"""The keys of a study of private search, its specs, and the studies that need no file.

One spelling for every spec of a study, however it was written.
Two specs of the same thing become the same text, which is parsed back to that thing. What a spec
names in turn, the encoder of an attacker or of an engine, is parsed as well.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, cast

from pydantic import Field

from veil.core.component import Component
from veil.drawing.markup import Markup, join, percent, tag
from veil.encoders.catalogue import parse as parse_encoder
from veil.search.engines import ENGINES
from veil.search.engines.engine import MAX_K
from veil.studies.domains import parse_study
from veil.studies.panels import key, names
from veil.studies.results import PLAIN, Row
from veil.studies.study import MAX_SIZE, Specs, Study, distinct_specs, short_spec
from veil.text.attacks import ATTACKS


class SearchStudy(Study):
    """What is measured.

    Attributes
    ----------
    collection
        A name, ``irds:ID``, or a path.
    queries
        At most so many, taken evenly among those with judgements; 0 for all.
    log, log_size
        ``collection`` (its own log), ``collection+wordnet`` (and the names of WordNet's nouns),
        ``irds:ID``, or a file of one query per line; at most so many distinct queries of it,
        taken evenly, 0 for all.
    engine, encoder
        What is asked, one or several; what re-ranks, or ``none``.
    letters
        Weight of the words and letters that a result shares with the query, beside the encoder:
        0 in a study unless it says otherwise, 0.2 in ``veil search`` and on the search page.
    sizes, k
        Numbers of variants, and results of each.
    universe
        What the table of ``cover`` is made of where its spec names none: ``half`` (every second
        query of the log, without those of the study), ``log``, ``passages`` or ``titles`` (of the
        collection), ``icd10cm``, ``wordnet``, or a folder that ``veil cover build`` wrote.
    attackers
        Who attacks. Unless they are named: one that compares texts, one that knows the law of the
        mechanism, and those that a mechanism declares to know how it works.
    blind
        Whether every plane has a point that nothing is learnt from: fixed texts of the log.
    """

    collection: str = "icd10cm"
    queries: Annotated[int, Field(ge=0)] = 50
    log: str = "collection"
    log_size: Annotated[int, Field(ge=0)] = 0
    add_queries_to_log: bool = True
    vectors: str = "glove-100d"
    engine: Annotated[Specs, Field(min_length=1, strict=False)] = ("bm25",)
    encoder: str = "minilm"
    letters: Annotated[float, Field(ge=0, le=10)] = 0.0
    sizes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_SIZE)], ...], Field(min_length=1, strict=False)
    ] = (20,)
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 100
    attackers: Annotated[Specs, Field(strict=False)] = ("inference", "bayes")
    universe: str = ""
    blind: bool = True


def engine_specs(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the specs of engines, each once.

    >>> engine_specs(["bm25", "bm25()", "dense(encoder='minilm()')"])
    ('bm25', 'dense')
    """
    return distinct_specs(_spelt(ENGINES.parse(spec)) for spec in specs)


def attacker_specs(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the specs of attackers, each once.

    >>> attacker_specs(["bayes", "bayes(prior='uniform')", "inference(encoder='wordllama')"])
    ('bayes', 'inference(encoder=wordllama)')
    """
    return distinct_specs(_spelt(ATTACKS.parse(spec)) for spec in specs)


def encoder_spec(spec: str) -> str:
    """Return the spec of an encoder; one of Hugging Face is its name, if that has a slash.

    >>> encoder_spec("huggingface(model='facebook/contriever')"), encoder_spec("minilm()")
    ('facebook/contriever', 'minilm')
    """
    chosen = parse_encoder(spec)
    short = short_spec(chosen)
    model = str(getattr(chosen, "model", ""))
    return model if "/" in model and short == f"huggingface(model={model})" else short


def _spelt(component: Component) -> Component:
    """Return a component whose encoder is named in the one way, too."""
    named = getattr(component, "encoder", None)
    if isinstance(named, str):
        return component.model_copy(update={"encoder": encoder_spec(named)})
    return component


# Every mechanism faces the same attackers where they can work, so that the risks compare; only
# reconstruct would take too long against santext and tem, whose every word needs its normaliser.
# To certify a risk of 5 % takes at least 72 queries. The first run searches the nearest words of
# all words for intersect, some minutes once. The local corpus of fea is the one that is searched.
# The table of cover is made of half of the log, without the queries; blind texts are added to
# every plane by themselves.
_DEFAULT = """
name = "icd10cm"
collection = "icd10cm"
queries = 80
sizes = [20]
attackers = ["inference(encoder=wordllama)", "bayes", "reconstruct"]

[[mechanism]]
spec = "cover(table=half)"
parameter = "cell"
values = [1, 5, 10, 25, 100]
attackers = [
  "inference(encoder=wordllama)", "bayes", "topic(labels=icd10cm-chapter)", "session", "shortlist",
]

[[mechanism]]
spec = "cmp"
parameter = "epsilon"
values = [2.5, 5, 7.5, 10, 15, 20]
attackers = [
  "inference(encoder=wordllama)", "bayes", "reconstruct", "topic(labels=icd10cm-chapter)",
  "shortlist",
]

[[mechanism]]
spec = "mahalanobis"
parameter = "epsilon"
values = [2.5, 5, 7.5, 10, 15, 20]

[[mechanism]]
spec = "vickrey"
parameter = "epsilon"
values = [2.5, 5, 7.5, 10, 15, 20]

[[mechanism]]
spec = "santext"
parameter = "epsilon"
values = [0.1, 0.5, 1, 2, 4]
attackers = ["inference(encoder=wordllama)", "bayes"]

[[mechanism]]
spec = "tem"
parameter = "epsilon"
values = [0.1, 0.5, 1, 2, 4]
attackers = ["inference(encoder=wordllama)", "bayes"]

[[mechanism]]
spec = "custext"
parameter = "epsilon"
values = [1, 2, 5, 10, 20]
attackers = ["inference(encoder=wordllama)", "bayes", "reconstruct", "intersect"]

[[mechanism]]
spec = "wbb(k=4, n=15)"
parameter = "epsilon"
values = [1, 10, 50]
attackers = ["inference(encoder=wordllama)", "bayes", "reconstruct", "intersect"]

[[mechanism]]
spec = "aea"
parameter = "level"
values = [1, 2, 3]
attackers = ["inference(encoder=wordllama)", "rerun"]

[[mechanism]]
spec = "fea"
parameter = "window"
values = [8, 12, 16]
attackers = ["inference(encoder=wordllama)", "rerun"]
"""

# Nothing that must be prepared for all words of the vocabulary: a first look is short.
_DEMO = """
name = "demo"
collection = "icd10cm"
queries = 12
sizes = [10]
attackers = ["inference(encoder=wordllama)", "bayes"]

[[mechanism]]
spec = "cmp"
parameter = "epsilon"
values = [5, 12.5]

[[mechanism]]
spec = "mahalanobis"
parameter = "epsilon"
values = [5, 12.5]
"""


def default_study() -> SearchStudy:
    """Return the study of ``veil audit``: all mechanisms on the embedded collection."""
    return _study(_DEFAULT, "the default study")


def demo_study() -> SearchStudy:
    """Return a study that takes less than two minutes."""
    return _study(_DEMO, "the demo study")


def _study(text: str, name: str) -> SearchStudy:
    return cast(SearchStudy, parse_study(text, name, Path()))


IN_CLEAR = "in clear"  # share of queries one of whose variants is the query itself
OFTEN = 0.1  # share of queries one of whose variants is the query itself
CLEAR = 0.9  # from this share of kept words, or of queries found at once, a text is all but clear


def unprotected_remarks(rows: Sequence[Row]) -> Markup:
    """Say with which mechanisms, and values of their parameters, that happens."""
    kept = [row for row in rows if row.kind == "similarity" and row.measure == IN_CLEAR]
    if kept:
        return _sent(rows, kept)
    kept = [row for row in rows if row.kind == "similarity" and row.measure == "jaccard"]
    why = f"at least {percent(CLEAR)} of the words are shared with the query (Jaccard)"
    if not kept:
        kept = [row for row in rows if row.kind == "risk" and row.measure == "lazy"]
        why = f"at least {percent(CLEAR)} of the queries are guessed at once"
    if not kept:
        return join("Whether queries go out nearly in clear was not measured.")
    told = _above(rows, kept, CLEAR)
    if not told:
        return join(f"No configuration sends queries nearly in clear ({why}).")
    return join("Queries leave ", tag("strong", "nearly in clear"), f" with {told}: {why}.")


def _sent(rows: Sequence[Row], kept: Sequence[Row]) -> Markup:
    """Say where the query itself is among its variants."""
    told = _above(rows, kept, OFTEN)
    if not told:
        return join(
            "No configuration sends the query itself among its variants for"
            f" {percent(OFTEN)} of the queries or more."
        )
    return join(
        "Queries leave ", tag("strong", "in clear"), f" with {told}: for {percent(OFTEN)} of them"
        " or more one of the variants is the query itself."
    )  # fmt: skip


def _above(rows: Sequence[Row], kept: Sequence[Row], limit: float) -> str:
    """Name the mechanisms, and the values of their parameters, that reach `limit`."""
    named = names(rows)
    values: dict[str, list[Row]] = {}
    for row in kept:
        if row.mechanism != PLAIN and row.score >= limit:
            values.setdefault(named[key(row), 0], []).append(row)
    return ", ".join(_span(name, found) for name, found in values.items())


def _span(name: str, found: Sequence[Row]) -> str:
    values = sorted({row.value for row in found})
    parameter = found[0].parameter
    if not parameter or not all(map(math.isfinite, values)):
        return name
    if len(values) == 1:
        return f"{name} ({parameter} {values[0]:g})"
    return f"{name} ({parameter} {values[0]:g} to {values[-1]:g})"
