"""Find a mechanism by its spec: for words or for whole queries."""

from veil.core.registry import Registry, unknown_name
from veil.text.mechanisms.mechanism import QueryMechanism, TextMechanism, WordMechanism
from veil.text.mechanisms.queries import QUERY_MECHANISMS
from veil.text.mechanisms.words import MECHANISMS


def names() -> tuple[str, ...]:
    """Return the names of all mechanisms, sorted."""
    return tuple(sorted({*MECHANISMS.names(), *QUERY_MECHANISMS.names()}))


def mechanism_class(name: str) -> type[TextMechanism]:
    """Return the class of a mechanism by name."""
    return _registry(name).get(name)


def mechanism(spec: str) -> TextMechanism:
    """Build a mechanism from its spec.

    >>> str(mechanism("cmp(epsilon=10)"))
    'cmp(epsilon=10.0)'
    """
    component, parameters = read(spec)
    return component.load(parameters)


def read(spec: str) -> tuple[type[TextMechanism], dict[str, object]]:
    """Return the class and the parameters in a spec, without building the mechanism."""
    name = spec.partition("(")[0].strip() if isinstance(spec, str) else ""
    if not name.isidentifier():
        return MECHANISMS.read(spec)  # raises the error for a malformed spec
    return _registry(name).read(spec)


def _registry(name: str) -> Registry[WordMechanism] | Registry[QueryMechanism]:
    if name in QUERY_MECHANISMS.names():
        return QUERY_MECHANISMS
    if name in MECHANISMS.names():
        return MECHANISMS
    raise unknown_name("mechanism", name, names())


class _Mechanisms:
    """Both registries as one."""

    names = staticmethod(names)
    get = staticmethod(mechanism_class)
    parse = staticmethod(mechanism)


TEXT_MECHANISMS = _Mechanisms()
