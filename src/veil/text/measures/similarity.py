"""Similarity of a text and its variants: BLEU, METEOR, Jaccard and cosine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate, bootstrap
from veil.core.types import Encoder, Floats, Ids
from veil.corpus.wordnet import Thesaurus, wordnet, wordnet_folder
from veil.encoders.catalogue import encoder as find_encoder
from veil.text.measures.measure import Comparison, PairMeasure


class BLEU(PairMeasure):
    """BLEU of a variant with the original as the reference, computed by NLTK.

    N-grams of up to 4 words are counted, or of up to all words of a shorter variant, so that equal
    texts score 1. Zero counts are smoothed by 1/2, 1/4, ... (method 3 of Chen and Cherry). This is
    the sentence BLEU of sacrebleu with ``tokenize="none"``, from 0 to 1. A text without words
    scores 0.

    References
    ----------
    Papineni, Roukos, Ward, Zhu. BLEU: a Method for Automatic Evaluation of Machine Translation.
    ACL 2002. doi:10.3115/1073083.1073135
    Chen, Cherry. A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU. WMT
    2014. doi:10.3115/v1/W14-3346
    """

    name: ClassVar[str] = "bleu"
    says: ClassVar[str] = "Sequences of up to four words that variant and text share (BLEU)."

    def scores(self, comparison: Comparison) -> Floats:
        """Return the BLEU of each pair."""
        from nltk.translate.bleu_score import (  # NLTK takes a second to load
            SmoothingFunction,
            sentence_bleu,
        )

        smooth = SmoothingFunction().method3
        return np.array(
            [
                float(sentence_bleu([text], variant, smoothing_function=smooth, auto_reweigh=True))
                for text, variant in comparison.tokens
            ]
        )


_AT_ONCE = 8192  # texts encoded at a time


class Cosine(PairMeasure):
    """The cosine of the sentence vectors. Each distinct text is encoded once."""

    name: ClassVar[str] = "cosine"
    says: ClassVar[str] = "Cosine between the sentence vectors of a text and a variant."
    lowest: ClassVar[float] = -1.0
    needs: ClassVar[frozenset[str]] = frozenset({"encoder"})

    def scores(self, comparison: Comparison) -> Floats:
        """Return the cosine of each pair."""
        if comparison.encoder is None:
            raise ParameterError("The cosine needs an encoder. Pass encoder=.")
        texts = sorted({text for pair in comparison.pairs for text in pair}, key=len)
        codes = {text: i for i, text in enumerate(texts)}
        parts = [
            comparison.encoder.encode(texts[start : start + _AT_ONCE], "query")
            for start in range(0, len(texts), _AT_ONCE)
        ]
        out = np.empty(len(comparison.pairs))
        if not parts:
            return out
        vectors = np.concatenate(parts)
        columns = [np.array([codes[pair[side]] for pair in comparison.pairs]) for side in (0, 1)]
        for start in range(0, len(out), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            a, b = (vectors[column[part]].astype(np.float64) for column in columns)
            out[part] = np.einsum("ij,ij->i", a, b)
        return np.clip(out, -1, 1)


class Jaccard(PairMeasure):
    r"""The share of common words.

    .. math:: J = \frac{|A \cap B|}{|A \cup B|}

    A and B are the sets of words in lower case, split at white space. Two texts without words
    score 1.
    """

    name: ClassVar[str] = "jaccard"
    says: ClassVar[str] = "Words that a text and a variant share, among all words of the two."

    def scores(self, comparison: Comparison) -> Floats:
        """Return the Jaccard index of each pair."""
        pairs = ((set(text), set(variant)) for text, variant in comparison.tokens)
        return np.array([len(a & b) / len(a | b) if a or b else 1.0 for a, b in pairs])


class METEOR(PairMeasure):
    """METEOR of a variant with the original as the reference, computed by NLTK.

    alpha is 0.9, beta 3, gamma 0.5. Words match exactly, by Porter stem and, if there is a
    thesaurus, as synonyms. Values with and without a thesaurus are not comparable. Even equal
    texts of n words score only 1 - 0.5/n³.

    References
    ----------
    Lavie, Agarwal. METEOR: An Automatic Metric for MT Evaluation with High Levels of Correlation
    with Human Judgments. WMT 2007.
    """

    name: ClassVar[str] = "meteor"
    says: ClassVar[str] = (
        "Words of a variant that match the text exactly, by stem or as synonyms (METEOR)."
    )
    equal: ClassVar[float | None] = None

    def scores(self, comparison: Comparison) -> Floats:
        """Return the METEOR of each pair."""
        from nltk.stem.porter import PorterStemmer  # NLTK takes a second to load
        from nltk.translate.meteor_score import single_meteor_score

        stem = _CachedLookup(PorterStemmer().stem)
        synsets = _CachedLookup(_synonyms(comparison.thesaurus))
        return np.array(
            [
                float(single_meteor_score(text, variant, stemmer=stem, wordnet=synsets))
                for text, variant in comparison.tokens
            ]
        )


class _CachedLookup:
    """A stemmer or WordNet for NLTK, with a cache of words."""

    def __init__(self, look_up: Callable[[str], Any]) -> None:
        self.stem = self.synsets = lru_cache(maxsize=65536)(look_up)


@dataclass(frozen=True)
class _Lemmas:
    """A synset or one of its lemmas, with the methods that NLTK's METEOR calls."""

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
    """Means (n,) over the variants of each text, nan for a text without variants.

    `cosine` is all nan if no encoder was used. `sizes` are the numbers of variants. `synonyms` is
    whether METEOR used synonyms: values with and without them are not comparable.
    """

    jaccard: Floats
    cosine: Floats
    bleu: Floats
    meteor: Floats
    sizes: Ids
    synonyms: bool

    def means(self, per: Literal["text", "variant"] = "text") -> dict[str, Estimate]:
        """Return the mean of each measure that was computed, with its interval over the texts.

        With ``per="text"`` all texts have equal weight, with ``per="variant"`` all variants, as in
        the authors' tables. The two agree if all texts have equally many variants.
        """
        if per not in ("text", "variant"):
            raise ParameterError("'per' must be 'text' or 'variant'.")
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
        ``variants[i]`` are the variants of ``originals[i]``; rows may differ in length.
    encoder
        For the cosine: an open encoder, a spec, or None to skip the cosine.
    thesaurus
        For METEOR: an open thesaurus, ``wordnet`` (used only if already fetched), or None.
    """
    texts = Comparison.of(originals, variants)
    model = find_encoder(encoder) if isinstance(encoder, str) else encoder
    model = model if texts.sizes.any() else None
    synonyms = _open_thesaurus(thesaurus)
    comparison = replace(texts, thesaurus=synonyms, encoder=model)
    missing = np.full(len(texts.originals), np.nan)
    return Similarity(
        jaccard=Jaccard().measure(comparison),
        cosine=missing if model is None else Cosine().measure(comparison),
        bleu=BLEU().measure(comparison),
        meteor=METEOR().measure(comparison),
        sizes=comparison.sizes,
        synonyms=synonyms is not None,
    )


def _open_thesaurus(thesaurus: Thesaurus | str | None) -> Thesaurus | None:
    if not isinstance(thesaurus, str):
        return thesaurus
    if thesaurus != "wordnet":
        raise InputError("'thesaurus' must be 'wordnet', an open thesaurus, or None.")
    return wordnet() if wordnet_folder().is_dir() else None
