"""Downstream tasks: how well a classifier works on protected texts, and the risk of attacks."""

from veil.task.classifiers import CLASSIFIERS as CLASSIFIERS
from veil.task.labelled import Labelled as Labelled
from veil.task.labelled import load as load

__all__ = ["CLASSIFIERS", "Labelled", "load"]
