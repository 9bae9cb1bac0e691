"""The contract of `measure`."""

from dataclasses import replace

import numpy as np

from veil.corpus.wordnet import Thesaurus, wordnet
from veil.testing._contract import declared, in_one_sentence, require
from veil.testing._texts import Letters, small_log
from veil.text.measures.measure import NEEDS, Comparison, TextMeasure
from veil.text.mechanisms.words.santext import SanText
from veil.text.protect import protect_words


@in_one_sentence("; say in `needs` what it cannot do without")
def check_measure(measure: TextMeasure, thesaurus: Thesaurus | None = None) -> None:
    """Raise AssertionError where a measure breaks the contract of `measure`.

    It is shown texts beside variants of them, and one text without any; of what it may look
    things up in, that alone which it says it needs. `thesaurus` is for a measure that needs one,
    in the place of WordNet.
    """
    require(
        isinstance(measure, TextMeasure),
        "the measure must be a TextMeasure with its parameters: no class, and no name",
    )
    declared(type(measure))
    require(bool(getattr(measure, "says", "")), "a measure must say what it counts, in `says`")
    fields = type(measure).model_fields.values()
    require(set(measure.needs) <= NEEDS, f"a measure may need some of {', '.join(sorted(NEEDS))}")
    require(not any(field.is_required() for field in fields), "parameters must have a default")
    space, texts = small_log()
    texts = texts[:9]
    vectors = space.vectors.copy()
    mechanism = SanText(epsilon=3)
    rows = protect_words(texts, mechanism, space, 6, rng=3).rows
    given = Comparison(
        tuple(texts),
        (*rows[:-1], ()),
        Letters() if "encoder" in measure.needs else None,
        (thesaurus or wordnet()) if "thesaurus" in measure.needs else None,
        mechanism if "mechanism" in measure.needs else None,
        space if "vectors" in measure.needs else None,
    )
    values = measure.measure(given)
    require(np.shape(values) == (len(texts),), "there must be one value for each text, (n,)")
    require(np.asarray(values).dtype == np.float64, "values must be float64")
    require(bool(np.isnan(values[-1])), "a text without variants must have no value: nan")
    require(not np.isnan(values[:-1]).any(), "nan is for what cannot be measured, and that alone")
    low, high = measure.lowest - 1e-12, measure.highest + 1e-12
    require(
        bool(((values[:-1] >= low) & (values[:-1] <= high)).all()),
        "values must lie between lowest and highest",
    )
    again = measure.measure(given)
    require(np.array_equal(values, again, equal_nan=True), "the same texts have the same values")
    require(np.array_equal(space.vectors, vectors), "the word vectors must stay as they are")
    turned = replace(given, originals=given.originals[::-1], variants=given.variants[::-1])
    require(
        np.allclose(measure.measure(turned)[::-1], values, equal_nan=True),
        "the value of a text must not depend on the others",
    )
    if measure.equal is not None:
        alike = replace(given, variants=tuple((text, text) for text in texts))
        require(
            np.allclose(measure.measure(alike), measure.equal),
            "where every variant is the text itself, the value must be `equal`",
        )
