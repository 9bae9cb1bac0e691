"""Checks that parts and domains keep their contract: ours, and those of others.

>>> from veil.text.mechanisms.words.cmp import CMP
>>> check_mechanism(CMP(epsilon=5))
"""

from veil.studies.check import check_domain as check_domain
from veil.testing.attacks import check_attack as check_attack
from veil.testing.engines import check_engine as check_engine
from veil.testing.measures import check_measure as check_measure
from veil.testing.mechanisms import check_mechanism as check_mechanism
