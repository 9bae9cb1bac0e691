"""How likely each query of a log is to have given a release, by any mechanism with a law."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Floats
from veil.data.fetch import Report, silent
from veil.text.attacks._groups import Groups
from veil.text.attacks._likelihood import Likelihood, Surrogate, likelihood
from veil.text.attacks._shaped_log import ShapedLog
from veil.text.attacks.attack import Scene
from veil.text.attacks.log import QueryLog
from veil.text.attacks.shapes import reader, space_of, word_mechanism
from veil.text.mechanisms.queries.mechanism import QueryMechanism, table_of


class Weighing(Protocol):
    """A log, weighed by one who knows the mechanism."""

    @property
    def rounding(self) -> float:
        """How much two scores that are equal may differ, as a share of themselves."""
        ...

    def scores(self, row: tuple[str, ...], report: Report = silent) -> Floats:
        """Return the log-likelihood of every query (N,) given variants; -inf: impossible."""
        ...


def weighing(
    scene: Scene,
    log: QueryLog,
    name: str,
    surrogate: Surrogate = "simulated",
    select: str = "",
    report: Report = silent,
) -> Weighing:
    """Return how the attacker called `name` weighs a log against the mechanism of a scene."""
    if isinstance(scene.mechanism, QueryMechanism):
        table = table_of(scene.mechanism)
        if table is None:
            raise ParameterError(
                f"The {name} attacker needs a mechanism with a law, but {scene.mechanism.name}"
                " rewrites whole queries by rules; use the rerun or the inference attacker."
            )
        return Groups.of(log, table, report)
    mechanism, space = word_mechanism(scene, name), space_of(scene, name)
    shaped = ShapedLog.of(log, reader(mechanism, space, select))
    return _ByWord(shaped, likelihood(mechanism, space, surrogate))


@dataclass(frozen=True, eq=False)
class _ByWord:
    """Words keep their slots, and each has a law."""

    log: ShapedLog
    law: Likelihood

    @property
    def rounding(self) -> float:
        return self.law.rounding

    def scores(self, row: tuple[str, ...], report: Report = silent) -> Floats:
        return self.log.scores(row, self.law, report)


def believed(scores: Floats, prior: Floats) -> Floats:
    """Add likelihood and prior (N,); where no query fits at all, the prior alone decides."""
    return prior if np.isneginf(scores).all() else scores + prior
