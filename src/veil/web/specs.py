"""What a mechanism may be told over the web: numbers and choices, and nothing to open.

A text can be the path of a file, an address, or the name of something to fetch. So no parameter
that takes a text may be given by a request, whatever it is for, and also in a plugin; it keeps
its default. What mechanisms open is then fixed when the server starts, and a request is refused
before anything is looked for: the answer does not tell what there is.
"""

from collections.abc import Callable
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from veil.data.wordnet import wordnet_at_hand
from veil.mechanisms import find
from veil.mechanisms.mechanism import TextMechanism
from veil.web.faults import RefusedError

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
        if name in cls.model_fields and name not in allowed and not _is_default(cls, name, value):
            known = ", ".join(allowed) or "none"
            raise RefusedError(
                422,
                f"The '{name}' parameter of {cls.name} may not be set over the web, as it names"
                f" something to open; what may be set: {known}.",
            )
    for name in sorted(cls.needs):
        if not _AT_HAND.get(name, _never)():
            raise RefusedError(
                422,
                f"{cls.name} needs {name}, which is not in the cache, and nothing is fetched for a"
                f" request; run: veil fetch {name}.",
            )


def settable(cls: type[TextMechanism]) -> tuple[str, ...]:
    """Return the parameters of a mechanism that a request may set: numbers and choices.

    >>> settable(find.mechanism_class("fea"))
    ('window', 'longest', 'targets', 'score', 'candidates')
    """
    return tuple(name for name, field in cls.model_fields.items() if _is_plain(field.annotation))


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


def _is_default(cls: type[TextMechanism], name: str, value: object) -> bool:
    """Tell whether a value says nothing new: answers name all parameters of a mechanism."""
    field = cls.model_fields[name]
    return not field.is_required() and type(value) is str and value == field.default


def _never() -> bool:
    return False
