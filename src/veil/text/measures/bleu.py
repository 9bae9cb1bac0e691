"""BLEU: runs of words that two texts share."""

from typing import ClassVar

import numpy as np

from veil.core.types import Floats
from veil.text.measures.measure import Comparison, PairMeasure


class BLEU(PairMeasure):
    """BLEU of a variant, the original being the reference, as NLTK computes it.

    Up to 4-grams, up to the number of words of a variant with fewer than four (so that equal texts
    have 1), zero counts smoothed by 1/2, 1/4, ... (method 3 of Chen and Cherry): the sentence BLEU
    of sacrebleu with ``tokenize="none"``, from 0 to 1. A text without words has 0.

    References
    ----------
    Papineni, Roukos, Ward, Zhu. BLEU: a Method for Automatic Evaluation of Machine Translation.
    ACL 2002. doi:10.3115/1073083.1073135
    Chen, Cherry. A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU. WMT
    2014. doi:10.3115/v1/W14-3346
    """

    name: ClassVar[str] = "bleu"
    says: ClassVar[str] = "Runs of up to four words of a variant that the text has, too (BLEU)."

    def scores(self, given: Comparison) -> Floats:
        """Score the variant of each pair."""
        from nltk.translate.bleu_score import (  # NLTK takes a second to load
            SmoothingFunction,
            sentence_bleu,
        )

        smooth = SmoothingFunction().method3
        return np.array(
            [
                float(sentence_bleu([one], other, smoothing_function=smooth, auto_reweigh=True))
                for one, other in given.tokens
            ]
        )
