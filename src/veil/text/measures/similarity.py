r"""How alike a text and its variants are, by the classical measures.

.. math:: J = \frac{|A \cap B|}{|A \cup B|}

of the white-space token sets; the cosine of the sentence vectors; BLEU and METEOR as NLTK computes
them, the original being the reference. Texts are compared in lower case.

* BLEU: up to 4-grams, up to the number of words of a variant with fewer than four (so that equal
  texts have 1), zero counts smoothed by 1/2, 1/4, ... (method 3 of Chen and Cherry): the sentence
  BLEU of sacrebleu with ``tokenize="none"``, from 0 to 1.
* METEOR: alpha 0.9, beta 3, gamma 0.5; words match as they are, by their Porter stem, and as
  synonyms where a WordNet is at hand. Even equal texts of n words have 1 - 0.5/n³ only.

References
----------
Papineni, Roukos, Ward, Zhu. BLEU: a Method for Automatic Evaluation of Machine Translation. ACL
2002. doi:10.3115/1073083.1073135
Chen, Cherry. A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU. WMT 2014.
doi:10.3115/v1/W14-3346
Lavie, Agarwal. METEOR: An Automatic Metric for MT Evaluation with High Levels of Correlation with
Human Judgments. WMT 2007.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.protocols import Encoder
from veil.core.types import Floats, Ids
from veil.corpus.wordnet import Thesaurus, wordnet, wordnet_folder
from veil.encoders.find import encoder as find_encoder
from veil.measures.estimate import Estimate, bootstrap
from veil.text.measures._nltk import by_nltk

Pair = tuple[str, str]  # a text, a variant
_NAMES = ("jaccard", "cosine", "bleu", "meteor")
_AT_ONCE = 8192  # texts encoded at a time


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
    """Compare each text with its variants.

    Parameters
    ----------
    variants
        ``variants[i]`` are those of ``originals[i]``; the rows need not be of one length.
    encoder
        For the cosine: one that is open, a spec, or None to leave the cosine out.
    thesaurus
        For METEOR: one that is open, ``wordnet`` (used if it has been fetched before), or None.
    """
    originals, variants = _listed(originals, variants)
    _check(originals, variants)
    known = _open(thesaurus)
    pairs = [(text, one) for text, row in zip(originals, variants, strict=True) for one in row]
    owners = np.repeat(np.arange(len(originals)), [len(row) for row in variants])
    distinct = list(dict.fromkeys(pairs))
    place = {pair: i for i, pair in enumerate(distinct)}
    index = np.array([place[pair] for pair in pairs], dtype=np.int64)

    def mean(values: Floats) -> Floats:
        """Average over the variants of each text."""
        sums = np.bincount(owners, values[index], len(originals))
        counts = np.bincount(owners, minlength=len(originals))
        out = np.full(len(originals), np.nan)
        np.divide(sums, counts, out=out, where=counts > 0)
        return out

    tokens = [(one.lower().split(), other.lower().split()) for one, other in distinct]
    bleu, meteor = by_nltk(known)
    return Similarity(
        jaccard=mean(np.array([_jaccard(set(one), set(other)) for one, other in tokens])),
        cosine=mean(_cosine(distinct, encoder)),
        bleu=mean(np.array([bleu(one, other) for one, other in tokens])),
        meteor=mean(np.array([meteor(one, other) for one, other in tokens])),
        sizes=np.bincount(owners, minlength=len(originals)).astype(np.int64),
        synonyms=known is not None,
    )


def _jaccard(one: set[str], other: set[str]) -> float:
    """Return the share of common tokens; two texts without any are equal."""
    return len(one & other) / len(one | other) if one or other else 1.0


def _cosine(pairs: Sequence[Pair], encoder: Encoder | str | None) -> Floats:
    """Return the cosine of each pair, each distinct text being encoded once."""
    if encoder is None or not pairs:
        return np.full(len(pairs), np.nan)
    model = find_encoder(encoder) if isinstance(encoder, str) else encoder
    texts = sorted({text for pair in pairs for text in pair}, key=len)
    place = {text: i for i, text in enumerate(texts)}
    vectors = np.concatenate(
        [
            model.encode(texts[start : start + _AT_ONCE], "query")
            for start in range(0, len(texts), _AT_ONCE)
        ]
    )
    one, other = (np.array([place[pair[side]] for pair in pairs]) for side in (0, 1))
    out = np.empty(len(pairs))
    for start in range(0, len(pairs), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        left, right = (vectors[side[part]].astype(np.float64) for side in (one, other))
        out[part] = np.einsum("ij,ij->i", left, right)
    return np.clip(out, -1, 1)


def _open(thesaurus: Thesaurus | str | None) -> Thesaurus | None:
    if not isinstance(thesaurus, str):
        return thesaurus
    if thesaurus != "wordnet":
        raise InputError("The 'thesaurus' must be wordnet, an open one, or None.")
    return wordnet() if wordnet_folder().is_dir() else None


def _listed(
    originals: Iterable[str], variants: Iterable[Iterable[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Make lists of columns, arrays and iterators; strings stay what they are, to be refused."""
    try:
        texts = originals if isinstance(originals, str) else list(originals)
        rows = [row if isinstance(row, str) else list(row) for row in variants]
    except TypeError:
        raise InputError(
            "Texts come in a list, and the variants of each text in a list, too."
        ) from None
    return texts, rows


def _check(originals: Sequence[str], variants: Sequence[Sequence[str]]) -> None:
    if isinstance(originals, str) or any(isinstance(row, str) for row in variants):
        raise InputError("Texts come in a list, and the variants of each text in a list, too.")
    if len(originals) != len(variants):
        raise InputError(
            f"There are {len(originals)} texts, but variants of {len(variants)}; give one row of"
            " variants for each text."
        )
    if not originals:
        raise InputError("A similarity needs at least one text.")
    for number, (text, row) in enumerate(zip(originals, variants, strict=True)):
        if not all(isinstance(each, str) for each in (text, *row)):
            raise InputError(f"Text {number + 1} or one of its variants is not a string.")
