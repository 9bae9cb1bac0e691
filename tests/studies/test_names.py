"""Curves are named by what tells them apart."""

from veil.studies.panels import Key, short_names

VICKREY = "vickrey(t=0.75, noise='{}', lam=1.0, unit_direction=False, k=2)"


def named(*keys: Key) -> list[str]:
    return list(short_names(keys).values())


def test_one_curve_has_the_name_of_its_mechanism() -> None:
    assert named(
        ("vickrey", "epsilon", VICKREY.format("cmp")), ("wbb", "epsilon", "wbb(k=4)")
    ) == ["vickrey", "wbb"]


def test_two_curves_are_named_by_what_differs() -> None:
    one, other = (("vickrey", "epsilon", VICKREY.format(each)) for each in ("cmp", "mahalanobis"))
    assert named(one, ("cmp", "epsilon", "cmp"), other) == [
        "vickrey(noise=cmp)", "vickrey(noise=mahalanobis)", "cmp",
    ]  # fmt: skip


def test_all_that_differs_is_named_and_nothing_else() -> None:
    specs = ("wbb(k=4, n=15, metric='angle')", "wbb(k=4, n=30, metric='angle')",
             "wbb(k=6, n=15, metric='angle')")  # fmt: skip
    assert named(*(("wbb", "epsilon", spec) for spec in specs)) == [
        "wbb(k=4, n=15)", "wbb(k=4, n=30)", "wbb(k=6, n=15)",
    ]  # fmt: skip


def test_curves_of_different_parameters() -> None:
    by_epsilon, by_t = ("v", "epsilon", "v(t=0.75, k=2)"), ("v", "t", "v(epsilon=5.0, k=2)")
    assert named(by_epsilon, by_t) == ["v(t=0.75)", "v(epsilon=5.0)"]
    assert named(("v", "a", "v"), ("v", "b", "v")) == ["v by a", "v by b"]
    assert named(("v", "", "v(a=1)"), ("v", "a", "v")) == ["v(a=1)", "v"]


def test_values_may_hold_commas_quotes_and_brackets() -> None:
    one, other = ("fea", "w", "fea(index='a, b=(1)', k=2)"), ("fea", "w", "fea(index='c', k=2)")
    assert named(one, other) == ["fea(index=a, b=(1))", "fea(index=c)"]
    odd = ("p", "w", "p(terms=(1, 2), k=3)"), ("p", "w", "p(terms=(1, 9), k=3)")
    assert named(*odd) == [odd[0][2], odd[1][2]]  # not told apart by what was read: all of it
    assert named(("<a('", "", "<a('"), ("<a('", "", "<a('(x)")) == ["<a('", "<a('(x)"]
