"""The names under which the ledger keeps draws and releases: what makes others has another."""

import hashlib
from pathlib import Path

import numpy as np

from veil.core.errors import ParameterError
from veil.cover.builder import CELL, TRACKS, WORDS
from veil.cover.universe import BUILT_IN
from veil.proxy.ledger.key import Key
from veil.search.pipeline import Words
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.text.vectors.embeddings import Embeddings


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


def choices_name(mechanism: WordMechanism, words: Words, key: Key) -> str:
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
