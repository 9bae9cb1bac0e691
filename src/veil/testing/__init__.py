"""Checks that components and domains keep their contract, ours and those of plugins.

>>> from veil.text.mechanisms.words.cmp import CMP
>>> check(CMP(epsilon=5))
"""

from veil.studies.check import check_domain as check_domain
from veil.testing.check import check as check
from veil.testing.check import parametrize_with_checks as parametrize_with_checks
from veil.testing.search import check_engine as check_engine
from veil.testing.text import check_attack as check_attack
from veil.testing.text import check_measure as check_measure
from veil.testing.text import check_mechanism as check_mechanism
