"""Veil: differentially private variants of sensitive texts and queries.

>>> import veil
>>> str(veil.CMP(epsilon=10))
'cmp(epsilon=10.0)'
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from veil.core import former
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
        RefusedError,
        RiskError,
        StepError,
        TrustError,
        UnknownNameError,
        UnprotectedError,
        VeilError,
    )
    from veil.core.estimate import Estimate
    from veil.core.guarantee import Guarantee
    from veil.core.types import Ranking, Released, Variants
    from veil.corpus.collection import Collection
    from veil.encoders import ENCODERS
    from veil.proxy.ledger.ledger import StaleError
    from veil.ratings.federated.primitives import ProtocolError, VoidError
    from veil.search.engines import ENGINES
    from veil.search.engines.network.remote import NoAnswer
    from veil.search.pipeline import SearchResult
    from veil.studies.choose import UncertifiedError
    from veil.text.attacks import ATTACKS
    from veil.text.files import FileRelease, protect_file
    from veil.text.measures import MEASURES
    from veil.text.measures.claims import audit_claim
    from veil.text.measures.measure import measure_all
    from veil.text.mechanisms.queries import QUERY_MECHANISMS
    from veil.text.mechanisms.queries.aea import AEA
    from veil.text.mechanisms.queries.fea import FEA
    from veil.text.mechanisms.words import MECHANISMS
    from veil.text.mechanisms.words.cmp import CMP
    from veil.text.mechanisms.words.custext import CusText
    from veil.text.mechanisms.words.mahalanobis import Mahalanobis
    from veil.text.mechanisms.words.santext import SanText
    from veil.text.mechanisms.words.tem import TEM
    from veil.text.mechanisms.words.vickrey import Vickrey
    from veil.text.mechanisms.words.wbb import WBB
    from veil.text.redact.pseudonyms import Pseudonyms
    from veil.text.redact.redactor import Redactor
    from veil.text.vectors.embeddings import Embeddings

former.install()

_PLACES = {
    "veil.api": "ask attack came_back declassify encoder engine explain law load_collection"
    " load_embeddings log_ratio mechanism protect protect_stream quipu risk search similarity",
    "veil.text.attacks": "ATTACKS",
    "veil.core.errors": "AssetError BudgetError EngineError GateError InputError LawError"
    " LedgerError MissingExtraError ParameterError RefusedError RiskError StepError TrustError"
    " UnknownNameError UnprotectedError VeilError",
    "veil.core.guarantee": "Guarantee",
    "veil.core.types": "Ranking Released Variants",
    "veil.corpus.collection": "Collection",
    "veil.text.vectors.embeddings": "Embeddings",
    "veil.encoders": "ENCODERS",
    "veil.text.measures": "MEASURES",
    "veil.text.measures.claims": "audit_claim",
    "veil.text.measures.measure": "measure_all",
    "veil.core.estimate": "Estimate",
    "veil.text.mechanisms.queries": "QUERY_MECHANISMS",
    "veil.text.mechanisms.queries.aea": "AEA",
    "veil.text.mechanisms.queries.fea": "FEA",
    "veil.text.mechanisms.words": "MECHANISMS",
    "veil.text.mechanisms.words.cmp": "CMP",
    "veil.text.mechanisms.words.custext": "CusText",
    "veil.text.mechanisms.words.mahalanobis": "Mahalanobis",
    "veil.text.mechanisms.words.santext": "SanText",
    "veil.text.mechanisms.words.tem": "TEM",
    "veil.text.mechanisms.words.vickrey": "Vickrey",
    "veil.text.mechanisms.words.wbb": "WBB",
    "veil.text.redact.pseudonyms": "Pseudonyms",
    "veil.text.redact.redactor": "Redactor",
    "veil.text.files": "FileRelease protect_file",
    "veil.proxy.ledger.ledger": "StaleError",
    "veil.ratings.federated.primitives": "ProtocolError VoidError",
    "veil.search.engines": "ENGINES",
    "veil.search.engines.network.remote": "NoAnswer",
    "veil.search.pipeline": "SearchResult",
    "veil.studies.choose": "UncertifiedError",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "AEA",
    "ATTACKS",
    "CMP",
    "ENCODERS",
    "ENGINES",
    "FEA",
    "MEASURES",
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
    "NoAnswer",
    "ParameterError",
    "ProtocolError",
    "Pseudonyms",
    "Ranking",
    "Redactor",
    "RefusedError",
    "Released",
    "RiskError",
    "SanText",
    "SearchResult",
    "StaleError",
    "StepError",
    "TrustError",
    "UncertifiedError",
    "UnknownNameError",
    "UnprotectedError",
    "Variants",
    "VeilError",
    "Vickrey",
    "VoidError",
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
    "measure_all",
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
    value: object
    if name in _MODULES:
        module = import_module(_MODULES[name])
        value = globals().get(name) or getattr(module, name)  # veil.search is a package, too
    elif not name.startswith("_") and find_spec(f"veil.{name}") is not None:
        import_module("veil.api")  # so that the parts of packages are there, too
        value = import_module(f"veil.{name}")
    else:
        raise AttributeError(f"module 'veil' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
