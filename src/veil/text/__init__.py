"""Protect texts by replacing words, or queries as a whole, and attack the result.

>>> from veil import text
>>> str(text.mechanism("cmp(epsilon=10)"))
'cmp(epsilon=10.0)'
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.core.outcome import Outcome as Outcome
    from veil.text.attack import Attack as Attack
    from veil.text.attack import attack as attack
    from veil.text.attacks import ATTACKS as ATTACKS
    from veil.text.log import QueryLog as QueryLog
    from veil.text.measures import MEASURES as MEASURES
    from veil.text.measures.measure import measure_all as measure_all
    from veil.text.mechanisms.catalogue import mechanism as mechanism
    from veil.text.mechanisms.queries import QUERY_MECHANISMS as QUERY_MECHANISMS
    from veil.text.mechanisms.words import MECHANISMS as MECHANISMS
    from veil.text.protect import protect as protect
    from veil.text.protect import protect_stream as protect_stream
    from veil.text.vectors.embeddings import Embeddings as Embeddings

_PLACES = {
    "veil.core.outcome": "Outcome",
    "veil.text.measures.measure": "measure_all",
    "veil.text.attack": "Attack attack",
    "veil.text.attacks": "ATTACKS",
    "veil.text.log": "QueryLog",
    "veil.text.measures": "MEASURES",
    "veil.text.mechanisms.catalogue": "mechanism",
    "veil.text.mechanisms.queries": "QUERY_MECHANISMS",
    "veil.text.mechanisms.words": "MECHANISMS",
    "veil.text.protect": "protect protect_stream",
    "veil.text.vectors.embeddings": "Embeddings",
}

facade(__name__, _PLACES)
