"""Veil: differentially private variants of sensitive texts and queries.

>>> import veil
>>> str(veil.CMP(epsilon=10))
'cmp(epsilon=10.0)'
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from veil.core.version import __version__ as __version__

if TYPE_CHECKING:
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
        BudgetError,
        EngineError,
        GateError,
        InputError,
        LawError,
        LedgerError,
        MissingExtraError,
        ParameterError,
        RiskError,
        TrustError,
        UnknownNameError,
        UnprotectedError,
        VeilError,
    )
    from veil.core.guarantee import Guarantee
    from veil.core.types import Ranking, Released, Variants
    from veil.data.collection import Collection
    from veil.data.embeddings import Embeddings
    from veil.encoders import ENCODERS
    from veil.filing import FileRelease, protect_file
    from veil.measures.claims import audit_claim
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

_PLACES = {  # where each public name lives; it is loaded when it is first asked for
    "veil.api": "ask attack came_back declassify encoder engine explain law load_collection"
    " load_embeddings log_ratio mechanism protect protect_stream quipu risk search similarity",
    "veil.attacks": "ATTACKS",
    "veil.core.errors": "AssetError BudgetError EngineError GateError InputError LawError"
    " LedgerError MissingExtraError ParameterError RiskError TrustError UnknownNameError"
    " UnprotectedError VeilError",
    "veil.core.guarantee": "Guarantee",
    "veil.core.types": "Ranking Released Variants",
    "veil.data.collection": "Collection",
    "veil.data.embeddings": "Embeddings",
    "veil.encoders": "ENCODERS",
    "veil.measures.claims": "audit_claim",
    "veil.measures.estimate": "Estimate",
    "veil.mechanisms.queries": "QUERY_MECHANISMS",
    "veil.mechanisms.queries.aea": "AEA",
    "veil.mechanisms.queries.fea": "FEA",
    "veil.mechanisms.words": "MECHANISMS",
    "veil.mechanisms.words.cmp": "CMP",
    "veil.mechanisms.words.custext": "CusText",
    "veil.mechanisms.words.mahalanobis": "Mahalanobis",
    "veil.mechanisms.words.santext": "SanText",
    "veil.mechanisms.words.tem": "TEM",
    "veil.mechanisms.words.vickrey": "Vickrey",
    "veil.mechanisms.words.wbb": "WBB",
    "veil.filing": "FileRelease protect_file",
    "veil.retrieval.engines": "ENGINES",
    "veil.retrieval.pipeline": "SearchResult",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

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
    "BudgetError",
    "Collection",
    "CusText",
    "Embeddings",
    "EngineError",
    "Estimate",
    "FileRelease",
    "GateError",
    "Guarantee",
    "InputError",
    "LawError",
    "LedgerError",
    "Mahalanobis",
    "MissingExtraError",
    "ParameterError",
    "Ranking",
    "Released",
    "RiskError",
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
    "audit_claim",
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
    "protect_file",
    "protect_stream",
    "quipu",
    "risk",
    "search",
    "similarity",
]


def __getattr__(name: str) -> object:
    found: object
    if name in _MODULES:
        found = getattr(import_module(_MODULES[name]), name)
    elif not name.startswith("_") and find_spec(f"veil.{name}") is not None:
        import_module("veil.api")  # so that veil.data.embeddings and its like are there, too
        found = import_module(f"veil.{name}")
    else:
        raise AttributeError(f"module 'veil' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
