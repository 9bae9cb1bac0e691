"""How alike a text and its variants are: BLEU, METEOR, Jaccard and cosine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Encoder, Floats, Ids
from veil.corpus.wordnet import Thesaurus, wordnet, wordnet_folder
from veil.encoders.catalogue import encoder as find_encoder
from veil.measures.estimate import Estimate, bootstrap
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


_AT_ONCE = 8192  # texts encoded at a time


class Cosine(PairMeasure):
    """The cosine of the sentence vectors; each distinct text is encoded once."""

    name: ClassVar[str] = "cosine"
    says: ClassVar[str] = "Cosine between the sentence vectors of a text and a variant."
    lowest: ClassVar[float] = -1.0
    needs: ClassVar[frozenset[str]] = frozenset({"encoder"})

    def scores(self, given: Comparison) -> Floats:
        """Compare the vectors of each pair."""
        if given.encoder is None:
            raise ParameterError("The cosine needs an encoder: give encoder=.")
        texts = sorted({text for pair in given.pairs for text in pair}, key=len)
        place = {text: i for i, text in enumerate(texts)}
        parts = [
            given.encoder.encode(texts[start : start + _AT_ONCE], "query")
            for start in range(0, len(texts), _AT_ONCE)
        ]
        out = np.empty(len(given.pairs))
        if not parts:
            return out
        vectors = np.concatenate(parts)
        one, other = (np.array([place[pair[side]] for pair in given.pairs]) for side in (0, 1))
        for start in range(0, len(out), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            left, right = (vectors[side[part]].astype(np.float64) for side in (one, other))
            out[part] = np.einsum("ij,ij->i", left, right)
        return np.clip(out, -1, 1)


class Jaccard(PairMeasure):
    r"""The share of common words.

    .. math:: J = \frac{|A \cap B|}{|A \cup B|}

    of the sets of words in lower case, cut at white space; two texts without any are equal.
    """

    name: ClassVar[str] = "jaccard"
    says: ClassVar[str] = "Words that a text and a variant share, among all words of the two."

    def scores(self, given: Comparison) -> Floats:
        """Compare the sets of each pair."""
        return np.array([_share(set(one), set(other)) for one, other in given.tokens])


def _share(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


class METEOR(PairMeasure):
    """METEOR of a variant, the original being the reference, as NLTK computes it.

    alpha 0.9, beta 3, gamma 0.5; words match as they are, by their Porter stem, and as synonyms
    where a thesaurus is at hand: values with and without one are not to be compared. Even equal
    texts of n words have 1 - 0.5/n³ only.

    References
    ----------
    Lavie, Agarwal. METEOR: An Automatic Metric for MT Evaluation with High Levels of Correlation
    with Human Judgments. WMT 2007.
    """

    name: ClassVar[str] = "meteor"
    says: ClassVar[str] = (
        "Words of a variant that match the text as they are, by stem or as synonyms (METEOR)."
    )
    equal: ClassVar[float | None] = None

    def scores(self, given: Comparison) -> Floats:
        """Score the variant of each pair."""
        from nltk.stem.porter import PorterStemmer  # NLTK takes a second to load
        from nltk.translate.meteor_score import single_meteor_score

        stem, synsets = _Words(PorterStemmer().stem), _Words(_synonyms(given.thesaurus))
        return np.array(
            [
                float(single_meteor_score(one, other, stemmer=stem, wordnet=synsets))
                for one, other in given.tokens
            ]
        )


class _Words:
    """What NLTK asks a stemmer or a WordNet about a word, remembered."""

    def __init__(self, look_up: Callable[[str], Any]) -> None:
        self.stem = self.synsets = lru_cache(maxsize=65536)(look_up)


@dataclass(frozen=True)
class _Lemmas:
    """A synset, or one of its lemmas, as far as NLTK's METEOR looks at them."""

    names: tuple[str, ...]

    def lemmas(self) -> list["_Lemmas"]:
        return [_Lemmas((name,)) for name in self.names]

    def name(self) -> str:
        return self.names[0]


def _synonyms(thesaurus: Thesaurus | None) -> Callable[[str], list[_Lemmas]]:
    if thesaurus is None:
        return lambda _: []
    return lambda word: [_Lemmas(tuple(sorted(thesaurus.synonyms(word))))]


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
