"""The studies that need no file: the default of an audit, and a small one for a first look."""

from pathlib import Path
from typing import cast

from veil.search.study.study import SearchStudy
from veil.studies.domains import parse_study

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
