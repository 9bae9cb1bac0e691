"""A budget that is charged before anything is read, and refuses when it is spent."""

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from veil.core.accounting import Account
from veil.core.errors import BudgetError, ParameterError
from veil.core.formatting import number_of
from veil.core.guarantee import Guarantee
from veil.dp.accounting.charges import Book, Event, File, Memory, Terms, checked_note
from veil.dp.accounting.compose import rule_of, terms_of, total
from veil.dp.accounting.cost import Cost, Item, cost_of, whole_times
from veil.dp.inputs import positive, share

_SETTLED = "It holds where no cost was chosen by earlier answers."


class Spent(NamedTuple):
    """An epsilon and the delta that goes with it; as a number it is the epsilon."""

    epsilon: float
    delta: float

    def __float__(self) -> float:
        return self.epsilon


class Budget:
    """What all releases of some data may cost together.

    Whoever releases calls `spend` first, and releases if it returns. What would be too much raises
    BudgetError, and then nothing is charged. With a `path` every charge is on the disk before
    `spend` returns, so that a process that is killed before its answer has paid for it; and all
    processes that name the same file share one budget. Without a path the budget lives in this
    object, for all of its threads. Neither data nor answers are ever written.

    Parameters
    ----------
    epsilon, delta
        What may be spent in all. `delta` is what everything together may have; ``basic`` also
        takes it to convert zCDP, ``zcdp`` and ``pld`` need it above 0.
    accountant
        How charges add up, as in `compose`. They are added as the decimals that they are written
        as: ten times 0.1 is 1.
    path
        The ledger: a file for its owner alone, made when it is not there. Totals and accountant
        are written into it, and it can be opened with no others.
    make
        False: a ledger that is not there is not made, but refused.

    Notes
    -----
    With ``basic`` where no release is zCDP, and with ``zcdp`` where none has a delta of its own,
    what is asked next may depend on earlier answers in any way, its epsilon included (Rogers,
    Roth, Ullman, Vadhan 2016; Feldman, Zrnic 2021). Else, as always with ``advanced`` and ``pld``,
    the costs, not the questions, must be settled beforehand: `cost` says so.

    Examples
    --------
    >>> budget = Budget(epsilon=1)
    >>> for _ in range(10):
    ...     budget.spend("geometric(epsilon=0.1)")
    >>> budget.spent, float(budget.remaining)
    (Spent(epsilon=1.0, delta=0.0), 0.0)
    """

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        accountant: str = "basic",
        path: str | os.PathLike[str] | None = None,
        *,
        make: bool = True,
    ) -> None:
        self._terms = _terms(epsilon, delta, accountant)
        if path is not None and not isinstance(path, str | os.PathLike):
            raise ParameterError("The 'path' argument of a budget must name a file, or be None.")
        self._book: Book = Memory() if path is None else File(Path(path), self._terms, make=make)
        self._known: tuple[Counter[Cost], Guarantee] | None = None

    @property
    def epsilon(self) -> float:
        """What may be spent in all."""
        return self._terms.epsilon

    @property
    def delta(self) -> float:
        """What delta everything together may have."""
        return self._terms.delta

    @property
    def accountant(self) -> str:
        """How charges add up."""
        return self._terms.accountant

    @property
    def durable(self) -> bool:
        """Whether charges outlive this object: they do in a ledger."""
        return isinstance(self._book, File)

    def spend(self, item: Item, times: int = 1, note: str = "") -> None:
        """Charge an item so many times, or raise BudgetError and charge nothing.

        `note` is kept and shown as it is: it must say nothing of data or answers.
        """
        cost, each = cost_of(item)
        count, line = each * whole_times(times), checked_note(note)
        if cost.guarantee.kind not in ("dp", "local-dp", "zcdp"):
            raise BudgetError(
                f"A budget counts releases of which DP is proved, and not those of kind"
                f" {cost.guarantee.kind}; nothing was released."
            )
        with self._book.writing() as page:
            self._check(page.counts, cost, count)
            page.add(cost, count, line)

    @property
    def spent(self) -> Spent:
        """What was spent by all charges together."""
        whole = self.cost
        return Spent(whole.epsilon, whole.delta)

    @property
    def remaining(self) -> Spent:
        """What of the totals is left."""
        spent = self.spent
        account = self._account(spent)
        return Spent(account.left("epsilon"), account.left("delta"))

    @property
    def cost(self) -> Guarantee:
        """What holds of all releases together, with what that does not cover."""
        counts, known = self._book.counts(), self._known
        if known is None or known[0] != counts:
            self._known = known = (counts, self._total(counts))
        return known[1]

    @property
    def events(self) -> tuple[Event, ...]:
        """All charges, the oldest first."""
        return self._book.events()

    def _total(self, counts: Counter[Cost]) -> Guarantee:
        if not counts:
            return Guarantee("dp", 0.0)
        whole = total(counts, self._terms.delta, self._terms.accountant)
        return whole if _is_filter(self._terms.accountant, counts) else whole.with_caveat(_SETTLED)

    def _account(self, spent: Spent) -> Account:
        limits = {"epsilon": self._terms.epsilon, "delta": self._terms.delta}
        return Account(limits, {"epsilon": spent.epsilon, "delta": spent.delta})

    def _check(self, counts: Counter[Cost], cost: Cost, times: int) -> None:
        """Refuse what does not add up with the rest, and what is too much."""
        fresh = Counter({cost: times})
        _require_alike(counts, cost)
        if self._terms.accountant == "basic" and not _has_zcdp(counts + fresh):
            before, added = self._total(counts), self._total(fresh)
            account = self._account(Spent(before.epsilon, before.delta))
            account.check({"epsilon": added.epsilon, "delta": added.delta})
        elif not self._is_cheap(counts + fresh):
            self._compare(counts + fresh)

    def _is_cheap(self, counts: Counter[Cost]) -> bool:
        """Tell whether the plain sum has room already, before anything better is computed."""
        if self._terms.accountant not in ("advanced", "pld") or _has_zcdp(counts):
            return False
        return self._fits(total(counts, self._terms.delta, "basic"))

    def _compare(self, counts: Counter[Cost]) -> None:
        try:
            whole = self._total(counts)
        except ParameterError:  # nothing of delta is left for a conversion
            raise BudgetError(
                "With the release, all of them would have a larger delta than the"
                f" {self._terms.delta:g} of the budget; nothing was released."
            ) from None
        self._known = (counts, whole)  # it need not be followed again when it is asked for
        if not self._fits(whole):
            raise BudgetError(
                f"With the release, epsilon would be {number_of(whole.epsilon)} in all at delta"
                f" {whole.delta:g}, and {number_of(self._terms.epsilon)} at"
                f" {self._terms.delta:g} may be spent ({self._terms.accountant}); nothing was"
                " released."
            )

    def _fits(self, whole: Guarantee) -> bool:
        within = whole.epsilon <= self._terms.epsilon and whole.delta <= self._terms.delta
        return whole.kind != "none" and within


