"""Where the truth stands among an attacker's guesses: the same for every kind of data."""

from dataclasses import dataclass

from veil.core.types import Ids

RELEASE = "release"  # the unit of an attacker that tells which releases belong together
LABEL = "label"  # the unit of an attacker that tells what subjects are about, not which they are


@dataclass(frozen=True, eq=False)
class Outcome:
    """What comes of an attack; `veil.measures.risk` makes risks of it.

    A choice between two worlds, with and without a person, has two candidates.

    Attributes
    ----------
    ranks
        (m,) 1 + how many candidates stand higher; ``candidates + 1`` where the truth is not among
        the candidates.
    candidates
        (m,) among how many the attacker chose: a blind guess is right once in that many times.
    subjects
        (m,) which subject (a query, a record, a household) each belongs to; where a whole subject
        is guessed it is 0, 1, ..., n - 1.
    unit
        What is guessed: a whole subject by its name ("query"), a part of one ("word"),
        `RELEASE`: which release belongs to the same subject, or `LABEL`: what it is about.
    prior
        (m,) rank of the truth by what was believed beforehand, where that is not uniform.
    left
        (m,) how many candidates were not ruled out for certain, where an attacker can tell.
    ties
        (m,) how many candidates stand as high as the truth, itself included, or None: it stands
        alone. Candidates that are level are tried in any order: success is the mean over all.
    prior_ties
        (m,) the same for `prior`.
    unanswered
        (m,) 1 where whom the attacker asks gave no answer, so that there is no guess and the truth
        counts as not found; or None: it asks nobody. The risk is then a lower bound.
    """

    ranks: Ids
    candidates: Ids
    subjects: Ids
    unit: str = "query"
    prior: Ids | None = None
    left: Ids | None = None
    ties: Ids | None = None
    prior_ties: Ids | None = None
    unanswered: Ids | None = None

    @property
    def silences(self) -> int:
        """How many guesses were not made, for want of an answer."""
        return 0 if self.unanswered is None else int(self.unanswered.sum())
