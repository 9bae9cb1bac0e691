"""Accuracy above that of a constant guess, as a share of what plain texts give."""

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats


def above_majority(right: Floats, plain: Floats, majority: Floats) -> Floats:
    r"""Return values (n,) whose mean is the utility, before that is cut to [0, 1].

    .. math:: U = \frac{a - m}{p - m}, \qquad
       v_i = U + \frac{(a_i - m_i) - U\,(p_i - m_i)}{p - m}

    `right`, `plain` and `majority` (n,) are 1 where the label of a text is found in its protected
    form, in its plain form, and by always guessing the commonest label; a, p, m are their means.

    Notes
    -----
    U is a ratio of means over texts, of which no value of one text is. The values are its
    linearisation (the delta method): their mean is U, and their spread is what U varies by when
    other texts are drawn, p and m with it. Each may lie outside of [0, 1].
    """
    a, p, m = (float(np.mean(values)) for values in (right, plain, majority))
    if p <= m:
        raise InputError(
            "On plain texts the classifier must be right more often than by always guessing the"
            f" commonest label. Got {p:.3f} against {m:.3f} instead: give it more texts to learn"
            " from, or take another."
        )
    share = (a - m) / (p - m)
    values: Floats = share + ((right - majority) - share * (plain - majority)) / (p - m)
    return values
