"""The contract of sources, which make variants of a query; their names in the ledger; marks."""

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
    "The draws were released because they, or ones that they share, passed a local attack: that"
    " choice is outside of the guarantee."
)


@dataclass(frozen=True, slots=True)
class EngineRoute:
    """How texts reach the engine: whether they leave this machine, and what is remembered.

    `recall` gives what was answered lately to all of some texts, so that nothing need be sent, or
    None. `check` raises `EngineError` where the engine takes no connection: a new release is then
    not written down.
    """

    leaves: bool = True
    recall: Recall = lambda _: None
    check: Callable[[], None] = lambda: None


class Source(Protocol):
    """Adds variants to what was released of a query."""

    @property
    def known(self) -> Entry:
        """What was released of the query with the same choices, or an empty entry."""
        ...

    @property
    def asked(self) -> str:
        """The query as its variants are laid out: what an attacker has to guess."""
        ...

    def extend(self, entry: Entry, size: int) -> Entry:
        """Return an entry with so many variants."""
        ...

    def release(self, entry: Entry) -> Variants:
        """Return the variants of an entry, which may be sent, with what they cost all in all."""
        ...

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Say of each word of the variants what it is."""
        ...


class PricedSource(Source, Protocol):
    """Knows what variants cost before they are drawn."""

    def price(self, entry: Entry, size: int) -> Price | None:
        """Return what it costs to have so many variants; None if no more can be had."""
        ...


def account_cost(guarantee: Guarantee, draws: int) -> float:
    """Return what draws add to an account: infinite where a sum of epsilons says too little."""
    if not draws:
        return 0.0
    return math.inf if guarantee.additive else guarantee.epsilon * draws


def recorded_variants(
    entry: Entry, mechanism: TextMechanism, kept: tuple[str, ...], cost: Guarantee
) -> Variants:
    """Return the variants of an entry, with what they cost and which words passed."""
    row = tuple(Released(text) for text in entry.variants)
    return Variants((row,), str(mechanism), add_choice_cost(cost, entry), (kept,), (entry.words,))


def add_choice_cost(cost: Guarantee, entry: Entry) -> Guarantee:
    """Add to a cost that the draws of an entry were chosen, where they were."""
    return cost.with_caveat(_CHOSEN) if entry.chosen else cost


def law_name(mechanism: TextMechanism, space: Embeddings | None) -> str:
    """Name what makes draws: those of another mechanism or of other vectors are not the same."""
    return str(mechanism) if space is None else f"{mechanism} in {space.name}#{_digest(space)}"


def group_name(mechanism: Cover, *, leaves: bool = True) -> str:
    """Name the table of a mechanism, whatever its version: see `Groups`.

    What was searched on this machine alone is apart: no engine elsewhere has seen it.
    """
    return f"{_table_name(mechanism)}{'' if leaves else ', on this machine'}"


def _table_name(mechanism: Cover) -> str:
    fields = Cover.model_fields
    usual = {name: fields[name].default for name in ("stay", "near")}
    if mechanism.table not in BUILT_IN:  # wherever it was named from
        usual |= dict.fromkeys(("tracks", "cell", "words"))  # a folder has its own
        usual["table"] = str(Path(mechanism.table).resolve())
        return mechanism.model_copy(update=usual).brief
    same = {"tracks": TRACKS, "cell": CELL, "words": WORDS}
    usual |= {name: None for name, value in same.items() if getattr(mechanism, name) == value}
    return mechanism.model_copy(update=usual).brief


def choices_name(mechanism: WordMechanism, words: WordOptions, key: Key) -> str:
    """Name the choices that are not the usual ones; with others, a release is another one."""
    told = [f"unknown={words['unknown']}"] if words.get("unknown", "random") != "random" else []
    policies = sorted((words.get("policies") or {}).items())
    told += [f"{kind}={policy}" for kind, policy in policies if policy != "replace"]
    select = words.get("select")
    if callable(select):
        raise ParameterError(
            "The ledger cannot tell one function from another: the 'select' argument must be a"
            " name or a list of terms here."
        )
    if select is not None and select != mechanism.select:
        # a list of terms may tell as much as a query
        listed = select if isinstance(select, str) else f"terms#{key.terms(select).hex()}"
        told.append(f"select={listed}")
    return "".join(f", {each}" for each in told)


class _Named:
    """The digest of a space, kept with it."""

    nbytes = 100

    def __init__(self, text: str) -> None:
        self.text = text


def _digest(space: Embeddings) -> str:
    """Return what tells vectors from others that have the same name."""
    known = space.memo.get("digest", _Named)
    if known is None:
        made = hashlib.blake2b("\n".join(space.words).encode(), digest_size=4)
        made.update(np.ascontiguousarray(space.vectors).data)
        known = _Named(made.hexdigest())
        space.memo.put("digest", known)
    return known.text


def marks(
    variant: str, own: Iterable[str], kept: Iterable[str] = (), stand_ins: Iterable[str] = ()
) -> tuple[VariantPiece, ...]:
    """Cut a variant into pieces, each with what it is.

    A word is compared with those of the query, wherever it stands: that is what a reader of the
    variant sees. `own` are the query and its words as the vectors spell them, `kept` the words
    that are sent as they are, `stand_ins` those drawn for words that the vectors do not know.
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
