"""One check for every kind of component: find the kind, and run all of its checks."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from importlib import import_module
from types import FunctionType
from typing import Any

from veil.core.component import Component, example
from veil.core.errors import AssetError, EngineError, MissingExtraError, ParameterError
from veil.core.registry import Registry
from veil.studies.check import check_domain
from veil.testing.contract import Check, declared, in_one_sentence

KINDS: dict[str, str] = {
    "veil.dp:Attack": "veil.testing.dp:ATTACK",
    "veil.dp:Oracle": "veil.testing.dp:ORACLE",
    "veil.dp:Mechanism": "veil.testing.dp:MECHANISM",
    "veil.encoders:EncoderSpec": "veil.testing.search:ENCODER",
    "veil.places:Attack": "veil.testing.places:ATTACK",
    "veil.places:Measure": "veil.testing.places:MEASURE",
    "veil.places:Mechanism": "veil.testing.places:MECHANISM",
    "veil.ratings:Attack": "veil.testing.ratings:ATTACK",
    "veil.ratings:Measure": "veil.testing.ratings:MEASURE",
    "veil.ratings:Mechanism": "veil.testing.ratings:MECHANISM",
    "veil.ratings:Recommender": "veil.testing.ratings:RECOMMENDER",
    "veil.search:EngineSpec": "veil.testing.search:ENGINE",
    "veil.sensitive:Attack": "veil.testing.sensitive:ATTACK",
    "veil.sensitive:Classifier": "veil.testing.sensitive:CLASSIFIER",
    "veil.sensitive:Measure": "veil.testing.sensitive:MEASURE",
    "veil.sensitive:Mechanism": "veil.testing.sensitive:MECHANISM",
    "veil.tables:Attack": "veil.testing.tables:ATTACK",
    "veil.tables:CellMechanism": "veil.testing.tables:CELL_MECHANISM",
    "veil.tables:Rule": "veil.testing.tables:RULE",
    "veil.tables:Utility": "veil.testing.tables:MEASURE",
    "veil.tables:Mechanism": "veil.testing.tables:MECHANISM",
    "veil.task:Classifier": "veil.testing.task:CLASSIFIER",
    "veil.text:Attack": "veil.testing.text:ATTACK",
    "veil.text:TextMeasure": "veil.testing.text:MEASURE",
    "veil.text:QueryMechanism": "veil.testing.text:QUERY_MECHANISM",
    "veil.text:WordMechanism": "veil.testing.text:WORD_MECHANISM",
}
"""Package and name of the base class of a kind -> its checks."""

REGISTRIES = (
    "veil.dp.attacks:ATTACKS",
    "veil.dp.local.oracles:ORACLES",
    "veil.dp.mechanisms:MECHANISMS",
    "veil.encoders:ENCODERS",
    "veil.places.attacks:ATTACKS",
    "veil.places.measures:MEASURES",
    "veil.places.mechanisms:MECHANISMS",
    "veil.ratings.attacks:ATTACKS",
    "veil.ratings.measures:MEASURES",
    "veil.ratings.mechanisms:MECHANISMS",
    "veil.ratings.recommenders:RECOMMENDERS",
    "veil.search.engines:ENGINES",
    "veil.sensitive.attacks:ATTACKS",
    "veil.sensitive.classifiers:CLASSIFIERS",
    "veil.sensitive.measures:MEASURES",
    "veil.sensitive.mechanisms:MECHANISMS",
    "veil.tables.attacks:ATTACKS",
    "veil.tables.cells.release:CELL_MECHANISMS",
    "veil.tables.cells.rules:RULES",
    "veil.tables.measures.utility:UTILITIES",
    "veil.tables.mechanisms:MECHANISMS",
    "veil.task.classifiers:CLASSIFIERS",
    "veil.text.attacks:ATTACKS",
    "veil.text.measures:MEASURES",
    "veil.text.mechanisms.queries:QUERY_MECHANISMS",
    "veil.text.mechanisms.words:MECHANISMS",
)
"""All registries of components. Registered parts of other packages are in them, too."""


def check(
    component: Component | type[Component] | Callable[..., str] | str,
    registry: Registry[Any] | None = None,
    *,
    keys: Mapping[str, Any] | None = None,
) -> None:
    """Run all checks of a component of any kind and domain.

    Parameters
    ----------
    component
        A component; its class, which is built from the examples of its parameters; its spec, with
        the registry that knows it; the function of a page; or the name of a domain, with the
        keys of a small study.
    registry
        Registry that knows the spec.
    keys
        Keys of a study of the domain with at least two configurations of one mechanism and an
        attack. It is swept, stopped and resumed, drawn, and chosen from.

    Raises
    ------
    AssertionError
        If the component breaks a part of its contract; the message is one sentence.
    MissingExtraError, AssetError
        If the component needs a library or a file that is not on this machine.

    Examples
    --------
    >>> from veil.places.mechanisms import MECHANISMS
    >>> check("donut(low=50, high=500)", MECHANISMS)
    """
    if keys is not None:
        check_domain(str(component), keys)
        return
    if isinstance(component, str):
        if registry is None:
            raise ParameterError("A spec is checked with its registry: check(spec, registry).")
        component = registry.parse(component)
    elif isinstance(component, type) and issubclass(component, Component):
        component = built(component)
    for part_check in checks_of(component):
        part_check(component)


@in_one_sentence()
def _declared(cls: type[Component]) -> None:
    declared(cls, hyphens=True)


def built(cls: type[Component]) -> Component:
    """Return a component built from the examples of its parameters, after a check of these."""
    _declared(cls)
    return example(cls)


def checks_of(component: object) -> tuple[Check, ...]:
    """Return the checks of the kind of a component; each takes the component."""
    for base in type(component).__mro__:
        package = ".".join(base.__module__.split(".")[:2])
        place = KINDS.get(f"{package}:{base.__qualname__}")
        if place is not None:
            checks: tuple[Check, ...] = loaded(place)
            return tuple(in_one_sentence()(part_check) for part_check in checks)
    if isinstance(component, FunctionType):  # a page is a function
        return tuple(
            in_one_sentence()(part_check) for part_check in loaded("veil.testing.page:PAGE")
        )
    raise ParameterError(
        "A component must be a mechanism, an attack, a measure, an engine or another kind that"
        f" Veil checks. Got an object of type {type(component).__name__} instead."
    )


def loaded(place: str) -> Any:  # noqa: ANN401
    """Return the object at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def parametrize_with_checks(
    components: Iterable[Component | type[Component]] | None = None,
    *,
    registries: Iterable[Registry[Any]] | None = None,
) -> Any:  # noqa: ANN401 - a mark of pytest
    """Return a pytest mark that calls a test with each component and each of its checks.

    Parameters
    ----------
    components
        Components, or classes, which are built from the examples of their parameters.
    registries
        Registries whose components are all checked, including plugins. By default, the registries
        of all domains.

    Notes
    -----
    A component that needs a missing library, file or service is skipped with the reason.

    Examples
    --------
    >>> from veil.places.mechanisms import MECHANISMS
    >>> @parametrize_with_checks(registries=[MECHANISMS])
    ... def test_components(component, check):
    ...     check(component)
    """
    import pytest

    parts = [] if components is None else list(components)
    if components is None or registries is not None:
        sources = [loaded(place) for place in REGISTRIES] if registries is None else registries
        parts += [registry.get(name) for registry in sources for name in registry.names()]
    built_parts = [built(part) if isinstance(part, type) else part for part in parts]
    return pytest.mark.parametrize(
        ("component", "check"),
        [
            pytest.param(part, _skipping(part_check), id=f"{_label(part)}-{part_check.__name__}")
            for part in built_parts
            for part_check in checks_of(part)
        ],
    )


def _label(component: Component) -> str:
    """Return the name of a component with its domain, such as places.donut."""
    package = type(component).__module__.partition("veil.")[2].partition(".")[0]
    return f"{package}.{component.name}".lstrip(".")


def _skipping(check: Check) -> Check:
    """Return the check, which skips the test if something that the component needs is missing."""

    @wraps(check)
    def wrapped(component: Any) -> None:  # noqa: ANN401
        import pytest

        reason = ""
        try:
            check(component)
        except (MissingExtraError, AssetError, EngineError) as missing:
            reason = str(missing)
        if reason:
            pytest.skip(reason)

    return wrapped
