"""The keys of a study of private search, its specs, and the built-in studies.

Specs are normalised: two specs of the same component become the same string, including the
encoder that an attacker or engine names.
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
    """The keys of a study of private search.

    Attributes
    ----------
    collection
        A name, ``irds:ID``, or a path.
    queries
        Maximum number of queries, evenly spaced among those with judgements; 0 for all.
    log, log_size
        ``collection`` (its log), ``collection+wordnet`` (with the nouns of WordNet),
        ``irds:ID``, or a file with one query per line; and the maximum number of distinct
        queries, evenly spaced, 0 for all.
    engine, encoder
        Search engines, one or several; encoder that re-ranks, or ``none``.
    letters
        Weight of the words and letters that a result shares with the query, added to the score of
        the encoder. The default is 0 here, and 0.2 in ``veil search`` and on the search page.
    sizes, k
        Numbers of variants, and results per variant.
    universe
        Candidate texts of ``cover`` if its spec names no table: ``half`` (every second query of
        the log, without those of the study), ``log``, ``passages`` or ``titles`` (of the
        collection), ``icd10cm``, ``wordnet``, or a folder written by ``veil cover build``.
    attackers
        Specs of attacks. The default is one that compares texts, one that knows the distribution
        of the mechanism, and those that a mechanism declares because they know how it works.
    blind
        Add a point that reveals nothing to every plane: fixed texts from the log.
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
    """Return the normalised specs of engines, without duplicates.

    >>> engine_specs(["bm25", "bm25()", "dense(encoder='minilm()')"])
    ('bm25', 'dense')
    """
    return distinct_specs(_spelt(ENGINES.parse(spec)) for spec in specs)


def attacker_specs(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the normalised specs of attackers, without duplicates.

    >>> attacker_specs(["bayes", "bayes(prior='uniform')", "inference(encoder='wordllama')"])
    ('bayes', 'inference(encoder=wordllama)')
    """
    return distinct_specs(_spelt(ATTACKS.parse(spec)) for spec in specs)


def encoder_spec(spec: str) -> str:
    """Return the normalised spec of an encoder. For Hugging Face it is a model name with a slash.

    >>> encoder_spec("huggingface(model='facebook/contriever')"), encoder_spec("minilm()")
    ('facebook/contriever', 'minilm')
    """
    component = parse_encoder(spec)
    short = short_spec(component)
    model = str(getattr(component, "model", ""))
    return model if "/" in model and short == f"huggingface(model={model})" else short


def _spelt(component: Component) -> Component:
    """Return the component with the spec of its encoder normalised."""
    spec = getattr(component, "encoder", None)
    if isinstance(spec, str):
        return component.model_copy(update={"encoder": encoder_spec(spec)})
    return component


# Every mechanism faces the same attackers where they apply, so that risks are comparable. Only
# reconstruct is left out against santext and tem: they need a normaliser for every word, which
# takes too long. Certifying a risk of 5 % takes at least 72 queries. The first run computes the
# nearest words of all words for intersect, which takes some minutes once. The local corpus of fea
# is the searched collection. The table of cover is built from half of the log, without the
# queries. A blind point is added to every plane automatically.
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

# No mechanism here needs preparation for the whole vocabulary, so the study is quick.
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
CLEAR = 0.9  # share of unchanged words, or of first guesses, from which a text is nearly clear


def unprotected_remarks(rows: Sequence[Row]) -> Markup:
    """Return a remark on the configurations that send queries unprotected or nearly so."""
    measured = [row for row in rows if row.kind == "similarity" and row.measure == IN_CLEAR]
    if measured:
        return _in_clear_remark(rows, measured)
    measured = [row for row in rows if row.kind == "similarity" and row.measure == "jaccard"]
    why = f"at least {percent(CLEAR)} of the words are shared with the query (Jaccard)"
    if not measured:
        measured = [row for row in rows if row.kind == "risk" and row.measure == "lazy"]
        why = f"the first guess is right for at least {percent(CLEAR)} of the queries"
    if not measured:
        return join("It was not measured whether queries are sent nearly in clear.")
    affected = _above(rows, measured, CLEAR)
    if not affected:
        return join(f"No configuration sends queries nearly in clear ({why}).")
    return join("Queries are sent ", tag("strong", "nearly in clear"), f" with {affected}: {why}.")


def _in_clear_remark(rows: Sequence[Row], measured: Sequence[Row]) -> Markup:
    """Return a remark on the configurations whose variants contain the query itself."""
    affected = _above(rows, measured, OFTEN)
    if not affected:
        return join(
            f"No configuration sends the query itself as a variant for {percent(OFTEN)} of the"
            " queries or more."
        )
    return join(
        "Queries are sent ", tag("strong", "in clear"), f" with {affected}: one of the variants is"
        f" the query itself for {percent(OFTEN)} of the queries or more."
    )  # fmt: skip


def _above(rows: Sequence[Row], measured: Sequence[Row], limit: float) -> str:
    """Return the mechanisms and parameter values that reach `limit`, as text."""
    labels = names(rows)
    values: dict[str, list[Row]] = {}
    for row in measured:
        if row.mechanism != PLAIN and row.score >= limit:
            values.setdefault(labels[key(row), 0], []).append(row)
    return ", ".join(_span(name, cells) for name, cells in values.items())


def _span(name: str, cells: Sequence[Row]) -> str:
    values = sorted({row.value for row in cells})
    parameter = cells[0].parameter
    if not parameter or not all(map(math.isfinite, values)):
        return name
    if len(values) == 1:
        return f"{name} ({parameter} {values[0]:g})"
    return f"{name} ({parameter} {values[0]:g} to {values[-1]:g})"
