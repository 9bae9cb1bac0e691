"""Do once, before many attacks, what all of them need and what is kept on disk."""

from collections.abc import Sequence

import numpy as np

from veil.data.fetch import Report, silent
from veil.encoders.find import encoder
from veil.text.attacks._boxes import Boxes
from veil.text.attacks._exponentials import Exponentials
from veil.text.attacks._likelihood import likelihood
from veil.text.attacks._normalisers import Normalisers
from veil.text.attacks._normalisers import prepare as prepare_normalisers
from veil.text.attacks._shaped_log import ShapedLog
from veil.text.attacks.attack import AttackSpec, EncoderAttack
from veil.text.attacks.log import QueryLog
from veil.text.attacks.shapes import reader
from veil.text.mechanisms.words.exponential import Exponential
from veil.text.mechanisms.words.kernels import Shortlist
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.vectors.embeddings import Embeddings


def prepare(
    attacker: AttackSpec,
    mechanisms: Sequence[WordMechanism],
    originals: Sequence[str],
    log: QueryLog | None = None,
    space: Embeddings | None = None,
    report: Report = silent,
) -> None:
    """Make what an attacker needs against these mechanisms, with all processors.

    That is: the vectors of the log, the nearest words of all words (wbb, custext), and the
    normalisers of the words of the log (santext, tem), which all slopes share. `originals` are
    the texts behind the variants; only their lengths and capitals are looked at.
    """
    if isinstance(attacker, EncoderAttack) and "log" in attacker.needs and log is not None:
        log.vectors(encoder(attacker.encoder, report), report)
    if "mechanism" not in attacker.needs or space is None:
        return
    found = _laws(mechanisms, space, report)
    if log is not None and "log" in attacker.needs:
        for select, laws in found.items():
            read = reader(mechanisms[0], space, getattr(attacker, "select", "") or select)
            prepare_normalisers(laws, ShapedLog.of(log, read).words(originals, report), report)


def _laws(
    mechanisms: Sequence[WordMechanism], space: Embeddings, report: Report
) -> dict[str, list[Normalisers]]:
    """Make the tables of candidates; return the normalisers to fill, by the words selected."""
    found: dict[str, list[Normalisers]] = {}
    for mechanism in mechanisms:
        if isinstance(mechanism.bind(space), Shortlist | Exponential):  # no model is learned here
            law = likelihood(mechanism, space)
            if isinstance(law, Boxes):
                law.prepare(np.empty(0, dtype=np.int64), report)
            if isinstance(law, Exponentials):
                found.setdefault(mechanism.select, []).append(law.known)
    return found