def _is_filter(accountant: str, counts: Counter[Cost]) -> bool:
    """Tell whether the sum holds for costs that were chosen by earlier answers, too."""
    if accountant == "basic":
        return not _has_zcdp(counts)
    return accountant == "zcdp" and not any(cost.guarantee.delta for cost in counts)


def _has_zcdp(counts: Counter[Cost]) -> bool:
    return any(cost.guarantee.kind == "zcdp" for cost in counts)


def _require_alike(counts: Counter[Cost], cost: Cost) -> None:
    """Refuse a release that speaks of other neighbours than those that were charged."""
    known = next(iter(counts), cost).guarantee
    if terms_of(known) != terms_of(cost.guarantee):
        raise BudgetError(
            f"The budget counts releases of {_named(known)}, and not of {_named(cost.guarantee)},"
            " which do not add up with them; nothing was released."
        )


def _named(told: Guarantee) -> str:
    how = f" ({told.neighbours})" if told.neighbours else ""
    local = "local " if told.kind == "local-dp" else ""
    return f"{local}DP per {told.unit}{how}"


def _terms(epsilon: float, delta: float, accountant: str) -> Terms:
    rule_of(accountant)
    most, failing = positive("epsilon", epsilon), share("delta", delta, zero=True)
    if accountant in ("zcdp", "pld") and not failing:
        raise ParameterError(f"A budget counted by {accountant} needs a delta above 0.")
    return Terms(most, failing, accountant)
