"""Veil: differentially private variants of sensitive texts and queries.

>>> import veil
>>> str(veil.CMP(epsilon=10))
'cmp(epsilon=10.0)'
"""

from veil.api import (
    ask,
    attack,
    came_back,
    declassify,
    encoder,
    engine,
    explain,
    law,
    load_collection,
    load_embeddings,
    log_ratio,
    mechanism,
    protect,
    protect_stream,
    quipu,
    risk,
    search,
    similarity,
)
from veil.attacks import ATTACKS
from veil.core.errors import (
    AssetError,
    EngineError,
    InputError,
    LawError,
    MissingExtraError,
    ParameterError,
    TrustError,
    UnknownNameError,
    UnprotectedError,
    VeilError,
)
from veil.core.guarantee import Guarantee
from veil.core.types import Ranking, Released, Variants
from veil.core.version import __version__ as __version__
from veil.data.collection import Collection
from veil.data.embeddings import Embeddings
from veil.encoders import ENCODERS
from veil.measures.estimate import Estimate
from veil.mechanisms.queries import QUERY_MECHANISMS
from veil.mechanisms.queries.aea import AEA
from veil.mechanisms.queries.fea import FEA
from veil.mechanisms.words import MECHANISMS
from veil.mechanisms.words.cmp import CMP
from veil.mechanisms.words.custext import CusText
from veil.mechanisms.words.mahalanobis import Mahalanobis
from veil.mechanisms.words.santext import SanText
from veil.mechanisms.words.tem import TEM
from veil.mechanisms.words.vickrey import Vickrey
from veil.mechanisms.words.wbb import WBB
from veil.retrieval.engines import ENGINES
from veil.retrieval.pipeline import SearchResult

__all__ = [
    "AEA",
    "ATTACKS",
    "CMP",
    "ENCODERS",
    "ENGINES",
    "FEA",
    "MECHANISMS",
    "QUERY_MECHANISMS",
    "TEM",
    "WBB",
    "AssetError",
    "Collection",
    "CusText",
    "Embeddings",
    "EngineError",
    "Estimate",
    "Guarantee",
    "InputError",
    "LawError",
    "Mahalanobis",
    "MissingExtraError",
    "ParameterError",
    "Ranking",
    "Released",
    "SanText",
    "SearchResult",
    "TrustError",
    "UnknownNameError",
    "UnprotectedError",
    "Variants",
    "VeilError",
    "Vickrey",
    "ask",
    "attack",
    "came_back",
    "declassify",
    "encoder",
    "engine",
    "explain",
    "law",
    "load_collection",
    "load_embeddings",
    "log_ratio",
    "mechanism",
    "protect",
    "protect_stream",
    "quipu",
    "risk",
    "search",
    "similarity",
]
