"""What the methods refuse, what they promise, and how they are written."""

import pytest
from tests.tables.mechanisms.brute import HIERARCHIES

from veil import tables
from veil.core.component import example
from veil.core.errors import InputError, ParameterError, VeilError
from veil.tables.table import Table

NAME = "Xanthippe"  # a value that no message may quote
LATTICE = ("ola", "incognito", "exhaustive")
METHODS = (*LATTICE, "mondrian")

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")


def people(*, secret: bool = True, qi: bool = True) -> Table:
    return tables.load(
        {
            "a": ["a", "a", "b", "c", "d", "d"],
            "b": ["a", "b", "b", "c", "c", "d"],
            "s": [NAME, "y", "z", NAME, "y", "z"],
        },
        qi=["a", "b"] if qi else [],
        confidential=["s"] if secret else [],
        hierarchies={"a": HIERARCHIES[0], "b": HIERARCHIES[1]},
    )


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("k=1", "must be an integer >= 2, or 1 with l or t. Got 1 instead"),
        ("k=0", "must be a whole number >= 1"),
        ("k=2.5", "'k' parameter"),
        ("k=2, l=2.5", "'l' parameter .* integer for distinct"),
        ("k=2, l=0", "'l' parameter"),
        ("k=2, t=1.5", "'t' parameter"),
        ("k=2, t=-0.1", "'t' parameter"),
        ("k=2, c=0", "'c' parameter"),
        ("k=2, diversity='some'", "'diversity' parameter"),
        ("k=2, distance='far'", "'distance' parameter"),
        ("l=2", "'k' parameter .* is required"),
    ],
)
def test_parameters_out_of_range_are_named(name: str, told: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        tables.mechanism(f"{name}({told})")


@pytest.mark.parametrize("name", LATTICE)
@pytest.mark.parametrize("told", ["suppression=1", "suppression=-0.1", "minimise='all'"])
def test_parameters_of_the_lattice_are_named(name: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told.partition("=")[0]):
        tables.mechanism(f"{name}(k=2, {told})")


@pytest.mark.parametrize("name", METHODS)
def test_tables_that_do_not_fit_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="No quasi-identifier"):
        tables.protect(people(qi=False), f"{name}(k=2)")
    with pytest.raises(InputError, match="6 rows, fewer than k = 7"):
        tables.protect(people(), f"{name}(k=7)")
    with pytest.raises(InputError, match="confidential"):
        tables.protect(people(secret=False), f"{name}(k=2, l=2)")
    with pytest.raises(InputError, match="have no order"):
        tables.protect(people(), f"{name}(k=2, t=0.5, distance='ordered')")
    with pytest.raises(InputError, match="'s' has no hierarchy"):
        tables.protect(people(), f"{name}(k=2, t=0.5, distance='hierarchical')")
    with pytest.raises(InputError, match="listed twice"):
        tables.protect(people(), f"{name}(k=2)", columns=["a", "a"])
    with pytest.raises(VeilError, match="no column 'c'"):
        tables.protect(people(), f"{name}(k=2)", columns=["c"])


def test_a_column_without_hierarchy_and_gaps_in_an_order_are_refused() -> None:
    table = tables.load({"a": ["a", "b"], "s": [1.0, None]}, qi=["a"], confidential=["s"])
    with pytest.raises(InputError, match="'a' has no hierarchy"):
        tables.protect(table, "ola(k=2)")
    with pytest.raises(InputError, match="'s' has missing values"):
        tables.protect(table, "mondrian(k=2, t=0.5, distance='ordered')")


def test_a_lattice_that_is_too_large_is_refused() -> None:
    names = [f"q{i}" for i in range(13)]
    table = tables.load(
        {name: ["a", "b", "c"] for name in names},
        qi=names,
        hierarchies=dict.fromkeys(names, HIERARCHIES[0]),
    )
    with pytest.raises(InputError, match="1,594,323 combinations, more than 1,000,000"):
        tables.protect(table, "ola(k=2)")
    assert tables.anonymity(tables.protect(table, "mondrian(k=2)")).k == 3


