"""The keys of a study of private search: a collection, a log, engines, an encoder."""

from typing import Annotated

from pydantic import Field

from veil.search.engines.engine import MAX_K
from veil.studies.study import MAX_SIZE, Specs, Study


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
    attackers: Annotated[Specs, Field(strict=False)] = ("inference",)
    universe: str = ""
    blind: bool = True
