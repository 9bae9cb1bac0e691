"""Privacy budgets: charge each release in advance, and refuse when the budget is spent."""

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

_SETTLED = "The bound holds only if no cost was chosen based on earlier answers."


class Spent(NamedTuple):
    """An epsilon and its delta; ``float()`` gives the epsilon."""

    epsilon: float
    delta: float

    def __float__(self) -> float:
        return self.epsilon


class Budget:
    """The total cost allowed for all releases of some data.

    Call `spend` before every release, and release only if it returns. If the cost would exceed the
    budget, it raises BudgetError and charges nothing. With a `path`, every charge is on disk
    before `spend` returns, so a process that is killed before its answer has paid for it, and all
    processes that use the same file share one budget. Without a path, the budget lives in this
    object and is shared by its threads. Neither data nor answers are ever written.

    Parameters
    ----------
    epsilon, delta
        The total budget. ``basic`` also uses delta to convert zCDP; ``zcdp`` and ``pld`` need it
        above 0.
    accountant
        How charges are composed, as in `compose`. Decimals are added exactly: ten times 0.1 is 1.
    path
        The ledger: a file that only its owner can access, created if missing. It stores totals and
        accountant, and opens only with the same ones.
    make
        Whether to create a missing ledger; if False, it is an error.

    Notes
    -----
    With ``basic`` if no release is zCDP, and with ``zcdp`` if no release has a delta of its own,
    the next query may depend on earlier answers in any way, including its epsilon (Rogers, Roth,
    Ullman, Vadhan 2016; Feldman, Zrnic 2021). Otherwise, and always with ``advanced`` and ``pld``,
    the costs (not the queries) must be fixed in advance. The caveat of `cost` states this.

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
            raise ParameterError("The 'path' argument must be a file path or None.")
        self._book: Book = Memory() if path is None else File(Path(path), self._terms, make=make)
        self._known: tuple[Counter[Cost], Guarantee] | None = None

    @property
    def epsilon(self) -> float:
        """Total epsilon of the budget."""
        return self._terms.epsilon

    @property
    def delta(self) -> float:
        """Total delta of the budget."""
        return self._terms.delta

    @property
    def accountant(self) -> str:
        """Name of the accountant."""
        return self._terms.accountant

    @property
    def durable(self) -> bool:
        """Whether charges outlive this object (in a ledger)."""
        return isinstance(self._book, File)

    def spend(self, item: Item, times: int = 1, note: str = "") -> None:
        """Charge an item `times` times, or raise BudgetError and charge nothing.

        `note` is stored and shown unchanged: it must reveal nothing about data or answers.
        """
        cost, item_times = cost_of(item)
        count, line = item_times * whole_times(times), checked_note(note)
        if cost.guarantee.kind not in ("dp", "local-dp", "zcdp"):
            raise BudgetError(
                f"A budget needs releases with a DP guarantee. Got kind {cost.guarantee.kind}"
                " instead. Nothing was released."
            )
        with self._book.writing() as page:
            self._check(page.counts, cost, count)
            page.add(cost, count, line)

    @property
    def spent(self) -> Spent:
        """The composed cost of all charges."""
        whole = self.cost
        return Spent(whole.epsilon, whole.delta)

    @property
    def remaining(self) -> Spent:
        """The budget minus what was spent."""
        spent = self.spent
        account = self._account(spent)
        return Spent(account.left("epsilon"), account.left("delta"))

    @property
    def cost(self) -> Guarantee:
        """The guarantee for all releases together, with its caveats."""
        counts, cached = self._book.counts(), self._known
        if cached is None or cached[0] != counts:
            self._known = cached = (counts, self._total(counts))
        return cached[1]

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
        """Raise BudgetError if a charge does not compose with the rest or exceeds the budget."""
        fresh = Counter({cost: times})
        _require_alike(counts, cost)
        if self._terms.accountant == "basic" and not _has_zcdp(counts + fresh):
            before, added = self._total(counts), self._total(fresh)
            account = self._account(Spent(before.epsilon, before.delta))
            account.check({"epsilon": added.epsilon, "delta": added.delta})
        elif not self._is_cheap(counts + fresh):
            self._compare(counts + fresh)

    def _is_cheap(self, counts: Counter[Cost]) -> bool:
        """Return whether the plain sum already fits, before a tighter bound is computed."""
        if self._terms.accountant not in ("advanced", "pld") or _has_zcdp(counts):
            return False
        return self._fits(total(counts, self._terms.delta, "basic"))

    def _compare(self, counts: Counter[Cost]) -> None:
        try:
            whole = self._total(counts)
        except ParameterError:  # no delta remains for a conversion
            raise BudgetError(
                "This release would exceed the budget: the total delta would be above"
                f" {self._terms.delta:g}. Nothing was released."
            ) from None
        self._known = (counts, whole)  # cached for `cost`
        if not self._fits(whole):
            raise BudgetError(
                "This release would exceed the budget: the total epsilon would be"
                f" {number_of(whole.epsilon)} at delta {whole.delta:g}, and the budget is"
                f" {number_of(self._terms.epsilon)} at {self._terms.delta:g}"
                f" ({self._terms.accountant}). Nothing was released."
            )

    def _fits(self, whole: Guarantee) -> bool:
        within = whole.epsilon <= self._terms.epsilon and whole.delta <= self._terms.delta
        return whole.kind != "none" and within


def _is_filter(accountant: str, counts: Counter[Cost]) -> bool:
    """Return whether the bound also holds for costs chosen based on earlier answers."""
    if accountant == "basic":
        return not _has_zcdp(counts)
    return accountant == "zcdp" and not any(cost.guarantee.delta for cost in counts)


def _has_zcdp(counts: Counter[Cost]) -> bool:
    return any(cost.guarantee.kind == "zcdp" for cost in counts)


def _require_alike(counts: Counter[Cost], cost: Cost) -> None:
    """Raise BudgetError if a release has a different unit or neighbours than earlier ones."""
    previous = next(iter(counts), cost).guarantee
    if terms_of(previous) != terms_of(cost.guarantee):
        raise BudgetError(
            f"The budget counts releases with {_describe_unit(previous)}. Releases with"
            f" {_describe_unit(cost.guarantee)} do not compose with them. Nothing was released."
        )


def _describe_unit(guarantee: Guarantee) -> str:
    how = f" ({guarantee.neighbours})" if guarantee.neighbours else ""
    local = "local " if guarantee.kind == "local-dp" else ""
    return f"{local}DP per {guarantee.unit}{how}"


def _terms(epsilon: float, delta: float, accountant: str) -> Terms:
    rule_of(accountant)
    most, failing = positive("epsilon", epsilon), share("delta", delta, zero=True)
    if accountant in ("zcdp", "pld") and not failing:
        raise ParameterError(f"A budget counted by {accountant} needs a delta above 0.")
    return Terms(most, failing, accountant)
