"""What a mechanism may be told over the web: numbers and choices, and nothing to open.

A text can be the path of a file, an address, or the name of something to fetch. So no parameter
that takes a text may be given by a request, whatever it is for, and also in a plugin; it keeps
its default. Only a built-in table of cover may be named, if it is there. No name but that of a
parameter is handed on. What mechanisms open is then fixed when the server starts, and a request is
refused before anything is looked for: but for these tables, the answer does not tell what there
is.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, AliasPath

from veil.core.component import no_parameter
from veil.core.errors import ParameterError
from veil.corpus.wordnet import wordnet_at_hand, wordnet_folder
from veil.cover.catalogue import at_hand
from veil.cover.universe import BUILT_IN
from veil.text.mechanisms import find
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.web.faults import StatusError

_PLAIN = (bool, int, float, NoneType)
_AT_HAND: dict[str, Callable[[], bool]] = {
    "vectors": lambda: True,  # opened when the server starts
    "wordnet": wordnet_at_hand,
}


def check_spec(spec: str) -> None:
    """Refuse a spec that names a parameter which may not be set, or needs what is not here."""
    cls, parameters = find.read(spec)
    allowed = settable(cls)
    for name, value in parameters.items():
        known = _is_default(cls, name, value) or _is_built_in(cls, name, value)
        if name not in allowed and not known:
            raise _refused(cls, name, allowed)
    for name in sorted(cls.needs):
        _check_at_hand(cls.name, name)
    if issubclass(cls, Cover):
        _check_table(parameters)


def _refused(cls: type[TextMechanism], name: str, allowed: tuple[str, ...]) -> Exception:
    """Say why a parameter is refused; nothing is built for it."""
    if (
        name not in {*cls.model_fields, *_aliases(cls)}
        and cls.model_config.get("extra") == "forbid"
    ):
        return ParameterError(no_parameter(cls, name))
    field = cls.model_fields.get(name)
    opens = field is not None and not _is_plain(field.annotation)
    why = ", as it names something to open" if opens else ""
    known = ", ".join(allowed) or "none"
    tables = f" The tables that may be named: {', '.join(BUILT_IN)}."
    return StatusError(
        422,
        f"The '{name}' parameter of {cls.name} may not be set over the web{why}; what may be set:"
        f" {known}.{tables if cls is Cover and name == 'table' else ''}",
    )


def _check_at_hand(mechanism: str, name: str) -> None:
    if _AT_HAND.get(name, _never)():
        return
    damaged = name == "wordnet" and wordnet_folder().exists()
    state, again = ("is damaged", "--again ") if damaged else ("is not", "")
    raise StatusError(
        422,
        f"{mechanism} needs {name}, which {state} in the cache, and nothing is fetched for a"
        f" request; run: veil fetch {again}{name}.",
    )


def _check_table(parameters: Mapping[str, object]) -> None:
    """Refuse a table that would have to be built: that takes long, and fills the disk."""
    wanted = {name: parameters.get(name) for name in ("tracks", "cell", "words")}
    chosen = {name: value for name, value in wanted.items() if isinstance(value, int)}
    table = parameters.get("table", Cover.model_fields["table"].default)
    if not at_hand(str(table), **chosen):
        raise StatusError(
            422,
            "cover has no table with these parameters yet, and none is built for a request; build"
            " it first: veil cover build.",
        )


def settable(cls: type[TextMechanism]) -> tuple[str, ...]:
    """Return the parameters of a mechanism that a request may set: numbers and choices.

    One that goes by another name than its own is not among them, nor one whose name is another
    name of a second one.

    >>> settable(find.mechanism_class("fea"))
    ('window', 'longest', 'targets', 'score', 'candidates')
    """
    taken = _aliases(cls)
    return tuple(
        name
        for name, field in cls.model_fields.items()
        if _is_plain(field.annotation) and field.validation_alias is None and name not in taken
    )


def usable(cls: type[TextMechanism]) -> bool:
    """Tell whether a request can name a mechanism at all: what it must set, it may set."""
    needed = {name for name, field in cls.model_fields.items() if field.is_required()}
    return needed <= set(settable(cls))


def _is_plain(kind: object) -> bool:
    """Tell whether all values of a type are numbers, truth values or choices of a list."""
    origin = get_origin(kind)
    if origin is Literal:
        return True
    if origin is Annotated:
        return _is_plain(get_args(kind)[0])
    if origin in (Union, UnionType):
        return all(map(_is_plain, get_args(kind)))
    return kind in _PLAIN or (isinstance(kind, type) and issubclass(kind, Enum))


def _aliases(cls: type[TextMechanism]) -> set[str]:
    """Return all names of parameters that are not those of their fields."""
    found: set[str] = set()
    for field in cls.model_fields.values():
        alias = field.validation_alias
        each = alias.choices if isinstance(alias, AliasChoices) else [alias]
        paths = [one.path[0] if isinstance(one, AliasPath) else one for one in each]
        found |= {one for one in paths if isinstance(one, str)}
    return found


def _is_default(cls: type[TextMechanism], name: str, value: object) -> bool:
    """Tell whether a value says nothing new: answers name all parameters of a mechanism."""
    field = cls.model_fields.get(name)
    if field is None or field.validation_alias is not None or name in _aliases(cls):
        return False
    return not field.is_required() and type(value) is str and value == field.default


def _is_built_in(cls: type[TextMechanism], name: str, value: object) -> bool:
    """Tell whether a value is the name of a built-in table, which is no folder to open."""
    return cls is Cover and name == "table" and type(value) is str and value in BUILT_IN


def _never() -> bool:
    return False
