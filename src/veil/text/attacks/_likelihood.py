"""How likely each word is to have given what was seen in its slot."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Protocol

import numpy as np
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.types import ClosedForm, Floats, Ids
from veil.data.fetch import Report, silent
from veil.text.attacks._boxes import Boxes
from veil.text.attacks._density import Density
from veil.text.attacks._exponentials import Exponentials
from veil.text.attacks._simulated import Simulated
from veil.text.attacks._sums import ROUNDING, log_mean
from veil.text.mechanisms.words.cmp import CMP
from veil.text.mechanisms.words.exponential import Exponential
from veil.text.mechanisms.words.kernels import Shortlist
from veil.text.mechanisms.words.mahalanobis import Mahalanobis
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.mechanisms.words.vickrey import Vickrey
from veil.text.vectors.distances import in_chunks, rows_at_once
from veil.text.vectors.embeddings import Embeddings

Surrogate = Annotated[
    Literal["simulated", "density"],
    Field(description="what stands in for the law of a mechanism that has no closed form"),
]
_SMALL = 4096  # up to so many words the laws of all are made, whatever is asked for


class Likelihood(Protocol):
    """The law of a mechanism, read backwards."""

    @property
    def nbytes(self) -> int:
        """Memory held."""
        ...

    @property
    def rounding(self) -> float:
        """How much two sums that are equal may differ, as a share of themselves."""
        ...

    def prepare(self, exact: Ids, report: Report = silent) -> None:
        """Do beforehand, and tell of it, what takes long and is done once."""
        ...

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        r"""Return :math:`\sum_j \log P(y_j | w)` for every word w, (V,), up to one constant.

        `seen` (N,) are the words seen in one slot; `exact` (k,) are words for which no
        approximation will do.
        """
        ...

    def within(self, words: Ids, exact: Ids) -> "Likelihood | None":
        """Return the same over these words (k,) only, in order, or None if that is no cheaper.

        What is seen is then given by its place among them. For `exact`, which are some of them,
        no approximation will do.
        """
        ...


def each(law: Likelihood, seen: Sequence[Ids]) -> Iterator[Floats]:
    """Yield the log-likelihoods (V,) for the words seen in one slot after another."""
    if isinstance(law, Simulated):
        yield from law.each(seen)
    else:
        yield from map(law.of, seen)


def quick(law: Likelihood) -> bool:
    """Tell whether a law, once prepared, answers in a moment for all words of a large log."""
    return law.quick if isinstance(law, Boxes | _Plain) else True


def likelihood(
    mechanism: WordMechanism, space: Embeddings, surrogate: Surrogate = "simulated"
) -> Likelihood:
    """Return the exact law of a mechanism, or else a surrogate; it is kept with the space."""
    key = ("likelihood", str(mechanism), surrogate)
    found = space.memo.get(key, _Kept)
    if found is None:
        found = _Kept(_make(mechanism, space, surrogate))
        space.memo.put(key, found)
    return found.law


class _Kept:
    """An entry of the cache of a space."""

    def __init__(self, law: Likelihood) -> None:
        self.law = law
        self.nbytes = law.nbytes


def _make(mechanism: WordMechanism, space: Embeddings, surrogate: Surrogate) -> Likelihood:
    kernel = mechanism.bind(space)
    if isinstance(kernel, Exponential):
        return Exponentials(kernel)
    if isinstance(kernel, Shortlist):
        return Boxes.of_mechanism(mechanism, kernel)
    if isinstance(kernel, ClosedForm):
        return _Plain(kernel, space)
    if surrogate == "simulated":
        return Simulated.of_mechanism(mechanism, space)
    if isinstance(mechanism, CMP | Mahalanobis | Vickrey):
        return Density.of_mechanism(mechanism, space)
    raise ParameterError(
        f"The density of the noise of {mechanism.name} is not known; use surrogate='simulated'."
    )


class _Plain:
    """Any closed form, by its whole law: slow, for it makes the law of every word."""

    nbytes = 0
    rounding = ROUNDING

    def __init__(self, kernel: ClosedForm, space: Embeddings) -> None:
        self._kernel, self._space = kernel, space
        self.quick = space.size <= _SMALL

    def prepare(self, exact: Ids, report: Report = silent) -> None:
        """Nothing is kept."""

    def within(self, words: Ids, exact: Ids) -> None:
        """Every law is over all words."""

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Add up columns of the laws; in a large space words outside `exact` get their mean."""
        if self._space.size <= _SMALL:
            exact = None
        words = np.arange(self._space.size) if exact is None else exact
        out = np.full(self._space.size, np.nan)
        for part in in_chunks(words, rows_at_once(self._space)):
            out[words[part]] = self._kernel.log_probs(words[part])[:, seen].sum(axis=1)
        if exact is not None:
            out[np.isnan(out)] = log_mean(out[words])
        return out
