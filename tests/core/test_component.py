"""Parameters of components: what no number is taken for."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pytest
from pydantic import Field

from veil import dp, places, tables
from veil.core.component import Component
from veil.core.errors import ParameterError


class Sample(Component):
    name: ClassVar[str] = "sample"
    many: int = 1
    share: Annotated[float, Field(gt=0)] | None = None
    how: Literal["a", "b"] = "a"
    strict: bool = False
    either: bool | int = 2


@pytest.mark.parametrize("value", [True, False, np.True_])
@pytest.mark.parametrize("parameter", ["many", "share", "how"])
def test_a_truth_value_is_no_number(parameter: str, value: object) -> None:
    with pytest.raises(ParameterError, match=rf"'{parameter}' .* must not be true or false"):
        Sample.load({parameter: value})


def test_a_truth_value_is_one_where_it_is_asked_for() -> None:
    made = Sample(strict=True, either=False)
    assert (made.strict, made.either) == (True, False)
    assert dp.mechanism("noisy_max(epsilon=1, monotone=true)").monotone is True


@pytest.mark.parametrize(
    "build",
    [
        lambda: dp.mechanism("above_threshold(epsilon=1, threshold=false)"),
        lambda: dp.oracle("hcms(epsilon=true)"),
        lambda: tables.mechanism("mdav(k=true)"),
        lambda: places.mechanism("laplace(epsilon=true)"),
    ],
)
def test_no_domain_takes_a_truth_value_for_a_number(build: object) -> None:
    assert callable(build)
    with pytest.raises(ParameterError, match="must not be true or false"):
        build()
