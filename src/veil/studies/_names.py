"""Short names of curves: what tells one from the others of its mechanism, and no more."""

import re
from collections.abc import Iterable

Key = tuple[str, str, str]  # mechanism, swept parameter, the rest of the spec

_VALUE = re.compile(r"""(\w+)=("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,]*)""")


def short_names(keys: Iterable[Key]) -> dict[Key, str]:
    """Name curves by their mechanism and by the fixed values that its curves do not share.

    >>> one, other = ("v", "e", "v(t=0.75, noise='cmp')"), ("v", "e", "v(t=0.75, noise='mhl')")
    >>> list(short_names([one, other]).values())
    ['v(noise=cmp)', 'v(noise=mhl)']
    >>> short_names([one])[one]
    'v'
    """
    groups: dict[str, list[Key]] = {}
    for one in keys:
        groups.setdefault(one[0], []).append(one)
    return {one: name for alike in groups.values() for one, name in _told_apart(alike).items()}


def _told_apart(alike: list[Key]) -> dict[Key, str]:
    """Name curves of one mechanism; where that does not tell them apart, say more."""
    for named in (_by_what_differs(alike), {one: one[2] for one in alike}):
        if len(set(named.values())) == len(alike):
            return named
    return {one: f"{one[2]} by {one[1] or 'nothing'}" for one in alike}


def _by_what_differs(alike: list[Key]) -> dict[Key, str]:
    fixed = {one: _fixed(one) for one in alike}
    named = {}
    for one, values in fixed.items():
        told = [
            f"{name}={value}"
            for name, value in values.items()
            if any(other.get(name) != value for other in fixed.values())
        ]
        named[one] = f"{one[0]}({', '.join(told)})" if told else one[0]
    return named


def _fixed(one: Key) -> dict[str, str]:
    """Return the values of a spec as they are written, texts without their quotes."""
    mechanism, _, rest = one
    return {
        name: value[1:-1] if value[:1] in ("'", '"') else value.strip()
        for name, value in _VALUE.findall(rest.removeprefix(mechanism)[1:-1])
    }
