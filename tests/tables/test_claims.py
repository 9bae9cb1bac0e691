"""What protect claims, and what it must not: domains read from the data, and methods in a row."""

import math

import pytest

from veil import tables
from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.tables.mechanisms import MECHANISMS
from veil.tables.table import Table

CODES = ["A12", "A19", "B12", "C99"]
RESPONSE = "random_response(epsilon=1, domain='illness=flu|gout')"
TREE = "tree(epsilon=1, bins='age=0|30|60', domain='illness=flu|gout')"


def people(**hierarchies: object) -> Table:
    return tables.load(
        {
            "code": CODES * 5,
            "age": list(range(20, 40)),
            "illness": ["flu", "gout"] * 10,
        },
        qi=["code"],
        confidential=["illness"],
        hierarchies=hierarchies,  # type: ignore[arg-type]
        quiet=True,
    )


def proved(table: Table, *methods: str, columns: list[str] | None = None) -> Guarantee:
    return tables.protect(table, list(methods), columns=columns).guarantee


@pytest.mark.parametrize("method", [TREE, "random_response(epsilon=1)", "pram(p=0.8)"])
def test_values_that_a_builder_read_off_the_data_are_not_declared(method: str) -> None:
    built = proved(people(code=tables.prefix()), method)
    listed = proved(people(code=[[code, "*"] for code in CODES]), method)
    assert built.kind == "none"
    assert "read from the data" in built.caveat
    assert listed.kind in ("dp", "local-dp")


@pytest.mark.parametrize("first", ["blank_impute(share=0.5)", "swap(rate=0.9)"])
def test_no_budget_is_claimed_of_rows_that_others_went_into(first: str) -> None:
    then = proved(people(), first, RESPONSE, columns=["illness"])
    assert then.kind == "none"
    assert "record" in then.caveat


def test_a_budget_holds_after_a_method_that_takes_each_row_by_itself() -> None:
    then = proved(people(), RESPONSE, RESPONSE, columns=["illness"])
    assert (then.kind, then.epsilon) == ("local-dp", 1.0)
    rounded = tables.protect(people(), "rounding(base=5)", columns=["age"]).table
    bins = TREE.replace("'illness", "'code=A12|A19|B12|C99;illness")
    assert proved(rounded, bins).kind == "dp"


@pytest.mark.parametrize("method", [RESPONSE, "pram(p=0.8, domain='illness=flu|gout')"])
def test_columns_that_are_not_randomised_are_said_to_be_as_they_were(method: str) -> None:
    subset = proved(people(), method, columns=["illness"])
    assert "other columns are unchanged" in subset.caveat
    single = tables.load({"illness": ["flu", "gout"] * 4}, confidential=["illness"])
    assert not proved(single, method, columns=["illness"]).caveat


@pytest.mark.parametrize(
    "method",
    [
        "mdav(k=2)", "univariate(k=2)", "noise(scale=0.1)", "rounding(base=2)", "top(value=3)",
        "bottom(value=3)", "recode(width=10)", "rank_swap(p=50)", "resample(times=2)",
        "lossy(keep=0.3)", "cholesky()", "blank_impute(share=0.3)", "tree(epsilon=1)",
    ],
)  # fmt: skip
def test_infinite_numbers_are_refused_by_every_method_for_numbers(method: str) -> None:
    table = tables.load({"a": [1.5, 2.5, math.inf, 4.5], "b": [1, 2, 3, 4]}, qi=["a", "b"])
    with pytest.raises(InputError, match="'a' must have finite numbers"):
        tables.protect(table, method)


def test_every_method_says_what_a_value_depends_on() -> None:
    scopes = {name: MECHANISMS.parse(spec).alone for name, spec in _SPECS.items()}
    assert {name for name, single in scopes.items() if single == "row"} == {
        "pram", "random_response", "rounding",
    }  # fmt: skip
    assert {name for name, single in scopes.items() if single == "value"} == {
        "generalise", "recode", "top", "bottom",
    }  # fmt: skip


_SPECS = {
    "pram": "pram(p=0.8)", "random_response": "random_response(epsilon=1)",
    "rounding": "rounding(base=5)", "generalise": "generalise()", "recode": "recode()",
    "top": "top(value=3)", "bottom": "bottom(value=3)", "share": "top(share=0.1)",
    "mean": "top(value=3, replace=mean)", "invariant": "pram(p=0.8, invariant=true)",
    "mdav": "mdav(k=3)", "swap": "swap()", "noise": "noise()", "sample": "sample(rate=0.5)",
    "ola": "ola(k=3)", "tree": "tree(epsilon=1)", "blank": "blank_impute()",
}  # fmt: skip


@pytest.mark.parametrize("method", ["mondrian(k=5)", "ola(k=5)", "incognito(k=5)", "mdav(k=5)"])
def test_nothing_is_claimed_where_no_column_is_known(method: str) -> None:
    """A claim about no column holds for every file, whatever else it has."""
    table = tables.load(
        {"code": [f"{i}" for i in range(20)], "age": [20, 30] * 10},
        hierarchies={"age": [["20", "*"], ["30", "*"]]},
        quiet=True,
    )
    guarantee = proved(table, method, columns=["age"])
    assert guarantee.kind == "none"
    assert "columns" in guarantee.caveat
