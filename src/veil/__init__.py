"""Veil: differentially private variants of sensitive texts and queries.

>>> import veil
>>> str(veil.CMP(epsilon=10))
'cmp(epsilon=10.0)'
"""

from veil.api import (
    declassify,
    explain,
    law,
    load_embeddings,
    log_ratio,
    mechanism,
    protect,
    protect_stream,
)
from veil.core.errors import (
    AssetError,
    InputError,
    LawError,
    MissingExtraError,
    ParameterError,
    UnknownNameError,
    VeilError,
)
from veil.core.guarantee import Guarantee
from veil.core.types import Released, Variants
from veil.data.embeddings import Embeddings
from veil.mechanisms.words import MECHANISMS
from veil.mechanisms.words.cmp import CMP
from veil.mechanisms.words.custext import CusText
from veil.mechanisms.words.mahalanobis import Mahalanobis
from veil.mechanisms.words.santext import SanText
from veil.mechanisms.words.tem import TEM
from veil.mechanisms.words.vickrey import Vickrey
from veil.mechanisms.words.wbb import WBB

__version__ = "0.1.0"

__all__ = [
    "CMP",
    "MECHANISMS",
    "TEM",
    "WBB",
    "AssetError",
    "CusText",
    "Embeddings",
    "Guarantee",
    "InputError",
    "LawError",
    "Mahalanobis",
    "MissingExtraError",
    "ParameterError",
    "Released",
    "SanText",
    "UnknownNameError",
    "Variants",
    "VeilError",
    "Vickrey",
    "declassify",
    "explain",
    "law",
    "load_embeddings",
    "log_ratio",
    "mechanism",
    "protect",
    "protect_stream",
]
