"""Every built-in component of every registry passes the checks of its kind."""

from veil.core.component import Component
from veil.testing import parametrize_with_checks
from veil.testing.contract import Check


@parametrize_with_checks()  # type: ignore[untyped-decorator]
def test_a_component_keeps_its_contract(component: Component, check: Check) -> None:
    check(component)
