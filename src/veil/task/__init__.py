"""Downstream tasks: how well a classifier works on protected texts, and the risk of attacks.

Texts are protected and attacked as in `veil.text`.
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.task.classifiers import CLASSIFIERS as CLASSIFIERS
    from veil.task.labelled import Labelled as Labelled
    from veil.task.labelled import load as load
    from veil.text.attack import attack as attack
    from veil.text.mechanisms.catalogue import mechanism as mechanism

_PLACES = {
    "veil.task.classifiers": "CLASSIFIERS",
    "veil.task.labelled": "Labelled load",
    "veil.text.attack": "attack",
    "veil.text.mechanisms.catalogue": "mechanism",
}

facade(__name__, _PLACES)
