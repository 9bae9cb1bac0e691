"""One spelling for every spec of a study, however it was written.

Two specs of the same thing become the same text, which is parsed back to that thing.
"""

import re
from collections.abc import Iterable

from veil.core.component import Component

_BARE = re.compile(r"(?!(?:true|false|True|False|None)$)[A-Za-z_][\w./-]*")  # needs no quotes


def once(components: Iterable[Component]) -> tuple[str, ...]:
    """Return the specs of components, each once."""
    return tuple(dict.fromkeys(map(written, components)))


def written(component: Component, leave: str = "") -> str:
    """Write a component with the parameters that differ from the default, but `leave`.

    >>> from typing import ClassVar
    >>> class Blur(Component):
    ...     name: ClassVar[str] = "blur"
    ...     far: float
    ...     near: float = 0.0
    >>> written(Blur(far=2)), written(Blur(far=2, near=1), leave="far")
    ('blur(far=2.0)', 'blur(near=1.0)')
    """
    fields = type(component).model_fields
    told = [
        f"{key}={_value(value)}"
        for key, value in component
        if key != leave and value != fields[key].default
    ]
    return f"{component.name}({', '.join(told)})" if told else component.name


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) and _BARE.fullmatch(value) else repr(value)
