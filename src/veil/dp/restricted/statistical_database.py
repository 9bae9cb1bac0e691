"""A database that answers sums, counts and maxima of any set, or refuses."""

from collections.abc import Mapping
from typing import Literal, cast, get_args

import numpy as np

from veil.core.errors import ParameterError, RefusedError
from veil.core.rng import generator
from veil.dp.inputs import count
from veil.dp.restricted.auditors import (
    Auditor,
    Mask,
    Max,
    MaxSimulatable,
    Sums,
    mask_of,
    numbers,
    total,
)

What = Literal["sum", "count", "max"]
AUDITS: Mapping[str, type[Auditor]] = {
    "max": Max,
    "max-simulatable": MaxSimulatable,
    "sum": Sums,
}


class StatisticalDatabase:
    """Exact answers about sets of records, restricted as it was done before noise.

    None of this is differential privacy: `veil.dp.attack` gets around size and overlap control,
    and auditing covers one statistic, exact disclosure, and no knowledge from elsewhere.

    Parameters
    ----------
    values
        (n,) one number per record.
    min_size
        Least size k of a set and of its complement: k <= size <= n - k. With 1 every set that is
        not empty is answered, also that of all.
    max_overlap
        How many records two answered sets may share; None for any number.
    audit
        "sum", "max", "max-simulatable", or None. Whoever audits one statistic refuses the other.

    Examples
    --------
    >>> pay = StatisticalDatabase([3, 5, 9], audit="sum")
    >>> pay.ask([True, True, True], "sum")
    17
    >>> pay.ask([0, 1, 2], "sum")
    17
    >>> pay.ask([True, True, False], "sum")
    Traceback (most recent call last):
    ...
    veil.core.errors.RefusedError: The query is not answered: a value could follow from it.
    """

    def __init__(
        self,
        values: object,
        min_size: int = 1,
        max_overlap: int | None = None,
        audit: str | None = None,
    ) -> None:
        self._values = numbers(values)
        self.n = len(self._values)
        self.min_size = count("min_size", min_size)
        if self.min_size > self.n:
            raise ParameterError(
                "The 'min_size' argument must be at most the number of records, or no set is large"
                " enough."
            )
        self.max_overlap = None if max_overlap is None else count("max_overlap", max_overlap, 0)
        self.audit = audit
        self._auditor = None if audit is None else _auditor(audit)(self.n, generator())
        self._answered = 0
        self._room: Mask = np.zeros((0, self.n), dtype=np.bool_)  # for sets that were asked about

    @property
    def asked(self) -> int:
        """How many queries were answered."""
        return self._answered

    @property
    def _asked(self) -> Mask:
        """The sets that were asked about; they are kept where overlaps are controlled."""
        return self._room[: self._answered]

    @property
    def caveat(self) -> str:
        """What the restriction does not cover."""
        exact = "Answers are exact: nothing is differentially private."
        return exact if self._auditor is None else f"{exact} {self._auditor.caveat}"

    def ask(self, mask: object, what: str = "sum") -> int | float:
        """Return the sum, the count or the maximum of a set of records.

        Parameters
        ----------
        mask
            Which records are in the set: (n,) truth values, or the positions of its records from
            0, each once. So [0, 2] are the first and the third record of three or more; n numbers
            that are all 0 or 1 are truth values.
        what
            "sum", "count" or "max".

        Raises
        ------
        RefusedError
            If the set is too small or too large, shares too much with an earlier one, or if the
            auditor says so. A refused query changes nothing.
        """
        if what not in get_args(What):
            raise ParameterError("A database is asked for a 'sum', a 'count' or a 'max'.")
        chosen = mask_of(mask, self.n)
        self._check_size(int(chosen.sum()))
        self._check_overlap(chosen)
        answer = self._answer(chosen, cast(What, what))
        if self._auditor is not None and what != "count":  # the size of a set is no value
            _judge(self._auditor, chosen, what, answer)
        self._keep(chosen)
        return answer

    def _keep(self, chosen: Mask) -> None:
        """Remember a set where it is needed; room is doubled when there is none."""
        if self.max_overlap is not None:
            if self._answered == len(self._room):
                more = np.zeros((max(16, self._answered), self.n), dtype=np.bool_)
                self._room = np.concatenate([self._room, more])
            self._room[self._answered] = chosen
        self._answered += 1

    def _check_size(self, size: int) -> None:
        least = self.min_size
        if size < least:
            raise RefusedError(
                f"The query is not answered: its set has fewer than {least:,} records."
            )
        if least > 1 and size > self.n - least:
            raise RefusedError(
                f"The query is not answered: its set leaves fewer than {least:,} records out."
            )

    def _check_overlap(self, chosen: Mask) -> None:
        if self.max_overlap is None or not self.asked:
            return
        if int((self._asked & chosen).sum(axis=1).max()) > self.max_overlap:
            raise RefusedError(
                f"The query is not answered: its set shares more than {self.max_overlap:,} records"
                " with one that was asked before."
            )

    def _answer(self, chosen: Mask, what: What) -> int | float:
        if what == "count":
            return int(chosen.sum())
        members = self._values[chosen]
        return total(members) if what == "sum" else members.max().item()


def _judge(auditor: Auditor, chosen: Mask, what: str, answer: float) -> None:
    """Let the auditor decide; one that is simulatable is not handed the answer."""
    if what != auditor.what:
        raise RefusedError(
            f"The query is not answered: the auditor judges a {auditor.what}, and no {what}."
        )
    if not auditor.allows(chosen, None if auditor.simulatable else answer):
        raise RefusedError("The query is not answered: a value could follow from it.")
    auditor.keep(chosen, answer)


def _auditor(name: str) -> type[Auditor]:
    if not isinstance(name, str) or name not in AUDITS:
        raise ParameterError(f"The audit must be one of {', '.join(AUDITS)}, or None.")
    return AUDITS[name]
