"""The studies that need no file: the default of an audit, and a small one for a first look."""

from pathlib import Path

from veil.studies.study import Study, parse_study

# The attackers that know the mechanism cost the most: bayes works out the law of every word of the
# log, which takes minutes for santext and tem, and reconstruct weighs the whole vocabulary.
# Reading wbb backwards takes the neighbours of all words, some minutes once: see nfcorpus.toml.
_DEFAULT = """
name = "icd10cm"
collection = "icd10cm"
queries = 40
sizes = [20]
attackers = ["inference(encoder=wordllama)"]

[[mechanism]]
spec = "cmp"
parameter = "epsilon"
values = [5, 10, 15, 20, 30]
attackers = ["inference(encoder=wordllama)", "bayes", "reconstruct"]

[[mechanism]]
spec = "mahalanobis"
parameter = "epsilon"
values = [5, 10, 15, 20, 30]
attackers = ["inference(encoder=wordllama)", "bayes"]

[[mechanism]]
spec = "vickrey"
parameter = "epsilon"
values = [5, 10, 15, 20, 30]
attackers = ["inference(encoder=wordllama)", "bayes"]

[[mechanism]]
spec = "santext"
parameter = "epsilon"
values = [1, 2, 4, 8]

[[mechanism]]
spec = "tem"
parameter = "epsilon"
values = [1, 2, 4, 8]

[[mechanism]]
spec = "custext"
parameter = "epsilon"
values = [1, 5, 10, 20]
attackers = ["inference(encoder=wordllama)", "bayes", "intersect"]

[[mechanism]]
spec = "wbb(k=4, n=15)"
parameter = "epsilon"
values = [1, 10, 50]

[[mechanism]]
spec = "aea"
parameter = "level"
values = [1, 2, 3]

[[mechanism]]
spec = "fea"
parameter = "window"
values = [8, 12, 16]
"""

_DEMO = """
name = "demo"
collection = "icd10cm"
queries = 30
sizes = [10]
attackers = ["inference(encoder=wordllama)"]

[[mechanism]]
spec = "cmp"
parameter = "epsilon"
values = [5, 12.5, 30]
attackers = ["inference(encoder=wordllama)", "bayes", "reconstruct"]

[[mechanism]]
spec = "custext"
parameter = "epsilon"
values = [1, 5, 20]
attackers = ["inference(encoder=wordllama)", "intersect"]

[[mechanism]]
spec = "wbb(k=4, n=15)"
parameter = "epsilon"
values = [1, 10, 50]
"""


def default_study() -> Study:
    """Return the study of ``veil audit``: all mechanisms on the embedded collection."""
    return parse_study(_DEFAULT, "the default study", Path())


def demo_study() -> Study:
    """Return a study that takes less than two minutes."""
    return parse_study(_DEMO, "the demo study", Path())