def test_infinite_numbers_are_refused() -> None:
    table = tables.load({"a": [1.0, float("inf"), 2.0]}, qi=["a"])
    with pytest.raises(InputError, match="'a' must have finite numbers"):
        tables.protect(table, "mondrian(k=2)")


@pytest.mark.parametrize("name", LATTICE)
def test_what_cannot_be_met_says_what_could(name: str) -> None:
    with pytest.raises(InputError, match="however many rows") as refused:
        tables.protect(people(), f"{name}(k=2, l=4)")
    assert NAME not in str(refused.value)
    # At the top the whole table has three values of equal share, so that its distance is 0; but
    # recursive diversity needs the most frequent one to be below c times the rarest.
    with pytest.raises(InputError, match="however many rows"):
        tables.protect(people(), f"{name}(k=2, l=3, diversity='recursive', c=0.5)")
    table = tables.load(
        {"q": ["a"] * 3 + ["b"] * 7, "s": ["x", "y", "z"] + ["x"] * 7},
        qi=["q"],
        confidential=["s"],
        hierarchies={"q": [["a", "*"], ["b", "*"]]},
    )
    spec = f"{name}(k=2, l=3, diversity='entropy', suppression=%s)"
    with pytest.raises(InputError, match=r"At least 7 rows must go: try suppression=0\.7"):
        tables.protect(table, spec % 0.2)
    with pytest.raises(InputError, match=r"At least 7 rows must go: try suppression=0\.7"):
        tables.protect(table, spec % 0.0)
    release = tables.protect(table, spec % 0.7)
    assert (len(release), release.suppressed) == (3, 7)


@pytest.mark.parametrize("name", METHODS)
def test_specs_are_read_back(name: str) -> None:
    for parameters in ("k=2", "k=1, l=3", "k=5, l=2.5, diversity='entropy', t=0.2"):
        method = tables.mechanism(f"{name}({parameters})")
        assert tables.mechanism(str(method)) == method
        assert tables.mechanism(method.brief) == method
    assert example(tables.MECHANISMS.get(name)).k == 10  # type: ignore[attr-defined]
    assert tables.MECHANISMS.get(name).direction("k") == "private"
    assert tables.MECHANISMS.get(name).direction("t") == "useful"


@pytest.mark.parametrize("name", METHODS)
def test_no_more_is_promised_than_holds(name: str) -> None:
    table = people()
    release = tables.protect(table, f"{name}(k=2)")
    assert (release.guarantee.kind, release.guarantee.k) == ("k-anonymity", 2)
    for words in ("Confidential", "know more", "does not compose"):
        assert words in release.guarantee.caveat
    assert (release.guarantee + release.guarantee).kind == "none"
    diverse = tables.protect(table, f"{name}(k=2, l=2, t=0.9)").guarantee
    assert (diverse.k, diverse.l, diverse.t) == (2, 2.0, 0.9)
    assert "distinct 2-diversity and 0.9-closeness" in diverse.caveat
    assert tables.mechanism(f"{name}(k=1, t=0.9)").guarantee.kind == "t-closeness"
    assert tables.mechanism(f"{name}(k=1, l=2)").guarantee.kind == "l-diversity"
    part = tables.protect(table, f"{name}(k=2)", columns=["a"])
    assert part.guarantee.kind == "none"
    assert "only in the masked columns" in part.guarantee.caveat
    assert part.table["b"].tolist() == table["b"].tolist() or name in LATTICE


@pytest.mark.parametrize("name", METHODS)
def test_the_table_is_left_as_it_was(name: str) -> None:
    table = people()
    before = {column: table[column].tolist() for column in table.columns}
    tables.protect(table, f"{name}(k=2)")
    assert {column: table[column].tolist() for column in table.columns} == before
