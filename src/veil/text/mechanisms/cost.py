"""What a release costs, and what its bound does not cover: one place for all who release."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.text.select import Select, reach
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.scale import scale_note

LAYOUT = (
    "Two texts are compared that have the same layout: number of words, capitals, punctuation,"
    " hyphens."
)
UNKNOWN = "Nothing is bounded between a word that the vectors know and one that they do not."
POLICIES = "Nothing is bounded between kinds of words that have different policies."
CONTEXT = (
    "Which words are selected depends on the words themselves, so that another word in the place"
    " of a protected one may pass as it is: nothing is bounded between the two."
)
LISTED = (
    "Nothing is bounded between a word that is selected and one that is not, which passes as it"
    " is."
)
_PER_UNIT = ("euclidean", "mahalanobis")  # metrics that grow with the vectors


def scale_premise(guarantee: Guarantee, space: Embeddings | None) -> str:
    """Say what a bound per unit of distance is worth in a space of an unusual scale, or "".

    It depends on the space alone.
    """
    if space is None or not guarantee.metric.startswith(_PER_UNIT):
        return ""
    return scale_note(space)


def premises(
    select: Select, policies: Mapping[str, str] | None = None, scale: str = ""
) -> tuple[str, ...]:
    """Return what goes without saying in a bound on words, a sentence each, and should not.

    `scale` is what `scale_premise` says of the space. None of it depends on the text: a caveat
    that did would tell of it.
    """
    return (LAYOUT, UNKNOWN, *chosen_premises(select, policies), *filter(None, [scale]))


def chosen_premises(select: Select, policies: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return those of the `premises` that come with a choice, and do not hold always."""
    told = [POLICIES] if policies else []
    chosen = reach(select)
    if chosen != "all":
        told.append(CONTEXT if chosen == "context" else LISTED)
    return tuple(told)


def release_cost(
    guarantee: Guarantee, words: int, size: int, passed: int, told: Sequence[str] = ()
) -> Guarantee:
    """Add up the cost of `size` variants of so many protected words.

    For words that `passed` as they are no number is a cost: `Guarantee.passed` counts them
    beside the bound, and where nothing else is released nothing at all is proved. `told` are
    caveats of the bound, where there is one.
    """
    unit = f"release ({count_of(words, 'word')} x {count_of(size, 'variant')})"
    if passed and not words:
        return Guarantee(
            "none",
            unit=unit,
            caveat=f"Nothing is protected: all words ({passed}) pass as they are.",
            passed=passed,
        )
    cost = guarantee.compose(words * size, unit)
    if cost.kind != "none":
        for sentence in told:
            cost = cost.with_caveat(sentence)
    if not passed:
        return cost
    return replace(cost, passed=passed).with_caveat(
        f"{count_of(passed, 'word')} passed unchanged by policy, outside any guarantee."
    )
