"""The `Source` contract, the names of sources in the ledger, and the marks of variants."""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Ranking, Released, Variants
from veil.corpus.tokens import tokens
from veil.cover.builder import CELL, TRACKS, WORDS
from veil.cover.universe import BUILT_IN
from veil.proxy.ledger.entries import Entry, Price
from veil.proxy.ledger.key import Key, folded
from veil.proxy.results import MarkKind, VariantPiece
from veil.search.pipeline import WordOptions
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.text.vectors.embeddings import Embeddings

Marks = tuple[VariantPiece, ...]
Recall = Callable[[Sequence[Released]], Ranking | None]
_CHOSEN = (
    "The variants were released because they, or variants they share samples with, passed a"
    " local attack; this choice is outside the guarantee."
)


@dataclass(frozen=True, slots=True)
class EngineRoute:
    """How texts reach the engine.

    `leaves` is whether they leave this machine. `recall` returns the remembered answers to all
    of some texts, so that nothing need be sent, or None. `check` raises `EngineError` if the
    engine accepts no connection, in which case a new release is not recorded.
    """

    leaves: bool = True
    recall: Recall = lambda _: None
    check: Callable[[], None] = lambda: None


class Source(Protocol):
    """Makes variants of a query and adds them to its ledger entry."""

    @property
    def known(self) -> Entry:
        """The ledger entry of the query with the same options, or an empty entry."""
        ...

    @property
    def asked(self) -> str:
        """The query in the layout of its variants, which an attacker has to guess."""
        ...

    def extend(self, entry: Entry, size: int) -> Entry:
        """Return an entry with `size` variants."""
        ...

    def release(self, entry: Entry) -> Variants:
        """Return the variants of an entry, ready to be sent, with their total cost."""
        ...

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Return the pieces of each variant, marked with their origin."""
        ...


class PricedSource(Source, Protocol):
    """A source that knows the price of variants before they are sampled."""

    def price(self, entry: Entry, size: int) -> Price | None:
        """Return the price of having `size` variants; None if no more are available."""
        ...


def account_cost(guarantee: Guarantee, draws: int) -> float:
    """Return what samples add to an account: infinite if epsilons do not add up."""
    if not draws:
        return 0.0
    return math.inf if guarantee.additive else guarantee.epsilon * draws


def recorded_variants(
    entry: Entry, mechanism: TextMechanism, kept: tuple[str, ...], cost: Guarantee
) -> Variants:
    """Return the variants of an entry with their cost and the words that passed unchanged."""
    row = tuple(Released(text) for text in entry.variants)
    return Variants((row,), str(mechanism), add_choice_cost(cost, entry), (kept,), (entry.words,))


def add_choice_cost(cost: Guarantee, entry: Entry) -> Guarantee:
    """Add a caveat to the cost if the variants of the entry were selected by a check."""
    return cost.with_caveat(_CHOSEN) if entry.chosen else cost


def law_name(mechanism: TextMechanism, space: Embeddings | None) -> str:
    """Return a name that distinguishes samples of different mechanisms or vectors."""
    return str(mechanism) if space is None else f"{mechanism} in {space.name}#{_digest(space)}"


def group_name(mechanism: Cover, *, leaves: bool = True) -> str:
    """Return the name of a mechanism's table, the same for all versions: see `CoverGroups`.

    Local searches have a different name, because no remote engine has seen their groups.
    """
    return f"{_table_name(mechanism)}{'' if leaves else ', on this machine'}"


def _table_name(mechanism: Cover) -> str:
    fields = Cover.model_fields
    usual = {name: fields[name].default for name in ("stay", "near")}
    if mechanism.table not in BUILT_IN:
        usual |= dict.fromkeys(("tracks", "cell", "words"))  # stored in the folder
        usual["table"] = str(Path(mechanism.table).resolve())
        return mechanism.model_copy(update=usual).brief
    same = {"tracks": TRACKS, "cell": CELL, "words": WORDS}
    usual |= {name: None for name, value in same.items() if getattr(mechanism, name) == value}
    return mechanism.model_copy(update=usual).brief


def choices_name(mechanism: WordMechanism, words: WordOptions, key: Key) -> str:
    """Return a suffix that names options other than the default; it distinguishes releases."""
    options = [f"unknown={words['unknown']}"] if words.get("unknown", "random") != "random" else []
    policies = sorted((words.get("policies") or {}).items())
    options += [f"{kind}={policy}" for kind, policy in policies if policy != "replace"]
    select = words.get("select")
    if callable(select):
        raise ParameterError(
            "The 'select' argument must be a name or a list of terms here, because the ledger"
            " cannot identify functions. Got a function instead."
        )
    if select is not None and select != mechanism.select:
        # a list of terms may reveal as much as a query
        listed = select if isinstance(select, str) else f"terms#{key.terms(select).hex()}"
        options.append(f"select={listed}")
    return "".join(f", {option}" for option in options)


class _Digest:
    """The digest of an embedding space, cached with it."""

    nbytes = 100

    def __init__(self, text: str) -> None:
        self.text = text


def _digest(space: Embeddings) -> str:
    """Return a digest that distinguishes vectors with the same name."""
    entry = space.memo.get("digest", _Digest)
    if entry is None:
        state = hashlib.blake2b("\n".join(space.words).encode(), digest_size=4)
        state.update(np.ascontiguousarray(space.vectors).data)
        entry = _Digest(state.hexdigest())
        space.memo.put("digest", entry)
    return entry.text


def marks(
    variant: str, own: Iterable[str], kept: Iterable[str] = (), stand_ins: Iterable[str] = ()
) -> tuple[VariantPiece, ...]:
    """Split a variant into pieces, each marked with its origin.

    Words are compared with those of the query regardless of position, as a reader of the
    variant would. `own` is the query and its words as the vectors spell them, `kept` the words
    sent unchanged, `stand_ins` the words sampled for out-of-vocabulary words.
    """
    kinds: dict[str, MarkKind] = dict.fromkeys(_words(stand_ins), "unknown")
    kinds |= dict.fromkeys(_words(own), "same")
    kinds |= dict.fromkeys(_words(kept), "kept")
    return tuple(_pieces(variant, kinds))


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for token in tokens(text):
            yield folded(text[token.start : token.end])


def _pieces(variant: str, kinds: Mapping[str, MarkKind]) -> Iterator[VariantPiece]:
    at = 0
    for token in tokens(variant):
        if token.start > at:
            yield VariantPiece(variant[at : token.start], "layout")
        word = variant[token.start : token.end]
        yield VariantPiece(word, kinds.get(folded(word), "changed"))
        at = token.end
    if at < len(variant):
        yield VariantPiece(variant[at:], "layout")
