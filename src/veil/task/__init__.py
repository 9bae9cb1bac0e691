"""Downstream tasks: what a classifier still reads in protected texts, and what attackers do."""

from veil.task.classifiers import CLASSIFIERS as CLASSIFIERS
from veil.task.labelled import Labelled as Labelled
from veil.task.labelled import load as load

__all__ = ["CLASSIFIERS", "Labelled", "load"]
