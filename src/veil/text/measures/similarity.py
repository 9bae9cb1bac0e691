"""How alike a text and its variants are, by the classical measures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Encoder, Floats, Ids
from veil.corpus.wordnet import Thesaurus, wordnet, wordnet_folder
from veil.encoders.find import encoder as find_encoder
from veil.measures.estimate import Estimate, bootstrap
from veil.text.measures.bleu import BLEU
from veil.text.measures.cosine import Cosine
from veil.text.measures.jaccard import Jaccard
from veil.text.measures.measure import Comparison
from veil.text.measures.meteor import METEOR

_NAMES = ("jaccard", "cosine", "bleu", "meteor")


@dataclass(frozen=True, eq=False)
class Similarity:
    """Means over the variants of each text (n,); nan for a text without variants.

    `cosine` is nan throughout where no encoder was used. `sizes` are the numbers of variants.
    `synonyms` tells whether METEOR knew synonyms: values with and without them are not to be
    compared.
    """

    jaccard: Floats
    cosine: Floats
    bleu: Floats
    meteor: Floats
    sizes: Ids
    synonyms: bool

    def means(self, per: Literal["text", "variant"] = "text") -> dict[str, Estimate]:
        """Return the mean of each measure that there is, with its interval over the texts.

        Every text counts alike, or every variant, as in the authors' tables: the two are the same
        where all texts have as many variants.
        """
        if per not in ("text", "variant"):
            raise ParameterError("The 'per' of a mean must be text or variant.")
        times = np.minimum(self.sizes, 1) if per == "text" else self.sizes
        owners = np.repeat(np.arange(len(times)), times)
        columns = {name: getattr(self, name)[owners] for name in _NAMES}
        return {
            name: bootstrap(values, owners)
            for name, values in columns.items()
            if len(values) and not np.isnan(values).any()
        }


def similarity(
    originals: Sequence[str],
    variants: Sequence[Sequence[str]],
    *,
    encoder: Encoder | str | None = "minilm",
    thesaurus: Thesaurus | str | None = "wordnet",
) -> Similarity:
    """Compare each text with its variants, in lower case.

    Parameters
    ----------
    variants
        ``variants[i]`` are those of ``originals[i]``; the rows need not be of one length.
    encoder
        For the cosine: one that is open, a spec, or None to leave the cosine out.
    thesaurus
        For METEOR: one that is open, ``wordnet`` (used if it has been fetched before), or None.
    """
    given = Comparison.of(originals, variants)
    known, model = _open(thesaurus), _model(encoder) if given.sizes.any() else None
    given = replace(given, thesaurus=known, encoder=model)
    unknown = np.full(len(given.originals), np.nan)
    return Similarity(
        jaccard=Jaccard().measure(given),
        cosine=unknown if model is None else Cosine().measure(given),
        bleu=BLEU().measure(given),
        meteor=METEOR().measure(given),
        sizes=given.sizes,
        synonyms=known is not None,
    )


def _model(encoder: Encoder | str | None) -> Encoder | None:
    return find_encoder(encoder) if isinstance(encoder, str) else encoder


def _open(thesaurus: Thesaurus | str | None) -> Thesaurus | None:
    if not isinstance(thesaurus, str):
        return thesaurus
    if thesaurus != "wordnet":
        raise InputError("The 'thesaurus' must be wordnet, an open one, or None.")
    return wordnet() if wordnet_folder().is_dir() else None
